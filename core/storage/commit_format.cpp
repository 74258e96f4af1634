#include "storage/commit_format.hpp"

#include "base/bits.hpp"
#include "base/checksum.hpp"

namespace vicinal::storage {
namespace {

constexpr std::uint32_t kHasOrigin = 1;
constexpr std::uint32_t kIsDirectory = 2;
constexpr std::uint32_t kHasStrings = 4;
constexpr std::uint32_t kSlotRowBits = 15;
static_assert(std::uint32_t{1} << kSlotRowBits == kFileSegmentRowsMax);
static_assert(kFileSegmentsMax == std::uint32_t{1} << (32 - kSlotRowBits));
constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

struct CommitHeadBytes {
  std::uint64_t live_rows;
  std::uint64_t dead_rows;
  std::uint64_t rows_dropped;
  std::uint32_t segment_end;
  std::uint32_t flags;
  std::uint32_t opened;
  std::uint32_t grown;
  std::uint32_t dropped;
  std::uint32_t dead;
  std::uint32_t live_pages;
  std::uint32_t reserved;
  std::uint64_t ids_record;
};
static_assert(sizeof(CommitHeadBytes) == 64 && offsetof(CommitHeadBytes, ids_record) == 56);

// Before the records' places and the list.
struct StringsHead {
  std::uint64_t end;
  std::uint32_t records;
  std::uint32_t list_bytes;
};
static_assert(sizeof(StringsHead) == 16);

// A body from its front to its back.
struct Cursor {
  std::span<const std::byte> left;

