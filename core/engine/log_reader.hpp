// Finds in an index file what opening has to apply, the newest directory and the whole commits
// behind it, and what following has to: the commits since (docs/format.md).
//
// Thread safety: one thread at a time.
// I1: bytes are hostile until checked: a length before it is read, a sum before what it covers is
//     used.
// I2: what ends before the newest meta slot's end was certain once, so anything wrong there is
//     CORRUPT. Behind it the log ends before the first record that is not whole, chained and in
//     order, or whose blocks are not what their sums say: the disk may have lost any of it.
// I3: where no meta slot is valid nothing is certain, and the walk begins at the log's first record
//     and checks every block. A file without a single version is CORRUPT.
// I4: the walk goes on from a commit or a directory that was taken. What comes behind it is never
//     certain, and what is not whole may become it: the file's writer, or the next one, may have
//     written other bytes there when the walk comes again. What was taken stays as it is.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "base/growing_buffer.hpp"
#include "platform/file_system.hpp"
#include "quant/layout.hpp"
#include "segment/segment.hpp"
#include "storage/commit_format.hpp"
#include "storage/extent_format.hpp"
#include "storage/ids_format.hpp"
#include "storage/log_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// Blocks of an extent, read and compared with their sums.
class BlockReader {
 public:
  BlockReader(platform::File& file, const quant::CodeLayout& layout,
              const storage::Uuid& uuid) noexcept
      : file_(file), layout_(layout), uuid_(uuid) {}

  // Blocks [from, to) into a slab of the extent's capacity. CORRUPT(position), IO, FULL.
  Status read_into(std::uint8_t* slab, const storage::Extent& extent, std::uint32_t from,
                   std::uint32_t to) noexcept;
  // One block's plane, and those of its rows from `lane` on: readers have the others already.
  Status read_rest_of(std::uint8_t* slab, const storage::Extent& extent, std::uint32_t block,
                      std::uint32_t lane) noexcept;
  // Whether they are sound, and their sums those that a record names. CORRUPT, IO, FULL.
  Status check(const storage::Extent& extent, std::uint32_t from, std::uint32_t to,
               std::uint64_t sum_of_sums) noexcept;

 private:
  // That the blocks [from, to) in `slab`, where the first one is `slab_from`, are sound.
  Status compare(const std::uint8_t* slab, const segment::SlabLayout& in_slab,
                 const storage::Extent& extent, std::uint32_t from, std::uint32_t to,
                 std::uint32_t slab_from) noexcept;
  Status read_arrays(std::uint8_t* slab, const segment::SlabLayout& in_slab,
                     const storage::Extent& extent, std::uint32_t from, std::uint32_t to,
                     std::uint32_t slab_from) noexcept;

  platform::File& file_;
  quant::CodeLayout layout_;
  storage::Uuid uuid_;
};

class LogReader {
 public:
  // A segment of the version that the log ends with.
  struct FileSegment {
    storage::Extent extent;
    std::uint32_t rows = 0;
    bool there = false;
  };
  struct Record {
    storage::RecordHeader header;
    storage::CommitView view;
  };

  struct Ids {
    storage::RecordHeader header;
    storage::IdsView view;
  };
  struct Strings {
    storage::RecordHeader header;
    storage::StringsView view;
  };

  explicit LogReader(platform::File& file) noexcept : file_(file) {}

  // The superblock. CORRUPT, VERSION, UNSUPPORTED, IO.
  Status read_superblock() noexcept;
  [[nodiscard]] const storage::Superblock& superblock() const noexcept { return superblock_; }
  [[nodiscard]] const quant::CodeLayout& layout() const noexcept { return layout_; }
  // The whole log. CORRUPT, UNSUPPORTED (a record of a kind that this version cannot read), IO,
  // FULL.
  Status find_end() noexcept;
  // Goes on behind the end that was found: records() are the commits that have been appended since
  // and end at `limit` or before. UNSUPPORTED, IO, FULL: nothing is taken.
  Status advance(std::uint64_t limit) noexcept;
  // What the last `advance` has found is applied, or not: then the end is what it was before.
  void keep() noexcept { before_.clear(); }
  void take_back() noexcept;

  // Told of every record that is examined.
  class Witness {
   public:
    virtual Status saw(const storage::RecordHeader& header,
                       std::span<const std::byte> body) noexcept = 0;

   protected:
    ~Witness() = default;
  };
  // In place of find_end: all records from the first one on, however old, and every block that any
  // of them made whole. The errors are the same, and the witness's.
  Status examine(Witness& witness) noexcept;
  // Whether a meta slot was valid.
  [[nodiscard]] bool has_meta(std::uint32_t slot) const noexcept {
    return (metas_ >> slot & 1) != 0;
  }

  // Where it ends.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  [[nodiscard]] std::uint64_t previous() const noexcept { return previous_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return shown_.sequence; }
  [[nodiscard]] std::uint64_t directory() const noexcept { return directory_; }
  [[nodiscard]] std::uint64_t directory_bytes() const noexcept { return directory_bytes_; }
  [[nodiscard]] std::uint64_t turn() const noexcept { return turn_; }
  [[nodiscard]] std::uint64_t shown_end() const noexcept { return shown_.end; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return bytes_; }

