// Puts the records that a log reader has taken into a version: when a file is opened, and when a
// process follows the commits of another one.
//
// Thread safety: the holder of the writer's token.
// I1: the reader has walked over the records and checked them as far as one record and what it
//     refers to go; segment/replay.hpp checks them against the version. Any error ends the
//     transaction, and the records may be applied again, or others in their place.
// I2: a mapped segment's mapping lives as long as the segment (mapped_extent.hpp).
// I3: what readers see of a slab is never stored to: not the rows that a version shows already of a
//     block that becomes whole. They are the same in the block.
// I4: ids are looked up behind the last record alone: before, there may be segments whose blocks
//     were not brought, since a later record drops them, and a look-up compares what it meets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/growing_buffer.hpp"
#include "engine/log_reader.hpp"
#include "engine/log_writer.hpp"
#include "platform/file_system.hpp"
#include "quant/factor_limits.hpp"
#include "segment/replay.hpp"
#include "segment/segment_checks.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class LogApplier {
 public:
  // Where the rows of whole blocks are.
  enum class Slabs : std::uint8_t {
    mapped,  // in the file, compared with their sums before their first use
    read,    // in memory, compared as they are read
  };

  // Which rows the table of ids covered.
  struct Ids {
    std::uint64_t position = 0;  // of its record; 0: none was of use
    std::uint64_t bytes = 0;     // of its record
    std::uint64_t uncovered = 0;  // rows that it says nothing of
  };

  // Both outlive this.
  LogApplier(platform::File& file, LogReader& reader, Slabs slabs) noexcept
      : file_(file), reader_(reader), slabs_(slabs) {}

  // Everything, into the empty version: all records, then the id table. CORRUPT, IO, FULL.
  Status apply_all(segment::Replay& replay, segment::Damage& damage) noexcept;
  // The commits that LogReader::advance has found, into the version before them; the ids of their
  // rows are entered in the version's tables. `applied`: how many of them were whole.
  Status apply_new(segment::Replay& replay, segment::Damage& damage,
                   std::size_t* applied) noexcept;
  // Before `apply_all`: ids are read from the rows and compared, whatever table there is.
  void leave_out_ids() noexcept { uses_ids_ = false; }
  [[nodiscard]] const Ids& ids() const noexcept { return ids_; }
  // The strings records that the version of the last `apply_all` needs.
  [[nodiscard]] std::span<const StringsRecord> strings_records() const noexcept {
    return {reinterpret_cast<const StringsRecord*>(strings_records_.data()),
            strings_records_.size() / sizeof(StringsRecord)};
  }

 private:
  Status enter_ids(segment::Replay& replay, const storage::CommitHead& head) noexcept;
  Status apply_record(segment::Replay& replay, segment::Damage& damage,
                      const storage::CommitView& view) noexcept;
  Status add_strings(segment::Replay& replay, const storage::CommitView& view) noexcept;
  Status set_origin(segment::Replay& replay, const storage::CommitView& view) noexcept;
  Status show_rows(segment::Replay& replay, const storage::CommitView& view) noexcept;
  // The rows of blocks that become whole, into the slab.
  Status bring_blocks(segment::Segment& segment, const storage::GrownSegment& grown,
                      std::uint32_t before) noexcept;
  Status read_blocks(segment::Segment& segment, const storage::Extent& extent,
                     std::uint32_t before, std::uint32_t after) noexcept;
  // Blocks that the reader has compared with their sums are not compared again.
  void trust_blocks(segment::Segment& segment, std::uint32_t from, std::uint32_t to) noexcept;
  Status attach(segment::Replay& replay, segment::Damage& damage,
                const storage::OpenedSegment& opened) noexcept;
  [[nodiscard]] Result<segment::Segment*> map(const storage::Extent& extent,
                                              segment::Damage& damage) noexcept;
  // What the reader ends with at this number, if it is this segment; else nobody will see it.
  [[nodiscard]] const LogReader::FileSegment* last_of(const segment::Segment& segment)
      const noexcept;
  [[nodiscard]] quant::FactorLimits limits() const noexcept;

  platform::File& file_;
  LogReader& reader_;
  Slabs slabs_;
  bool calibrated_ = false;
  bool follows_ = false;
  GrowingBuffer shown_;  // what `apply_new` has shown: ids to enter (I4)
  bool uses_ids_ = true;
  Ids ids_;
  GrowingBuffer strings_records_;  // StringsRecord
};

// A file, what is in it, and how that becomes a version.
struct OpenLog {
  OpenLog(std::unique_ptr<platform::File> of, LogApplier::Slabs slabs) noexcept
      : file(std::move(of)), reader(*file), applier(*file, reader, slabs) {}

  std::unique_ptr<platform::File> file;
  LogReader reader;
  LogApplier applier;
};

}  // namespace vicinal::engine