  // The next `count` elements and the zeros behind them, or null where there are fewer.
  const std::byte* take(std::uint64_t count, std::size_t bytes_each) noexcept {
    if (count > left.size() / bytes_each) return nullptr;
    const auto bytes = static_cast<std::size_t>(count) * bytes_each;
    const std::size_t padding = (kListAlignment - bytes % kListAlignment) % kListAlignment;
    if (padding > left.size() - bytes) return nullptr;
    if (!is_zero(left.subspan(bytes, padding))) return nullptr;
    const std::byte* start = left.data();
    left = left.subspan(bytes + padding);
    return start;
  }
  template <class T>
  bool take(RecordList<T>& list, std::uint32_t count) noexcept {
    const std::byte* start = take(count, sizeof(T));
    if (start == nullptr && count != 0) return false;
    list = RecordList<T>(start, count);
    return true;
  }
};

constexpr std::uint64_t page_key(std::uint32_t number, std::uint32_t page) noexcept {
  return std::uint64_t{number} * kFileLivePages + page;
}
constexpr std::uint64_t page_key_of_slot(std::uint32_t slot) noexcept {
  return slot / kFileLivePageRows;
}

// `key(element)` is higher for each element than for the one before.
template <class T, class Key>
bool ascends(const RecordList<T>& list, Key key) noexcept {
  for (std::uint32_t i = 1; i < list.size(); ++i) {
    if (key(list[i - 1]) >= key(list[i])) return false;
  }
  return true;
}

constexpr auto kNumber = [](const auto& entry) { return entry.number; };
constexpr auto kItself = [](std::uint32_t value) { return value; };

}  // namespace

void CommitWriter::clear() noexcept {
  for (GrowingBuffer& list : lists_) list.clear();
  next_key_ = {};
  counts_ = {};
  record_.clear();
}

void CommitWriter::release() noexcept {
  clear();
  for (GrowingBuffer& list : lists_) list.release();
  record_.release();
}

std::size_t CommitWriter::memory_bytes() const noexcept {
  std::size_t bytes = record_.capacity();
  for (const GrowingBuffer& list : lists_) bytes += list.capacity();
  return bytes;
}

void CommitWriter::check_order(List list, std::uint64_t key) noexcept {
  VICINAL_ASSERT(key >= next_key_[list]);  // I1
  next_key_[list] = key + 1;
}

template <class T>
Status CommitWriter::add(List list, std::uint64_t key, const T& value) noexcept {
  check_order(list, key);
  const Status added = lists_[list].append_value(value);
  if (added.ok()) ++counts_[list];
  return added;
}

Status CommitWriter::add_opened(const OpenedSegment& segment) noexcept {
  return add(opened, segment.number, segment);
}

Status CommitWriter::add_grown(const GrownSegment& segment) noexcept {
  return add(grown, segment.number, segment);
}

Status CommitWriter::add_dropped(std::uint32_t number) noexcept {
  return add(dropped, number, number);
}

Status CommitWriter::add_dead(std::uint32_t slot) noexcept { return add(dead, slot, slot); }

Status CommitWriter::add_live_page(
    std::uint32_t number, std::uint32_t page,
    std::span<const std::uint32_t, kFileLivePageWords> words) noexcept {
  VICINAL_ASSERT(page < kFileLivePages);
  LivePageEntry entry;
  entry.number = number;
  entry.page = page;
  std::memcpy(entry.words, words.data(), sizeof entry.words);
  return add(live_pages, page_key(number, page), entry);
}

Status CommitWriter::set_origin(std::uint64_t number, const float* floats) noexcept {
  VICINAL_ASSERT(lists_[origin].empty() && number != 0);
  const Status room = lists_[origin].reserve(sizeof number + shape_.dim * sizeof(float) +
                                             kListAlignment);
  if (!room.ok()) return room;
  (void)lists_[origin].append_value(number);
  (void)lists_[origin].append(floats, shape_.dim * sizeof(float));
  return {};
}

Status CommitWriter::set_strings(std::uint64_t end, std::span<const StringsPlace> records,
                                 const StringsWriter& list) noexcept {
  VICINAL_ASSERT(lists_[strings].empty() && (list.empty() || list.last() < end));
  const std::size_t list_bytes = list.empty() ? 0 : list.bytes();
  GrowingBuffer& to = lists_[strings];
  const Status room = to.reserve(sizeof(StringsHead) + records.size_bytes() + list_bytes);
  if (!room.ok()) return room;
  (void)to.append_value(StringsHead{end, static_cast<std::uint32_t>(records.size()),
                                    static_cast<std::uint32_t>(list_bytes)});
  if (!records.empty()) (void)to.append(records.data(), records.size_bytes());
  return list.empty() ? Status() : list.append_to(to);
}

Result<InlineRowsRoom> CommitWriter::add_rows(std::uint32_t count) noexcept {
  VICINAL_ASSERT(count > 0 && count < kFileBlockRows);
  VICINAL_ASSERT(counts_[grown] > counts_[rows]);
  GrowingBuffer& list = lists_[rows];
  const std::size_t start = list.size();
  const Status added = list.append_zeros(InlineRows::bytes_of(count, shape_.packed_row_bytes));
  if (!added.ok()) return added;
  ++counts_[rows];
  std::byte* room = list.data() + start;
  std::byte* factors = room + count * sizeof(std::uint64_t);
  return InlineRowsRoom{reinterpret_cast<std::uint64_t*>(room), reinterpret_cast<float*>(factors),
                        reinterpret_cast<std::uint8_t*>(factors + count * kFactorBytes)};
}

std::uint64_t CommitWriter::bytes() const noexcept {
  std::uint64_t body = sizeof(CommitHeadBytes);
  for (const GrowingBuffer& list : lists_) {
    body += round_up(std::uint64_t{list.size()}, kListAlignment);
  }
  return record_bytes(body);
}

Result<SealedRecord> CommitWriter::seal(const Uuid& uuid, RecordKind kind, std::uint64_t position,
                                        std::uint64_t sequence, std::uint64_t previous,
                                        const CommitHead& head) noexcept {
  VICINAL_ASSERT(kind == RecordKind::commit || kind == RecordKind::directory);
  const bool whole = kind == RecordKind::directory;
  VICINAL_ASSERT(!whole || (counts_[dropped] == 0 && counts_[dead] == 0));  // I4
  CommitHeadBytes bytes{};
  bytes.live_rows = head.live_rows;
  bytes.dead_rows = head.dead_rows;
  bytes.rows_dropped = head.rows_dropped;
  bytes.segment_end = head.segment_end;
  bytes.flags = (lists_[origin].empty() ? 0 : kHasOrigin) | (whole ? kIsDirectory : 0) |
                (lists_[strings].empty() ? 0 : kHasStrings);
  bytes.opened = counts_[opened];
  bytes.grown = counts_[grown];
  bytes.dropped = counts_[dropped];
  bytes.dead = counts_[dead];
  bytes.live_pages = counts_[live_pages];
  bytes.ids_record = head.ids_record;

  record_.clear();
  const std::uint64_t total = this->bytes();
  if (total > ~std::size_t{0} / 2) return Status(Code::full, total);
  const Status room = record_.reserve(static_cast<std::size_t>(total));
  if (!room.ok()) return room;
  // Nothing of this can fail: the room is there.
  (void)record_.append_zeros(kRecordHeaderBytes);
  (void)record_.append_value(bytes);
  for (const GrowingBuffer& list : lists_) {
    (void)record_.append(list.data(), list.size());
    (void)record_.pad_to(kListAlignment);
  }
  RecordHeader header;
  header.kind = kind;
  header.position = position;
  header.body_bytes = record_.size() - kRecordHeaderBytes;
  header.bytes = total;
  header.sequence = sequence;
  header.body_sum = checksum64(record_.data() + kRecordHeaderBytes,
                               record_.size() - kRecordHeaderBytes);
  header.previous = previous;
  CommitShape shape = shape_;
  shape.strings = !lists_[strings].empty();
  VICINAL_DEBUG_ASSERT(
      CommitView::parse(header, record_.bytes().subspan(kRecordHeaderBytes), shape).ok());
  (void)record_.pad_to(kRecordAlignment);
  VICINAL_ASSERT(record_.size() == total);
  const std::uint64_t sum = write_record_header(
      std::span<std::byte, kRecordHeaderBytes>(record_.data(), kRecordHeaderBytes), uuid, header);
  return SealedRecord{record_.bytes(), sum};
}

Result<CommitView> CommitView::parse(const RecordHeader& header, std::span<const std::byte> body,
                                     const CommitShape& shape) noexcept {
  if (header.kind != RecordKind::commit && header.kind != RecordKind::directory) {
    return Status(Code::corrupt);
  }
  CommitView view;
  view.shape_ = shape;
  view.directory_ = header.kind == RecordKind::directory;
  Status status = view.parse_lists(body, header.position);
  if (status.ok()) status = view.check_segments(header.position);
  if (status.ok()) status = view.check_deaths();
  if (!status.ok()) return status;
  return view;
}

Status CommitView::parse_lists(std::span<const std::byte> body, std::uint64_t position) noexcept {
  CommitHeadBytes bytes;
  if (body.size() < sizeof bytes || body.size() % kListAlignment != 0) {
    return Status(Code::corrupt);
  }
  std::memcpy(&bytes, body.data(), sizeof bytes);
  if (bytes.reserved != 0 || bytes.segment_end > kFileSegmentsMax) return Status(Code::corrupt);
  const std::uint32_t flags =
      kHasOrigin | (directory_ ? kIsDirectory : 0) | (shape_.strings ? kHasStrings : 0);
  if ((bytes.flags | kHasOrigin) != flags) return Status(Code::corrupt);
  const std::uint64_t rows_max = std::uint64_t{bytes.segment_end} * kFileSegmentRowsMax;
  if (bytes.live_rows > rows_max || bytes.dead_rows > rows_max - bytes.live_rows) {
    return Status(Code::corrupt);
  }
  if (bytes.ids_record != 0 &&
      (!is_log_position(bytes.ids_record) || bytes.ids_record >= position)) {
    return Status(Code::corrupt);
  }
  head_ = {bytes.live_rows, bytes.dead_rows, bytes.rows_dropped, bytes.segment_end,
           bytes.ids_record};
  Cursor cursor{body.subspan(sizeof bytes)};
  if (!cursor.take(opened_, bytes.opened) || !cursor.take(grown_, bytes.grown) ||
      !cursor.take(dropped_, bytes.dropped) || !cursor.take(dead_, bytes.dead) ||
      !cursor.take(live_pages_, bytes.live_pages)) {
    return Status(Code::corrupt);
  }
  if ((bytes.flags & kHasOrigin) != 0) {
    origin_ = cursor.take(1, sizeof(std::uint64_t) + shape_.dim * sizeof(float));
    if (origin_ == nullptr || origin_number() == 0) return Status(Code::corrupt);
  }
  const Status named = shape_.strings ? parse_strings(cursor.left, position) : Status();
  rows_ = cursor.left;
  return named;
}

Status CommitView::parse_strings(std::span<const std::byte>& left,
                                 std::uint64_t position) noexcept {
  StringsHead head;
  if (left.size() < sizeof head) return Status(Code::corrupt);
  std::memcpy(&head, left.data(), sizeof head);
  Cursor cursor{left.subspan(sizeof head)};
  if (head.end == 0 || head.end > kFileOrdinalsMax || !cursor.take(string_records_, head.records) ||
      head.list_bytes > cursor.left.size()) {
    return Status(Code::corrupt);
  }
  strings_end_ = head.end;
  if (head.list_bytes != 0) {
    const auto list = StringsView::parse(cursor.left.first(head.list_bytes));
    if (!list.ok() || list->last() >= head.end) return Status(Code::corrupt);
    strings_ = *list;
  }
  left = cursor.left.subspan(head.list_bytes);
  std::uint64_t before = 0;  // ordinal
  for (std::uint32_t i = 0; i < string_records_.size(); ++i) {
    const StringsPlace place = string_records_[i];
    if (place.first <= before || place.first >= head.end || !is_log_position(place.record) ||
        place.record >= position) {
      return Status(Code::corrupt);
    }
    before = place.first;
  }
  return strings_.empty() || strings_.first() > before ? Status() : Status(Code::corrupt);
}

Status CommitView::check_segments(std::uint64_t position) const noexcept {
  if (!ascends(opened_, kNumber) || !ascends(grown_, kNumber) || !ascends(dropped_, kItself)) {
    return Status(Code::corrupt);
  }
  for (std::uint32_t i = 0; i < opened_.size(); ++i) {
    const OpenedSegment segment = opened_[i];
    if (segment.number >= head_.segment_end || !is_extent_capacity(segment.capacity) ||
        !is_log_position(segment.extent) || segment.extent >= position) {
      return Status(Code::corrupt);
    }
  }
  std::uint32_t at = 0;  // in opened_: both ascend
  for (std::uint32_t i = 0; i < grown_.size(); ++i) {
    const GrownSegment segment = grown_[i];
    if (segment.number >= head_.segment_end || segment.rows == 0 ||
        segment.rows > kFileSegmentRowsMax) {
      return Status(Code::corrupt);
    }
    while (at < opened_.size() && opened_[at].number < segment.number) ++at;
    const bool fresh = at < opened_.size() && opened_[at].number == segment.number;
    if (fresh ? segment.rows > opened_[at].capacity : directory_) return Status(Code::corrupt);
  }
  if (!dropped_.empty() && dropped_[dropped_.size() - 1] >= kFileSegmentsMax) {
    return Status(Code::corrupt);
  }
  return directory_ && (!dropped_.empty() || !dead_.empty()) ? Status(Code::corrupt) : Status();
}

Status CommitView::check_deaths() const noexcept {
  const auto key = [](const LivePageEntry& entry) { return page_key(entry.number, entry.page); };
  if (!ascends(dead_, kItself) || !ascends(live_pages_, key)) return Status(Code::corrupt);
  std::uint32_t at = 0;  // in dead_: the pages of both ascend
  for (std::uint32_t i = 0; i < live_pages_.size(); ++i) {
    const LivePageEntry entry = live_pages_[i];
    if (entry.number >= head_.segment_end || entry.page >= kFileLivePages) {
      return Status(Code::corrupt);
    }
    while (at < dead_.size() && page_key_of_slot(dead_[at]) < key(entry)) ++at;
    if (at < dead_.size() && page_key_of_slot(dead_[at]) == key(entry)) {
      return Status(Code::corrupt);  // I4
    }
  }
  if (!dead_.empty()) {
    const std::uint32_t last = dead_[dead_.size() - 1];
    if (last == kNoSlot || last >> kSlotRowBits >= head_.segment_end) return Status(Code::corrupt);
  }
  return {};
}

std::uint64_t CommitView::origin_number() const noexcept {
  VICINAL_ASSERT(origin_ != nullptr);
  std::uint64_t number = 0;
  std::memcpy(&number, origin_, sizeof number);
  return number;
}

void CommitView::copy_origin(float* to) const noexcept {
  VICINAL_ASSERT(origin_ != nullptr);
  std::memcpy(to, origin_ + sizeof(std::uint64_t), shape_.dim * sizeof(float));
}

Result<InlineRows> InlineRowsCursor::next(std::uint32_t rows_before) noexcept {
  VICINAL_ASSERT(next_ < view_->grown().size());
  const std::uint32_t rows = view_->grown()[next_++].rows;
  if (rows_before >= rows) return Status(Code::corrupt);  // kNoSegment, too
  const std::uint32_t block = rows / kFileBlockRows * kFileBlockRows;
  const std::uint32_t first = rows_before > block ? rows_before : block;
  const std::uint32_t count = rows - first;
  const std::size_t row_bytes = view_->shape_.packed_row_bytes;
  const std::size_t bytes = InlineRows::bytes_of(count, row_bytes);
  const std::size_t used = count * (sizeof(std::uint64_t) + kFactorBytes + row_bytes);
  if (bytes > left_.size() || !is_zero(left_.subspan(used, bytes - used))) {
    return Status(Code::corrupt);
  }
  const InlineRows found(left_.data(), first, count, row_bytes);
  left_ = left_.subspan(bytes);
  return found;
}

}  // namespace vicinal::storage
