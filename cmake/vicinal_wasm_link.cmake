# Links objects into a module on an imported shared memory, without any Emscripten JavaScript.

find_program(VICINAL_WASM_LD NAMES wasm-ld-14 wasm-ld REQUIRED)
set(VICINAL_WASM_IMPORTS "${PROJECT_SOURCE_DIR}/bindings/wasm/imports.txt")
set(VICINAL_WASM_LIBRARIES "")
foreach(LIBRARY c-mt c++-mt-noexcept c++abi-mt-noexcept compiler_rt-mt)
  list(APPEND VICINAL_WASM_LIBRARIES
    "${EMSCRIPTEN_SYSROOT}/lib/wasm32-emscripten/lib${LIBRARY}.a")
endforeach()

# vicinal_link_module(TARGET FILE LINKER object...)
#
# The initial size only has to hold the static data: the loader creates the memory with the whole
# budget, since growing a shared memory traps other instances in V8. The stack comes first so that
# an overflow runs below address 0 and traps instead of writing over data.
#
# What the loader provides is listed: with a plain --allow-undefined a missing function would throw
# in the visitor's page, and a missing object would silently lie at address 0.
function(vicinal_link_module TARGET MODULE LINKER)
  get_filename_component(DIRECTORY "${MODULE}" DIRECTORY)
  add_custom_command(OUTPUT "${MODULE}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${DIRECTORY}"
    COMMAND "${LINKER}" ${ARGN} ${VICINAL_WASM_LIBRARIES} -o "${MODULE}"
      --no-entry --import-memory --shared-memory --initial-memory=2097152
      --max-memory=4294967296 --stack-first -z stack-size=262144
      --export=__stack_pointer --export=__wasm_init_tls --export=__tls_size --export=__tls_align
      --export=__wasm_call_ctors --export=__heap_base --export-if-defined=__set_thread_state
      --allow-undefined-file=${VICINAL_WASM_IMPORTS} --strip-all -O2
    DEPENDS ${ARGN} "${VICINAL_WASM_IMPORTS}"
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Linking ${MODULE}")
  add_custom_target(${TARGET} ALL DEPENDS "${MODULE}")
endfunction()
