// Attaches a file's table of ids to the version that opening makes, so that it need not read the
// ids of all rows.
//
// Thread safety: one thread at a time.
// I1: the table is hints, and no more: one that is damaged, or of other segments, is left out as if
//     it were not there. Which rows it covers is taken from it; the others the caller enters.
// I2: entries that are mapped are never written to; whoever has to add one copies its sub-table
//     (id_table.hpp I6).
#pragma once

#include <cstdint>

#include "base/growing_buffer.hpp"
#include "engine/log_reader.hpp"
#include "platform/file_system.hpp"
#include "segment/replay.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class IdsReader {
 public:
  IdsReader(platform::File& file, LogReader& log, bool mapped) noexcept
      : file_(file), log_(log), mapped_(mapped) {}

  // The table at a position that a record has named, 0 for none. The version has all of its
  // segments by now. IO, FULL.
  Status attach(std::uint64_t position, segment::Replay& replay) noexcept;
  // Rows of a segment of the version, from its first on, whose hints are attached.
  [[nodiscard]] std::uint32_t covered(std::uint32_t number) const noexcept;
  // Of its record; 0 where nothing is attached.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Status map_tables(const storage::RecordHeader& header) noexcept;
  Status read_tables(const storage::RecordHeader& header) noexcept;
  Status attach_all(segment::Replay& replay) noexcept;
  void end_tables() noexcept;
  Status note_coverage(const storage::IdsView& view) noexcept;

  platform::File& file_;
  LogReader& log_;
  bool mapped_;
  storage::IdsTable entries_[storage::kIdsTables];
  segment::SubTable* tables_[storage::kIdsTables] = {};  // made, and not yet attached
  GrowingBuffer covered_;  // u32 by number
  std::uint64_t bytes_ = 0;
};

}  // namespace vicinal::engine
