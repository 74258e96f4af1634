# Flags of the WebAssembly builds. One build directory per module: they differ in threads and SIMD,
# and every object depends on both.

if(NOT VICINAL_WASM MATCHES "^(threads|scalar|single)$")
  message(FATAL_ERROR "VICINAL_WASM=${VICINAL_WASM}: use threads, scalar or single")
endif()

# Wasm exceptions together with threads catch in no engine; the core uses neither them nor RTTI.
add_compile_options(-fno-exceptions -fno-rtti -mmutable-globals)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

if(NOT VICINAL_WASM STREQUAL "scalar")
  add_compile_options(-msimd128)
endif()
if(NOT VICINAL_WASM STREQUAL "single")
  # Not in `single`: with bulk memory this compiler keeps thread_local, which then needs threads.
  add_compile_options(-pthread -mbulk-memory)
  add_compile_definitions(VICINAL_WASM_THREADS=1)
endif()
