# What the module with relaxed SIMD has beside the objects of the one without: its own dispatch, and
# kernels that Emscripten's compiler has no intrinsics for.
#
# Debian's clang-19 compiles them to objects, which wasm-ld-19 links with Emscripten's. clang's own
# driver never links: it would run an optimiser that does not know these instructions.

find_program(VICINAL_CLANG19 NAMES clang++-19 REQUIRED)
find_program(VICINAL_WASM_LD19 NAMES wasm-ld-19 REQUIRED)

# Emscripten's headers, as em++ gives them; the flags of vicinal_wasm_options.cmake.
set(VICINAL_CLANG19_FLAGS
  --target=wasm32-unknown-emscripten --sysroot=${EMSCRIPTEN_SYSROOT} -nostdinc++
  -isystem "${EMSCRIPTEN_SYSROOT}/include/c++/v1" -isystem "${EMSCRIPTEN_SYSROOT}/include/compat"
  -isystem "${EMSCRIPTEN_SYSROOT}/include"
  -I "${PROJECT_SOURCE_DIR}/core" -I "${PROJECT_SOURCE_DIR}/core/include"
  -std=c++20 -O3 -DNDEBUG -DVICINAL_WASM_THREADS=1 -DVICINAL_WASM_RELAXED=1
  -msimd128 -mrelaxed-simd -matomics -mbulk-memory -fno-rtti -ffp-contract=off
  -Wall -Wextra -Wpedantic -Wconversion)
if(VICINAL_WERROR)
  list(APPEND VICINAL_CLANG19_FLAGS -Werror)
endif()

# vicinal_relaxed_objects(DISPATCH FOLDER): the objects, as the target vicinal_relaxed_dispatch and
# as files in the global property VICINAL_RELAXED_OBJECTS.
function(vicinal_relaxed_objects DISPATCH FOLDER)
  add_library(vicinal_relaxed_dispatch OBJECT "${DISPATCH}")
  target_link_libraries(vicinal_relaxed_dispatch PRIVATE vicinal_includes)
  target_compile_definitions(vicinal_relaxed_dispatch PRIVATE VICINAL_WASM_RELAXED=1)
  file(GLOB SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/simd/${FOLDER}/*.cpp")
  foreach(SOURCE IN LISTS SOURCES)
    get_filename_component(NAME "${SOURCE}" NAME)
    set(OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${FOLDER}/${NAME}.o")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${FOLDER}")
    add_custom_command(OUTPUT "${OBJECT}"
      COMMAND "${VICINAL_CLANG19}" ${VICINAL_CLANG19_FLAGS}
        -MD -MF "${OBJECT}.d" -MT "${OBJECT}" -c "${SOURCE}" -o "${OBJECT}"
      DEPENDS "${SOURCE}"
      DEPFILE "${OBJECT}.d"
      VERBATIM
      COMMENT "Building relaxed SIMD object ${FOLDER}/${NAME}.o")
    list(APPEND OBJECTS "${OBJECT}")
  endforeach()
  add_custom_target(vicinal_relaxed_kernels DEPENDS ${OBJECTS})
  set_property(GLOBAL PROPERTY VICINAL_RELAXED_OBJECTS ${OBJECTS})
endfunction()
