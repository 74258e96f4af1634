# The aggregate library vicinal::vicinal, and what `cmake --install` puts down.
include(CMakePackageConfigHelpers)

get_property(OBJECT_TARGETS GLOBAL PROPERTY VICINAL_OBJECT_TARGETS)
set(OBJECTS "")
foreach(OBJECT_TARGET IN LISTS OBJECT_TARGETS)
  list(APPEND OBJECTS $<TARGET_OBJECTS:${OBJECT_TARGET}>)
endforeach()

add_library(vicinal ${OBJECTS})
add_library(vicinal::vicinal ALIAS vicinal)
set_target_properties(vicinal PROPERTIES
  LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_compile_features(vicinal PUBLIC cxx_std_20)
target_include_directories(vicinal PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(vicinal PUBLIC Threads::Threads)

install(TARGETS vicinal EXPORT vicinal-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/core/include/vicinal"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")

set(PACKAGE_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/cmake/vicinal)
install(EXPORT vicinal-targets NAMESPACE vicinal:: DESTINATION ${PACKAGE_DIRECTORY})
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/vicinal-config.cmake.in"
  "${PROJECT_BINARY_DIR}/vicinal-config.cmake"
  INSTALL_DESTINATION ${PACKAGE_DIRECTORY})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/vicinal-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
# Relative to the file itself, so that `cmake --install --prefix` and a moved tree both work.
file(RELATIVE_PATH PC_LIBDIR
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH PC_INCLUDEDIR
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(
  "${PROJECT_SOURCE_DIR}/cmake/vicinal.pc.in" "${PROJECT_BINARY_DIR}/vicinal.pc" @ONLY)
install(FILES
  "${PROJECT_BINARY_DIR}/vicinal-config.cmake" "${PROJECT_BINARY_DIR}/vicinal-config-version.cmake"
  DESTINATION ${PACKAGE_DIRECTORY})
install(FILES "${PROJECT_BINARY_DIR}/vicinal.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
