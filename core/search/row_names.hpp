// The strings of the rows that a search found, of an index whose ids are strings.
//
// Thread safety: as search.hpp; the version is pinned by the caller.
#pragma once

#include "search/search.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"

namespace vicinal::search {

// Copies the strings of what was found into the scratch, where the next call puts others. Of an
// index whose ids are numbers: nothing. FULL; CORRUPT: a row has none, which a file has said.
[[nodiscard]] Status name_rows(const segment::Version& version, Scratch& scratch,
                               Found* found) noexcept;

// The place of a string's row in result order, for SearchOptions::after; before all rows of that
// score when no live row has the string, or the hit none.
[[nodiscard]] Hit place_of(const segment::Version& version, const StringHit& hit) noexcept;

}  // namespace vicinal::search
