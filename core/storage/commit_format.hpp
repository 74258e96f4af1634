// Commit and directory records: the difference of two versions, and of one from the empty version
// (docs/format.md).
//
// Thread safety: values; belong to one thread. A CommitView reads bytes that nobody changes.
// I1: each list is strictly ascending, by number, slot, or number and page, and names no segment at
//     or past segment_end (dropped ones may). The writer asserts it, the reader refuses the rest.
// I2: what a CommitView hands out lies within the body. How many inline rows there are depends on
//     the version before; InlineRowsCursor says so, and checks them one segment at a time.
// I3: a body ends where its last list or row does, padded to 8; all padding is zero.
// I4: a slot dies in `dead` or by a live page, never by both in one commit. A directory has neither
//     dropped segments nor dead slots, and opens every segment that it shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/assert.hpp"
#include "base/growing_buffer.hpp"
#include "storage/extent_format.hpp"
#include "storage/log_format.hpp"
#include "storage/strings_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::storage {

// What of a body's lengths the index decides.
struct CommitShape {
  std::uint32_t dim = 0;             // floats of an origin
  std::size_t packed_row_bytes = 0;  // of an inline row
  bool strings = false;              // ids are strings
};

struct CommitHead {
  std::uint64_t live_rows = 0;
  std::uint64_t dead_rows = 0;
  std::uint64_t rows_dropped = 0;
  std::uint32_t segment_end = 0;
  std::uint64_t ids_record = 0;  // position of the newest id table's record, 0: none
};

struct OpenedSegment {
  std::uint32_t number = 0;
  std::uint32_t capacity = 0;
  std::uint64_t extent = 0;  // position of its record
};
struct GrownSegment {
  std::uint32_t number = 0;
  std::uint32_t rows = 0;    // after the commit
  std::uint64_t sums = 0;    // checksum64 of the BlockSums of blocks that became whole here; or 0
};
// Live bits of 4,096 rows of a segment; replaces what was known of them.
struct LivePageEntry {
  std::uint32_t number = 0;
  std::uint32_t page = 0;
  std::uint32_t words[kFileLivePageWords] = {};
};
static_assert(sizeof(OpenedSegment) == 16 && sizeof(GrownSegment) == 16 &&
              sizeof(LivePageEntry) == 520);

// A record that is ready to be written; valid until its maker is changed.
struct SealedRecord {
  std::span<const std::byte> bytes;
  std::uint64_t sum = 0;  // the next record's `previous`
};

// Room for one segment's inline rows: ids[count], factors[3 * count], packed rows.
struct InlineRowsRoom {
  std::uint64_t* ids = nullptr;
  float* factors = nullptr;
  std::uint8_t* packed_rows = nullptr;
};

// Collects the lists in any order, then makes the record. What fails with FULL leaves a list short:
// the caller gives the record up.
class CommitWriter {
 public:
  explicit CommitWriter(const CommitShape& shape) noexcept : shape_(shape) {}

  // Starts anew; the memory stays.
  void clear() noexcept;
  // Gives the memory back, too.
  void release() noexcept;
  // What it holds of the system's memory.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  // Each in ascending order (I1). FULL.
  Status add_opened(const OpenedSegment& segment) noexcept;
  Status add_grown(const GrownSegment& segment) noexcept;
  Status add_dropped(std::uint32_t number) noexcept;
  Status add_dead(std::uint32_t slot) noexcept;
  Status add_live_page(std::uint32_t number, std::uint32_t page,
                       std::span<const std::uint32_t, kFileLivePageWords> words) noexcept;
  // shape.dim floats.
  Status set_origin(std::uint64_t number, const float* origin) noexcept;
  // Of an index whose ids are strings, always: one past its newest ordinal, the records that the
  // version is to have, ascending by first, and what else there is. FULL.
  Status set_strings(std::uint64_t end, std::span<const StringsPlace> records,
                     const StringsWriter& list) noexcept;
  // Of the grown segment added last, whose rows end inside a block: its new rows there, to be
  // filled in before the next call.
  [[nodiscard]] Result<InlineRowsRoom> add_rows(std::uint32_t count) noexcept;

