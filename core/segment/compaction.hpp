// Compaction: the live rows of segments with many dead ones move into one new segment, a block at a
// time, while the index is written to and searched.
//
// Thread safety: the holder of the writer's token. Readers take no part and wait for nothing.
//
// The protocol. A run has sources (segments of the newest version, each named by number and birth)
// and a target that no version shows until the run's last commit.
//   (p) plan: choose sources; after the first slice the one that takes rows, if it is a source,
//       takes no more.
//   (m) move, block by block: each row of the block that is live in the newest version is copied to
//       the target, codes as they are, and its hint entered; which row it came from is noted.
//   (s) show, one transaction: the target is part of the version; each of its rows whose source row
//       is dead by now is dead (s3); the sources are not part of the version any more.
// Between blocks any transaction may happen: adds, replacements, removals, clear.
//
// Why a version shows the right rows, before and after (s).
//   A row that is added after (p) goes to another segment: sources take none, and the target's
//     number is its own (builder.hpp I6).
//   A row that is dead when (m) comes to it is not copied, and a slot once dead stays dead.
//   A row that was copied and then removed or replaced has its live bit cleared in its source, by
//     whoever removed it, who knows nothing of the target; (s3) reads that bit. Bits of a source
//     that was dropped (all dead, or cleared) count as cleared: I2 tells a dropped one from its
//     number's next owner. When no source is left the target is given up: in an index that was
//     cleared, and may have been calibrated since, its codes mean nothing.
//   So the target's live rows are exactly the sources' live rows, and (s) exchanges one for the
//     other: no id appears twice or goes missing, in the same commit.
// Hints (id_table.hpp I2) are entered in (m), at the latest in the version before the one that
//   shows the rows. They are lost only with a table: one that is rebuilt keeps those of the target
//   (builder.hpp I6); `clear` drops all tables, but then every source is gone and the run with it;
//   a slice that had tables rebuilt is published for their sake.
// Old versions reach the sources, which retire like anything that a version replaces.
//
// I1: what fails (memory, budget, a damaged block) ends the run; the index is as if it had not
//     begun, but for hints, which may be false, and a segment that takes no more rows.
// I2: (number, birth) names one segment for ever. The target's birth is the version of (s).
// I3: a step is one block: 32 rows copied at most.
#pragma once

#include <array>
#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "segment/builder.hpp"
#include "segment/version.hpp"

namespace vicinal::segment {

// Sources of one run at most.
inline constexpr std::uint32_t kCompactionSources = 64;

class Compaction {
 public:
  // Which segments are worth moving.
  struct Goal {
    std::uint32_t dead_percent = 0;           // of a segment's rows, or more; none dead: never
    std::uint64_t birth_max = ~std::uint64_t{0};
    bool merge = false;  // small segments, too, when there are several
    std::uint64_t bytes_max = ~std::uint64_t{0};  // of all sources' slabs
  };
  enum class Step : std::uint8_t { more, moved, failed };

  explicit Compaction(VersionBuilder& builder) noexcept : builder_(builder) {}
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;

  // Between transactions. Chooses the sources, the deadest first; false: none is worth it.
  [[nodiscard]] bool plan(const Version& newest, const Goal& goal) noexcept;
  [[nodiscard]] bool active() const noexcept { return source_count_ != 0; }

  // In a transaction on the newest version, with nothing else in it. `start` leaves out sources
  // until the rest fits the budget; false: none does (I1). `move_block`: one step; `moved` when no
  // row is left. `show`: the last; the transaction is to be published. False, or `failed`: it is to
  // be abandoned, and the run given up.
  [[nodiscard]] bool start() noexcept;
  [[nodiscard]] Step move_block() noexcept;
  [[nodiscard]] bool show() noexcept;

  // Between transactions. After that of `start`: no source takes rows any more.
  void close_sources() noexcept;
  void give_up() noexcept;
  // By the successor of a writer that died in the middle of a run, in place of `give_up`: the
  // builder has forgotten the target. Returns the bytes that are lost with the run.
  std::size_t forget() noexcept;

 private:
  friend struct CompactionSteps;  // tests leave one out

  struct Source {
    std::uint32_t number;
    std::uint32_t rows;
    std::uint32_t live;
    std::uint32_t first;  // of its rows in the target
    std::uint64_t birth;
    std::uint64_t bytes;
  };

  void consider(const SegmentView& view) noexcept;
  void keep_what_fits(std::uint32_t rows_max, std::uint64_t bytes_max) noexcept;
  // The source's view in the version under construction, or null when it was dropped.
  [[nodiscard]] const SegmentView* view_of(const Source& source) const noexcept;
  [[nodiscard]] std::uint32_t rows_of(std::uint32_t source) const noexcept;
  [[nodiscard]] bool any_source_left() const noexcept;
  [[nodiscard]] bool prepare_drops() noexcept;
  [[nodiscard]] bool kill_what_died(std::uint32_t target) noexcept;  // (s3)
  void drop_sources() noexcept;

  VersionBuilder& builder_;
  std::array<Source, kCompactionSources> sources_;
  std::uint32_t source_count_ = 0;
  std::uint32_t at_source_ = 0;
  std::uint32_t at_block_ = 0;
  std::uint32_t rows_ = 0;  // of the target
  AlignedBuffer from_;  // u16 for each row of the target: its row in its source
  AlignedBuffer packed_row_;
};

}  // namespace vicinal::segment
