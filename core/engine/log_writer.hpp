// Appends to an index file what a version has and the file has not (docs/format.md).
//
// Thread safety: one thread at a time. Versions are pinned by the caller for the time of a call.
// I1: a record's extents, blocks and their sums are written before the record, so that whoever
//     finds it whole finds them, or finds by the sums that the disk has lost them.
// I2: nothing that a record shows is ever written again; a whole block is written once.
// I3: a call that comes to FULL may have written extents that no record shows, and the next one
//     goes on behind them: the same versions may be tried again. After IO nobody knows what the
//     file holds, and the caller writes no more.
// I4: an extent has room for all rows that its segment will ever have. One that was cut to the rows
//     that are there belongs to a segment that takes no more.
#pragma once

#include <cstdint>
#include <memory>

#include "base/aligned_buffer.hpp"
#include "base/growing_buffer.hpp"
#include "platform/file_system.hpp"
#include "quant/layout.hpp"
#include "segment/version_diff.hpp"
#include "storage/commit_format.hpp"
#include "storage/extent_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class LogWriter {
 public:
  // Where the next record goes.
  struct Place {
    storage::Uuid uuid;
    std::uint64_t end = storage::kLogStart;
    std::uint64_t previous = 0;
  };
  // How large a new extent is.
  enum class Extents : std::uint8_t {
    as_in_memory,  // there may be more rows
    cut_to_rows,
  };

  LogWriter(platform::File& file, const quant::CodeLayout& layout, const Place& place) noexcept;
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  ~LogWriter();

  // The extent of a segment that the file's newest version shows. `sums`: of its blocks, in a
  // mapping of the file that stays with the segment; null: they are read. FULL, IO.
  Status adopt(const segment::SegmentView& view, const storage::Extent& extent,
               const storage::BlockSums* sums) noexcept;

  // What `version` has and `base`, which the file's newest record stands for, has not. IO, FULL.
  Status append_commit(const segment::Version& base, const segment::Version& version) noexcept;
  // All of a version: right behind its commit, or as a file's first record. IO, FULL.
  Status append_directory(const segment::Version& version, Extents extents) noexcept;
  void set_ids_record(std::uint64_t position) noexcept { ids_record_ = position; }

  [[nodiscard]] const Place& place() const noexcept { return place_; }
  // Where the newest commit or directory is.
  [[nodiscard]] std::uint64_t record() const noexcept { return record_position_; }
  // Of extents, headers included, that the newest record's version does not need any more.
  [[nodiscard]] std::uint64_t garbage_bytes() const noexcept { return garbage_bytes_; }
  void set_garbage_bytes(std::uint64_t bytes) noexcept { garbage_bytes_ = bytes; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  struct FileSegment;
  [[nodiscard]] FileSegment* file_segment(std::uint32_t number) const noexcept;
  Status put(std::uint32_t number, std::unique_ptr<FileSegment> fresh) noexcept;
  // Where the view's segment is in the file: the extent that it has, or a new one.
  [[nodiscard]] Result<FileSegment*> extent_for(const segment::SegmentView& view,
                                                std::uint64_t sequence, Extents extents) noexcept;
  [[nodiscard]] bool own_sums(FileSegment& at) noexcept;
  // All that the record will refer to, and the record's lists.
  Status write_difference(const segment::Version* base, const segment::Version& version,
                          Extents extents) noexcept;
  Status write_blocks(FileSegment& at, const segment::SegmentView& view) noexcept;
  Status add_grown(FileSegment& at, const segment::SegmentView& view,
                   std::uint32_t rows_before) noexcept;
  Status add_lists() noexcept;
  Status append(storage::RecordKind kind, const segment::Version& version) noexcept;
  Status write(std::uint64_t position, const void* bytes, std::size_t count) noexcept;

  platform::File* file_;
  quant::CodeLayout layout_;
  Place place_;
  GrowingBuffer segments_;  // FileSegment*, by number
  segment::VersionDiff diff_;
  storage::CommitWriter record_;
  std::uint64_t ids_record_ = 0;
  std::uint64_t record_position_ = 0;
  std::uint64_t garbage_bytes_ = 0;
};

}  // namespace vicinal::engine
