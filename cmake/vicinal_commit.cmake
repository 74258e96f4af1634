# cmake -DSOURCE=directory -DOUTPUT=file.cpp -P vicinal_commit.cmake
#
# Writes the definition of kCommit (native/bench/commit.hpp), unless the file already says the same:
# an unchanged file compiles nothing. A source tree that is no git repository of its own (a tarball,
# also one unpacked inside another repository) is "unknown".
set(COMMIT unknown)
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  # No lock is taken and no index refreshed: somebody may be committing.
  set(ASK "${GIT}" --no-optional-locks -C "${SOURCE}")
  execute_process(COMMAND ${ASK} rev-parse HEAD
    OUTPUT_VARIABLE HEAD OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE FAILED ERROR_QUIET)
  # Results of earlier runs change nothing that is measured.
  execute_process(COMMAND ${ASK} status --porcelain -- . ":!bench/results"
    OUTPUT_VARIABLE CHANGES RESULT_VARIABLE STATUS_FAILED ERROR_QUIET)
  if(FAILED EQUAL 0 AND HEAD MATCHES "^[0-9a-f]+$")
    set(COMMIT "${HEAD}")
    if(NOT STATUS_FAILED EQUAL 0 OR NOT CHANGES STREQUAL "")
      string(APPEND COMMIT " and changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [=[
#include "bench/commit.hpp"

namespace vicinal::bench {
const char* const kCommit = "@COMMIT@";
}  // namespace vicinal::bench
]=])
