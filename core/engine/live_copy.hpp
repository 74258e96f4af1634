// An index of the live rows of another one's version, and of nothing else.
//
// Thread safety: one thread; the version is pinned by the caller.
// I1: rows come in slot order, in parts of one size: equal versions make equal copies. Where ids
//     are strings they come in the order of their handles, which is that in which rows of one score
//     are found: copies find them in it, too.
#pragma once

#include <memory>

#include "engine/core.hpp"
#include "engine/reader.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// In memory, without a budget. FULL; CORRUPT where damage was met.
[[nodiscard]] Result<std::shared_ptr<Core>> copy_live_rows(
    const Core& core, const segment::Version& version) noexcept;

// call(core, version) with the reader's version, or one of its live rows alone where it has others:
// what files are made of. FULL, CORRUPT, CLOSED, and what the call returns.
template <class Call>
Status with_live_rows(ReaderCore& reader, Call call) noexcept {
  const ReaderCore::Entry entry(reader);
  if (!entry.status().ok()) return entry.status();
  Core& core = reader.core();
  const segment::Version& version = entry.version();
  // No string but those of live rows, and no ordinal left out.
  const bool tidy = !version.strings.any() || version.strings.end == version.live_rows + 1;
  if (version.dead_rows == 0 && tidy) return call(core, version);
  const auto copy = copy_live_rows(core, version);
  if (!copy.ok()) return copy.status();
  return call(**copy, static_cast<const segment::Version&>(*(*copy)->root().newest()));
}

}  // namespace vicinal::engine
