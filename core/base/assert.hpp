// Assertions for our own bugs. What the outside world can cause is a Status, never an assertion.
//
// Thread safety: any thread may assert. The handler is set before other threads start.
// I1: the core itself prints nothing: who wants the text of a failure installs a handler.
#pragma once

namespace vicinal {

// Called with the failed expression before the program ends; the texts are literals.
using AssertHandler = void (*)(const char* expression, const char* file, int line);
void set_assert_handler(AssertHandler handler) noexcept;

// Ends the program; never returns. `expression` is a literal.
[[noreturn]] void assert_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace vicinal

// Always on: cheap checks of invariants, quoted by number where a header states them.
#define VICINAL_ASSERT(expression) \
  (static_cast<bool>(expression)   \
       ? static_cast<void>(0)      \
       : ::vicinal::assert_failed(#expression, __FILE__, __LINE__))

// On in debug and sanitised builds only: checks inside the hottest loops.
#ifdef NDEBUG
#define VICINAL_DEBUG_ASSERT(expression) static_cast<void>(sizeof(static_cast<bool>(expression)))
#else
#define VICINAL_DEBUG_ASSERT(expression) VICINAL_ASSERT(expression)
#endif
