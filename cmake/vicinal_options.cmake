# Options and the compile flags that every target shares.

option(VICINAL_TESTS "Build the GoogleTest programs" OFF)
set(VICINAL_TEST_PROGRAMS "" CACHE STRING "Names of tests/CMakeLists.txt; empty: all")
option(VICINAL_FUZZ "Build libFuzzer programs in place of the tests; needs Clang" OFF)
option(VICINAL_COMMAND "Build the command line tool" ON)
option(VICINAL_WERROR "Treat warnings as errors" OFF)
# For builds that are made once, to test, and for the modules that stand in where an engine lacks
# something. The others are compiled file by file: a header that one forgot is noticed.
option(VICINAL_UNITY "Compile the sources of a core layer several at a time" OFF)
option(BUILD_SHARED_LIBS "Build vicinal as a shared library" OFF)
set(VICINAL_SANITIZE "" CACHE STRING "Sanitizers: empty, address,undefined or thread")
# The simulated ones are for one program only: tests/simulator compiles the core's files for itself.
set(VICINAL_ATOMICS "plain" CACHE STRING "plain, or counted: sync/atomic.hpp counts its operations")
set_property(CACHE VICINAL_ATOMICS PROPERTY STRINGS plain counted)
set(VICINAL_WASM "threads" CACHE STRING "WebAssembly build: threads, scalar or single")
set_property(CACHE VICINAL_WASM PROPERTY STRINGS threads scalar single)

if(CMAKE_SYSTEM_NAME STREQUAL "Emscripten")
  set(VICINAL_TARGET_WASM ON)
else()
  set(VICINAL_TARGET_WASM OFF)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT VICINAL_TARGET_WASM)
  # For the shared library. In WebAssembly it would put every address behind a table.
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Every target of this project, on every machine, must round alike: a contracted multiply-add rounds
# once where two operations round twice, and the same query would rank differently elsewhere.
add_compile_options(-ffp-contract=off)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion)
if(VICINAL_WERROR)
  add_compile_options(-Werror)
endif()

if(VICINAL_SANITIZE)
  if(NOT VICINAL_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
    message(FATAL_ERROR "VICINAL_SANITIZE=${VICINAL_SANITIZE}: use address,undefined or thread")
  endif()
  add_compile_options(
    -fsanitize=${VICINAL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VICINAL_SANITIZE})
endif()

if(VICINAL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(VICINAL_ATOMICS STREQUAL "counted")
  add_compile_definitions(VICINAL_ATOMICS_COUNTED=1)
elseif(NOT VICINAL_ATOMICS STREQUAL "plain")
  message(FATAL_ERROR "VICINAL_ATOMICS=${VICINAL_ATOMICS}: use plain or counted")
endif()

if(VICINAL_TARGET_WASM)
  include(vicinal_wasm_options)
endif()
