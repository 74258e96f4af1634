// Makes a version out of what a file says: when it is opened, and when another process wrote on.
//
// Thread safety: the holder of the writer's token.
// The protocol, in a transaction of the builder (`VersionBuilder::begin` with the sequence that the
// version will have):
//     for each commit, or once for a directory   drop, set_origin, attach, add_strings,
//                                                end_strings, show_rows, kill or replace_page;
//                                                then counts_are
//     where the id table begins                  attach_table, expect_rows
//     at the end                                 enter_hints, for rows that no table covers
// then finish and publish as always; a writer calls `VersionBuilder::reopen` after that. Several
// commits may become one version. Any error ends the transaction: `abandon`.
// I1: what is not said to be the caller's is hostile and checked here. CORRUPT: a number out of
//     range, in use (attach) or not (all else); rows that do not grow, or beyond the capacity;
//     inline rows of another number than the unfinished block lacks, or with factors beyond their
//     limits; strings that do not ascend; a slot that is not there, or dead already; a page that
//     brings a row back, or marks rows that are not there; an origin that is none, is not new, or
//     comes while a segment is there; counts that differ; two live rows of one id, and a live row
//     without a string where ids are strings, as far as their hints are entered here.
//     Ids that attached tables cover are not compared, since that would read all of them: a file
//     made to have an id twice shows it twice. That such a row lacks its string is said when it is
//     looked up (strings.hpp I5), or here, by `enter_hints`.
// I2: the bytes of whole blocks are in their slabs before `show_rows` counts them; they are checked
//     when they are first used (segment_checks.hpp), those that `enter_hints` reads at once.
// I3: the rows of a block that is not whole are written into the slab, which must be writable then.
//     A page of a private mapping that was written to does not show what the file gets later:
//     whoever follows a file reads the blocks that become whole there into the slab.
// I4: nothing is dropped but by `drop`: a segment whose rows are all dead may still be the one that
//     the file's writer fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/factor_limits.hpp"
#include "segment/builder.hpp"
#include "segment/version.hpp"
#include "storage/strings_format.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::segment {

// Rows as a commit record has them: aligned to nothing.
struct InlineRows {
  const std::byte* ids = nullptr;      // 8 bytes each
  const std::byte* factors = nullptr;  // quant::RowFactors
  const std::byte* packed = nullptr;   // packed rows
  std::uint32_t count = 0;
};

class Replay {
 public:
  Replay(VersionBuilder& builder, Metric metric) noexcept : builder_(builder), metric_(metric) {}

  // Whether a segment of this number and capacity can be made and attached.
  [[nodiscard]] static constexpr bool is_place(std::uint32_t number,
                                               std::uint32_t capacity) noexcept {
    return number < kSegmentsMax - 1 && is_capacity(capacity);
  }

  // In a transaction. FULL.
  // Everything goes, as if the version were the empty one: another file says all of it anew.
  Status start_anew() noexcept;
  // CORRUPT (I1), FULL.
  Status drop(std::uint32_t number) noexcept;
  // Before the segments whose rows are measured from it. `number`: of the calibration; `origin`:
  // dim floats, aligned to nothing.
  Status set_origin(std::uint64_t number, const std::byte* origin) noexcept;
  // A segment of the caller's, with no rows yet; the builder's from now on, unless it fails.
  Status attach(Segment* segment) noexcept;
  // The number's segment has `rows` rows from now on; `unfinished`: those that are new in a block
  // that is not whole.
  Status show_rows(std::uint32_t number, std::uint32_t rows, const InlineRows& unfinished) noexcept;
  // Those of the list from `known_end` on: the version before has the others. CORRUPT, FULL.
  Status add_strings(const storage::StringsView& list, std::uint64_t known_end) noexcept;
  // Behind the last of a record: one past the newest ordinal that there ever was.
  Status end_strings(std::uint64_t end) noexcept;
  [[nodiscard]] std::uint64_t strings_end() const noexcept { return builder_.next_->strings.end; }
  Status kill(Slot slot) noexcept;
  Status replace_page(std::uint32_t number, std::uint32_t page,
                      std::span<const std::uint32_t, kLivePageBlocks> words) noexcept;
  // What the head of a record says of the version as it is now.
  Status counts_are(std::uint64_t live_rows, std::uint64_t dead_rows,
                    std::uint64_t rows_dropped) noexcept;

  // A sub-table in the place of a missing one, the caller's until it succeeds; any bytes are good
  // hints. CORRUPT: no such place, or taken.
  Status attach_table(std::uint32_t place, SubTable* table) noexcept;
  // Whether so many bytes would still be within the memory budget, before they are asked for. FULL.
  [[nodiscard]] Status have_room(std::uint64_t bytes) const noexcept;
  // Room for the hints of so many rows where there is no table yet. FULL.
  Status expect_rows(std::uint64_t rows) noexcept;
  // Rows that a segment has by now; ~0 where there is none.
  [[nodiscard]] std::uint32_t rows_of(std::uint32_t number) const noexcept {
    const SegmentView* shown = builder_.next_->view(number);
    return shown == nullptr ? ~std::uint32_t{0} : shown->rows;
  }
  // The segment itself, for whoever brings rows into its slab; null where there is none.
  [[nodiscard]] Segment* segment_of(std::uint32_t number) const noexcept {
    const SegmentView* shown = builder_.next_->view(number);
    return shown == nullptr ? nullptr : const_cast<Segment*>(shown->segment);
  }
  [[nodiscard]] bool is_calibrated() const noexcept { return builder_.calibration() != 0; }
  // Hints to the live rows [from, to) of a segment. CORRUPT, FULL.
  Status enter_hints(std::uint32_t number, std::uint32_t from, std::uint32_t to) noexcept;

 private:
  [[nodiscard]] Version& next() noexcept { return *builder_.next_; }
  [[nodiscard]] bool make_leaves(std::uint32_t count) noexcept;
  [[nodiscard]] bool factors_are_sane(const InlineRows& rows) const noexcept;
  [[nodiscard]] Status store_unfinished(SegmentView& view, std::uint32_t first,
                                        const InlineRows& rows) noexcept;
  Status enter_hint(Slot slot, std::uint64_t id) noexcept;
  Status enter_hint_of(Slot slot, std::uint64_t hash, Slot other) noexcept;
  // replay_strings.cpp. The list from this one on.
  Status put_strings(const storage::StringsView& list, std::uint32_t from) noexcept;
  Status add_chunk(const storage::StringsView& list, std::uint32_t from,
                   std::size_t text_bytes) noexcept;
  [[nodiscard]] bool close_chunk(std::uint32_t capacity) noexcept;
  Status forget_strings() noexcept;

  VersionBuilder& builder_;
  Metric metric_;
};

}  // namespace vicinal::segment
