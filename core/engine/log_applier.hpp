// Puts the records that a log reader has taken into a version: when a file is opened, and when a
// process follows the commits of another one.
//
// Thread safety: the holder of the writer's token.
// I1: the reader has walked over the records and checked them as far as one record and what it
//     refers to go; segment/replay.hpp checks them against the version. Any error ends the
//     transaction.
// I2: a mapped segment's mapping lives as long as the segment. It is private: unfinished blocks are
//     put into it, and a page that was stored to shows no more what others write to the file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/log_reader.hpp"
#include "platform/file_system.hpp"
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

  // Both outlive this.
  LogApplier(platform::File& file, LogReader& reader, Slabs slabs) noexcept
      : file_(file), reader_(reader), slabs_(slabs) {}

  // Everything, into the empty version: all records, then the id table. CORRUPT, IO, FULL.
  Status apply_all(segment::Replay& replay, segment::Damage& damage) noexcept;

 private:
  Status apply_record(segment::Replay& replay, segment::Damage& damage,
                      const storage::CommitView& view) noexcept;
  Status set_origin(segment::Replay& replay, const storage::CommitView& view) noexcept;
  Status show_rows(segment::Replay& replay, const storage::CommitView& view) noexcept;
  Status attach(segment::Replay& replay, segment::Damage& damage,
                const storage::OpenedSegment& opened) noexcept;
  [[nodiscard]] Result<segment::Segment*> map(const storage::Extent& extent,
                                              segment::Damage& damage) noexcept;
  [[nodiscard]] Result<segment::Segment*> read(const storage::Extent& extent,
                                               std::uint32_t rows) noexcept;

  platform::File& file_;
  LogReader& reader_;
  Slabs slabs_;
  bool calibrated_ = false;
};

}  // namespace vicinal::engine
