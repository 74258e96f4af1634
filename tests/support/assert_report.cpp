// Shows the text of a failed assertion of the core: linked by the programs that name
// report_asserts.
#include "support/assert_report.hpp"

#include <cstdio>

#include "base/assert.hpp"

namespace vicinal::test {

bool report_asserts() noexcept {
  set_assert_handler([](const char* expression, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
  });
  return true;
}

}  // namespace vicinal::test
