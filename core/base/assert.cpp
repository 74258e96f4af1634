#include "base/assert.hpp"

#include <cstdlib>

namespace vicinal {
namespace {

// Not atomic: written once, before threads start, by the program that owns the process.
AssertHandler assert_handler = nullptr;

}  // namespace

void set_assert_handler(AssertHandler handler) noexcept { assert_handler = handler; }

void assert_failed(const char* expression, const char* file, int line) noexcept {
  if (assert_handler != nullptr) assert_handler(expression, file, line);
  std::abort();
}

}  // namespace vicinal
