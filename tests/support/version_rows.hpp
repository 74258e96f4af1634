// The rows of a version as text, to be compared with what other readers find.
//
// Thread safety: the caller keeps the version.
#pragma once

#include <string>

#include "quant/layout.hpp"
#include "segment/version.hpp"

namespace vicinal::test {

// `sequence N`, then live rows by slot, a line each: slot, id, three factors and packed row in
// hexadecimal; where ids are strings, ` =` and the string in hexadecimal. As LogComposer::lines,
// NAME.rows of tests/golden, and tests/format.
[[nodiscard]] std::string rows_of(const segment::Version& version,
                                  const quant::CodeLayout& layout);
// Where the row with this id, or with the string of this handle, is found.
[[nodiscard]] segment::Slot slot_of(const segment::Version& version, std::uint64_t id);

}  // namespace vicinal::test
