// The text of the core's failed assertions on standard error.
//
// Thread safety: before other threads start; a static initialiser is the place.
#pragma once

namespace vicinal::test {

bool report_asserts() noexcept;  // true

}  // namespace vicinal::test