  // The directory, then each commit behind it; after `advance` the new commits.
  [[nodiscard]] std::size_t records() const noexcept {
    return positions_.size() / sizeof(std::uint64_t);
  }
  [[nodiscard]] std::uint64_t position(std::size_t index) const noexcept;
  // Valid until the next call. IO, FULL; CORRUPT where the file has changed.
  [[nodiscard]] Result<Record> record(std::size_t index) noexcept;
  // Of all segments in the end: what they take in memory where they are not mapped, at least.
  [[nodiscard]] std::uint64_t slab_bytes() const noexcept;
  // Above each number of the end.
  [[nodiscard]] std::uint32_t segment_end() const noexcept {
    return static_cast<std::uint32_t>(segments_.size() / sizeof(FileSegment));
  }
  // The id table there. Valid until the next call. CORRUPT: none, or not whole. IO, FULL.
  [[nodiscard]] Result<Ids> ids(std::uint64_t position) noexcept;
  // The strings record there. Valid until the next call; the last `record` stays valid. CORRUPT,
  // IO, FULL.
  [[nodiscard]] Result<Strings> strings(const storage::StringsPlace& place) noexcept;
  // What is at a number in the end; null: nothing.
  [[nodiscard]] const FileSegment* segment(std::uint32_t number) const noexcept;
  // An extent by its place. CORRUPT, IO.
  [[nodiscard]] Result<storage::Extent> extent_at(std::uint64_t position) noexcept;
  // That no two segments of the end share bytes of the file. CORRUPT, FULL.
  [[nodiscard]] Status check_extents() noexcept;

 private:
  // The meta slots, and the length that the file has after them.
  Status read_metas() noexcept;
  // Header and body of the record there; the body stays in `body_`, or where it is wanted.
  [[nodiscard]] Result<storage::RecordHeader> read_record(std::uint64_t position,
                                                          const std::uint64_t* previous) noexcept {
    return read_record(position, previous, body_);
  }
  [[nodiscard]] Result<storage::RecordHeader> read_record(std::uint64_t position,
                                                          const std::uint64_t* previous,
                                                          GrowingBuffer& body) noexcept;
  [[nodiscard]] storage::CommitShape shape() const noexcept {
    return {layout_.dim, layout_.packed_row_bytes, has_strings()};
  }
  [[nodiscard]] bool has_strings() const noexcept {
    return superblock_.id_kind == IdKind::string;
  }
  // Records from `position` on, until one is wrong. Whether that is an error: I2.
  Status walk(std::uint64_t position, bool chained, std::uint64_t limit) noexcept;
  Status walk_on(bool chained, std::uint64_t limit) noexcept;
  Status take(const storage::RecordHeader& header) noexcept;
  Status take_commit(const storage::RecordHeader& header) noexcept;
  Status take_version(const storage::RecordHeader& header,
                      const storage::CommitView& view) noexcept;
  // That what it says of strings follows the version before, or is what a directory repeats.
  Status check_strings(const storage::RecordHeader& header,
                       const storage::CommitView& view) noexcept;
  Status note_segments(const storage::CommitView& view) noexcept;
  Status check_blocks(const storage::CommitView& view) noexcept;
  // Notes what a segment was before it changes, while the walk goes on (I4).
  Status remember(std::uint32_t number) noexcept;
  // What `before_` has from `first` on is so again.
  void restore(std::size_t first) noexcept;
  [[nodiscard]] FileSegment* mutable_segment(std::uint32_t number) noexcept;

  platform::File& file_;
  std::uint64_t bytes_ = 0;
  storage::Superblock superblock_;
  quant::CodeLayout layout_;
  std::uint64_t certain_end_ = 0;
  std::uint64_t meta_directory_ = 0;
  std::uint32_t metas_ = 0;  // valid ones, a bit each
  Witness* witness_ = nullptr;
  std::uint64_t turn_ = 0;

  // Behind the last commit or directory.
  struct Shown {
    std::uint64_t end = 0;
    std::uint64_t previous = 0;
    std::uint64_t sequence = 0;
    std::uint64_t strings_end = 0;  // 0: nothing was shown, or ids are numbers
  };
  struct Before {
    FileSegment segment;
    std::uint32_t number = 0;
  };

  std::uint64_t end_ = 0;
  std::uint64_t previous_ = 0;
  Shown shown_;
  Shown shown_before_;  // the last `advance`
  std::uint64_t directory_ = 0;
  std::uint64_t directory_bytes_ = 0;
  bool torn_ = false;
  bool follows_ = false;
  bool opened_ = false;  // any extent, by the last `advance`
  GrowingBuffer positions_;
  GrowingBuffer segments_;  // FileSegment
  GrowingBuffer before_;    // Before, of what `advance` has changed
  GrowingBuffer body_;
  GrowingBuffer strings_body_;
};

}  // namespace vicinal::engine
