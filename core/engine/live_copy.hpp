// An index of the live rows of another one's version, and of nothing else.
//
// Thread safety: one thread; the version is pinned by the caller.
// I1: rows come in slot order, in parts of one size: equal versions make equal copies. Where ids
//     are strings they come in the order of their handles, which is that in which rows of one score
//     are found: copies find them in it, too.
#pragma once

#include <memory>

#include "engine/core.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// In memory, without a budget. FULL; CORRUPT where damage was met.
[[nodiscard]] Result<std::shared_ptr<Core>> copy_live_rows(
    const Core& core, const segment::Version& version) noexcept;

}  // namespace vicinal::engine
