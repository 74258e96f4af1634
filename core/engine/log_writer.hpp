// Appends to an index file what a version has and the file has not (docs/format.md).
//
// Thread safety: one thread at a time. Versions are pinned by the caller for the time of a call.
// I1: a record's extents, blocks and their sums are written before the record, so that whoever
//     finds it whole finds them, or finds by the sums that the disk has lost them.
// I2: nothing that a record shows is ever written again; a whole block is written once.
// I3: a call that comes to FULL may have written extents that no record shows, and the next one
//     goes on behind them: the same versions may be tried again. After IO nobody knows what the
//     file holds, and the caller writes no more.
// I4: an extent has room for all rows that its segment will ever have: as many as the segment has,
//     unless that is sealed (segment.hpp I6) and has the rows that are there, or nobody will ever
//     go on behind this version.
// I5: what goes into the file was sound: blocks that have sums are compared with them first, so
//     that no damage gets a sum that fits.
// I6: of strings, those before `recorded_end_` stand in strings records, and later ones in the
//     commits that brought them, of at most kLooseStringBytes together: a directory, which has to
//     have all, repeats them. So a commit that would bring more of them makes records first.
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
#include "storage/ids_format.hpp"
#include "storage/strings_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// Strings, their numbers included, that commits may bring before there is a record of them.
inline constexpr std::size_t kLooseStringBytes = std::size_t{32} << 10;
// A record is at least as long, unless it has the last strings that there are.
inline constexpr std::size_t kStringsRecordBytes = std::size_t{64} << 10;

// A strings record that the file's newest version needs.
struct StringsRecord {
  storage::StringsPlace place;
  std::uint64_t last = 0;  // ordinal
  std::uint64_t bytes = 0;
  std::uint64_t strings = 0;
};

class LogWriter {
 public:
  // Where the next record goes.
  struct Place {
    storage::Uuid uuid;
    std::uint64_t end = storage::kLogStart;
    std::uint64_t previous = 0;
  };
  // How large a new extent is (I4).
  enum class Extents : std::uint8_t {
    for_more_rows,
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

  // What `version` has and `base`, which the file's newest record stands for, has not. IO, FULL,
  // CORRUPT (I5).
  Status append_commit(const segment::Version& base, const segment::Version& version) noexcept;
  // All of a version: behind its commit with nothing but id tables in between, or as a file's first
  // one. IO, FULL, CORRUPT.
  Status append_directory(const segment::Version& version, Extents extents) noexcept;
  // The extent of a segment, and of its blocks that are whole the next ones, about `bytes` of them,
  // ahead of the record that shows them. Whether that were all. IO, FULL, CORRUPT.
  [[nodiscard]] Result<bool> write_ahead(const segment::SegmentView& view, std::uint64_t sequence,
                                         Extents extents, std::uint64_t bytes) noexcept;
  // The tables of ids of a version whose segments have their extents; records from the next one on
  // name them. IO, FULL.
  Status append_ids(const segment::Version& version) noexcept;
  // What opening has found. `uncovered`: rows that it says nothing of.
  void adopt_ids(const segment::Version& version, std::uint64_t position, std::uint64_t bytes,
                 std::uint64_t uncovered) noexcept;
  // Strings of live rows in records, from where they end on, about `bytes` of them. Whether that
  // were all. Before any other record. IO, FULL, CORRUPT.
  [[nodiscard]] Result<bool> write_strings(const segment::Version& version,
                                           std::uint64_t bytes) noexcept;
  // What opening has found: all records that the version needs, in order. FULL.
  Status adopt_strings(const segment::Version& version,
                       std::span<const StringsRecord> records) noexcept;
  // Rows that the newest id table says nothing of, at most.
  [[nodiscard]] std::uint64_t rows_without_ids(const segment::Version& version) const noexcept;

  [[nodiscard]] const Place& place() const noexcept { return place_; }
  // Where the newest commit or directory is.
  [[nodiscard]] std::uint64_t record() const noexcept { return record_position_; }
  // Of the extents and the id table that the newest record's version needs, headers included; of
  // its strings the part that the live rows may have.
  [[nodiscard]] std::uint64_t needed_bytes() const noexcept {
    return extent_bytes_ + ids_bytes_ + needed_string_bytes();
  }
  // By this writer, ever.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_; }
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
  // Blocks up to before `to`, all of them whole.
  Status write_blocks(FileSegment& at, const segment::SegmentView& view,
                      std::uint32_t to) noexcept;
  Status sum_blocks(FileSegment& at, const segment::SegmentView& view, std::uint32_t to) noexcept;
  // `copy`: room for the table.
  Status write_ids_table(const segment::SubTable& table, AlignedBuffer& copy,
                         storage::IdsTable& entry) noexcept;
  Status add_grown(FileSegment& at, const segment::SegmentView& view,
                   std::uint32_t rows_before) noexcept;
  Status add_lists() noexcept;
  // log_writer_strings.cpp
  [[nodiscard]] std::uint64_t needed_string_bytes() const noexcept;
  // Puts the strings that the record has to bring into it.
  Status add_strings(const segment::Version* base, const segment::Version& version) noexcept;
  // Those from an ordinal on, into `list_`. False: it would be too long.
  [[nodiscard]] Result<bool> collect_strings(const segment::Version& version, std::uint64_t from,
                                             std::size_t bytes_max) noexcept;
  // Records of strings from `recorded_end_` on. The same as write_strings.
  enum class Wanted : std::uint8_t { all, live };
  [[nodiscard]] Result<bool> record_strings(const segment::Version& version, Wanted wanted,
                                            std::uint64_t bytes) noexcept;
  Status append_strings_record(std::uint64_t sequence) noexcept;
  [[nodiscard]] std::span<const StringsRecord> string_records() const noexcept;
  void strings_were_written(bool commit, const segment::Version& version) noexcept;
  Status append(storage::RecordKind kind, const segment::Version& version) noexcept;
  Status write(std::uint64_t position, const void* bytes, std::size_t count) noexcept;

  platform::File* file_;
  quant::CodeLayout layout_;
  Place place_;
  GrowingBuffer segments_;  // FileSegment*, by number
  segment::VersionDiff diff_;
  storage::CommitWriter record_;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t extent_bytes_ = 0;
  std::uint64_t ids_record_ = 0;
  std::uint64_t ids_bytes_ = 0;
  std::uint64_t ids_rows_ = 0;  // ever shown (rows_ever) when it was made
  std::uint64_t record_position_ = 0;
  storage::StringsWriter list_;
  GrowingBuffer strings_record_;      // the last one, as it was written
  GrowingBuffer string_records_;      // StringsRecord, ascending
  std::size_t records_named_ = 0;     // of them, by the newest record
  std::uint64_t recorded_end_ = 1;    // I6
  std::uint64_t string_bytes_ = 0;    // of the records
  std::uint64_t recorded_strings_ = 0;
  std::size_t loose_string_bytes_ = 0;
  std::uint64_t live_rows_ = 0;       // of the newest record's version
};

}  // namespace vicinal::engine