  // Of the record that `seal` would make.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // kind: commit or directory. FULL.
  [[nodiscard]] Result<SealedRecord> seal(const Uuid& uuid, RecordKind kind,
                                          std::uint64_t position, std::uint64_t sequence,
                                          std::uint64_t previous, const CommitHead& head) noexcept;

 private:
  enum List : std::size_t {
    opened, grown, dropped, dead, live_pages, origin, strings, rows, kLists
  };

  template <class T>
  Status add(List list, std::uint64_t key, const T& value) noexcept;
  void check_order(List list, std::uint64_t key) noexcept;

  CommitShape shape_;
  std::array<GrowingBuffer, kLists> lists_;
  std::array<std::uint64_t, kLists> next_key_{};
  std::array<std::uint32_t, kLists> counts_{};
  GrowingBuffer record_;
};

// A list in a record's body, read in place.
template <class T>
class RecordList {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  RecordList() noexcept = default;
  RecordList(const std::byte* start, std::uint32_t count) noexcept
      : start_(start), count_(count) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] T operator[](std::uint32_t index) const noexcept {
    VICINAL_DEBUG_ASSERT(index < count_);
    T value;
    std::memcpy(&value, start_ + index * sizeof(T), sizeof value);
    return value;
  }

 private:
  const std::byte* start_ = nullptr;
  std::uint32_t count_ = 0;
};

// A commit's or a directory's body, checked but for what the version before must say: that dropped
// and grown segments exist, their rows, and the counts of live and dead rows.
class CommitView {
 public:
  // CORRUPT: anything that no CommitWriter makes. The body's sum is checked by now.
  [[nodiscard]] static Result<CommitView> parse(const RecordHeader& header,
                                                std::span<const std::byte> body,
                                                const CommitShape& shape) noexcept;

  [[nodiscard]] const CommitHead& head() const noexcept { return head_; }
  [[nodiscard]] const RecordList<OpenedSegment>& opened() const noexcept { return opened_; }
  [[nodiscard]] const RecordList<GrownSegment>& grown() const noexcept { return grown_; }
  [[nodiscard]] const RecordList<std::uint32_t>& dropped() const noexcept { return dropped_; }
  [[nodiscard]] const RecordList<std::uint32_t>& dead() const noexcept { return dead_; }
  [[nodiscard]] const RecordList<LivePageEntry>& live_pages() const noexcept {
    return live_pages_;
  }
  [[nodiscard]] bool has_origin() const noexcept { return origin_ != nullptr; }
  [[nodiscard]] std::uint64_t origin_number() const noexcept;
  // shape.dim floats; any bits, the reader looks at their values.
  void copy_origin(float* to) const noexcept;
  // Where ids are strings. What stands here is at or past each record's first; what else the
  // version before must say, the caller looks at.
  [[nodiscard]] std::uint64_t strings_end() const noexcept { return strings_end_; }
  [[nodiscard]] const RecordList<StringsPlace>& string_records() const noexcept {
    return string_records_;
  }
  [[nodiscard]] const StringsView& strings() const noexcept { return strings_; }

 private:
  friend class InlineRowsCursor;
  CommitView() = default;

  Status parse_lists(std::span<const std::byte> body, std::uint64_t position) noexcept;
  // The part at the beginning of `left`, which is behind it then.
  Status parse_strings(std::span<const std::byte>& left, std::uint64_t position) noexcept;
  Status check_segments(std::uint64_t position) const noexcept;
  Status check_deaths() const noexcept;

