# vicinal_layer(NAME [SOURCES file...] [DEPENDS layer...])
#
# One directory of the core as one CMake target, vicinal_NAME. Its objects exist once, as
# vicinal_NAME_objects: the aggregate library takes the objects, a unit test links the archive with
# the archives of the layers below. A directory that has only headers becomes an INTERFACE library.
# The targets built so far are listed in the global property VICINAL_OBJECT_TARGETS.

find_package(Threads REQUIRED)

add_library(vicinal_includes INTERFACE)
target_include_directories(vicinal_includes INTERFACE
  "${PROJECT_SOURCE_DIR}/core" "${PROJECT_SOURCE_DIR}/core/include")
if(NOT VICINAL_TARGET_WASM)
  target_link_libraries(vicinal_includes INTERFACE Threads::Threads)
endif()
if(VICINAL_TARGET_WASM OR CMAKE_CROSSCOMPILING)
  # A cross compiler does not search this machine's include directory, and must not: only this
  # header is free of the C library's own.
  find_file(VICINAL_XXHASH_HEADER xxhash.h PATHS /usr/include /usr/local/include
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  if(VICINAL_XXHASH_HEADER)
    configure_file("${VICINAL_XXHASH_HEADER}" "${PROJECT_BINARY_DIR}/third_party/xxhash.h" COPYONLY)
    target_include_directories(vicinal_includes SYSTEM INTERFACE
      "${PROJECT_BINARY_DIR}/third_party")
  endif()
endif()

function(vicinal_layer NAME)
  cmake_parse_arguments(PARSE_ARGV 1 LAYER "" "" "SOURCES;DEPENDS")
  list(TRANSFORM LAYER_DEPENDS PREPEND vicinal_)
  if(NOT LAYER_SOURCES)
    add_library(vicinal_${NAME} INTERFACE)
    target_link_libraries(vicinal_${NAME} INTERFACE vicinal_includes ${LAYER_DEPENDS})
    return()
  endif()
  add_library(vicinal_${NAME}_objects OBJECT ${LAYER_SOURCES})
  target_link_libraries(vicinal_${NAME}_objects PRIVATE vicinal_includes)
  # Not the platform: tests put functions in the place of some of its objects.
  if(NOT NAME STREQUAL "platform")
    set_target_properties(vicinal_${NAME}_objects PROPERTIES
      UNITY_BUILD "${VICINAL_UNITY}" UNITY_BUILD_BATCH_SIZE 8)
  endif()
  set_property(GLOBAL APPEND PROPERTY VICINAL_OBJECT_TARGETS vicinal_${NAME}_objects)

  add_library(vicinal_${NAME} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:vicinal_${NAME}_objects>)
  set_target_properties(vicinal_${NAME} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(vicinal_${NAME} PUBLIC vicinal_includes ${LAYER_DEPENDS})
endfunction()
