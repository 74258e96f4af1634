# Emscripten's own toolchain file, wherever the distribution put it.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT
  OUTPUT_VARIABLE EMSCRIPTEN_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE EM_CONFIG_RESULT ERROR_QUIET)
if(NOT EM_CONFIG_RESULT EQUAL 0)
  message(FATAL_ERROR "em-config was not found: run `npm run set-up`, or install Emscripten")
endif()
include("${EMSCRIPTEN_ROOT}/cmake/Modules/Platform/Emscripten.cmake")