  CommitShape shape_;
  CommitHead head_;
  bool directory_ = false;
  RecordList<OpenedSegment> opened_;
  RecordList<GrownSegment> grown_;
  RecordList<std::uint32_t> dropped_;
  RecordList<std::uint32_t> dead_;
  RecordList<LivePageEntry> live_pages_;
  const std::byte* origin_ = nullptr;
  std::uint64_t strings_end_ = 0;
  RecordList<StringsPlace> string_records_;
  StringsView strings_;
  std::span<const std::byte> rows_;
};

// The new rows of a grown segment's unfinished block.
class InlineRows {
 public:
  InlineRows() noexcept = default;
  InlineRows(const std::byte* start, std::uint32_t first, std::uint32_t count,
             std::size_t packed_row_bytes) noexcept
      : start_(start), packed_row_bytes_(packed_row_bytes), first_(first), count_(count) {}

  [[nodiscard]] std::uint32_t first() const noexcept { return first_; }  // row in the segment
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t id(std::uint32_t index) const noexcept {
    VICINAL_DEBUG_ASSERT(index < count_);
    std::uint64_t id;
    std::memcpy(&id, start_ + index * sizeof id, sizeof id);
    return id;
  }
  // Scale, plane scale, squared plane cosine.
  [[nodiscard]] std::array<float, 3> factors(std::uint32_t index) const noexcept {
    VICINAL_DEBUG_ASSERT(index < count_);
    std::array<float, 3> factors;
    static_assert(sizeof factors == kFactorBytes);
    std::memcpy(&factors, start_ + count_ * sizeof(std::uint64_t) + index * kFactorBytes,
                sizeof factors);
    return factors;
  }
  [[nodiscard]] const std::uint8_t* packed_row(std::uint32_t index) const noexcept {
    VICINAL_DEBUG_ASSERT(index < count_);
    return reinterpret_cast<const std::uint8_t*>(start_) +
           count_ * (sizeof(std::uint64_t) + kFactorBytes) + index * packed_row_bytes_;
  }
  // Of them all, padding included.
  [[nodiscard]] static constexpr std::size_t bytes_of(std::uint32_t count,
                                                      std::size_t packed_row_bytes) noexcept {
    return (count * (sizeof(std::uint64_t) + kFactorBytes + packed_row_bytes) + 7) / 8 * 8;
  }

 private:
  const std::byte* start_ = nullptr;
  std::size_t packed_row_bytes_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

// Walks a body's inline rows, grown segment by grown segment.
class InlineRowsCursor {
 public:
  explicit InlineRowsCursor(const CommitView& view) noexcept : view_(&view), left_(view.rows_) {}

  // The rows of the next grown segment, none where its rows end with a block. `rows_before`: that
  // segment's rows before the commit, 0 when the commit opened it. CORRUPT: it did not grow, or its
  // rows are not all there.
  [[nodiscard]] Result<InlineRows> next(std::uint32_t rows_before) noexcept;
  // After the last grown segment: nothing else may follow.
  [[nodiscard]] bool at_end() const noexcept {
    return next_ == view_->grown().size() && left_.empty();
  }

 private:
  const CommitView* view_;
  std::span<const std::byte> left_;
  std::uint32_t next_ = 0;
};

// May the commit follow a version? A pass over all of its rows that changes nothing, so that what
// is applied afterwards cannot fail halfway. `rows_before(number)`: a segment's rows in the version
// before (0 when the commit opened it), kNoSegment where there is no such segment. CORRUPT.
inline constexpr std::uint32_t kNoSegment = ~std::uint32_t{0};
template <class RowsBefore>
[[nodiscard]] Status check_rows(const CommitView& view, RowsBefore rows_before) noexcept {
  InlineRowsCursor cursor(view);
  for (std::uint32_t i = 0; i < view.grown().size(); ++i) {
    const auto rows = cursor.next(rows_before(view.grown()[i].number));
    if (!rows.ok()) return rows.status();
  }
  return cursor.at_end() ? Status() : Status(Code::corrupt);
}

}  // namespace vicinal::storage
