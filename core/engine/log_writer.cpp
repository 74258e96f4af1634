#include "engine/log_writer.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "segment/block_sums.hpp"
#include "segment/slab.hpp"

namespace vicinal::engine {

using segment::Segment;
using segment::SegmentView;
using segment::Version;
using simd::kBlockRows;

static_assert(storage::kFileBlockRows == kBlockRows);
static_assert(storage::kFileSegmentRowsMax == segment::kSegmentRowsMax);
static_assert(storage::kFileSegmentsMax == segment::kSegmentsMax);
static_assert(storage::kFileLivePageWords == segment::kLivePageBlocks);
static_assert(storage::kFileLivePages == segment::kLivePages);

namespace {

constexpr std::uint32_t kPageFrom = segment::VersionDiff::kPageSlots;

// Rows that the versions up to this one have shown, moved ones again: never falls.
[[nodiscard]] std::uint64_t rows_ever(const Version& version) noexcept {
  return version.live_rows + version.dead_rows + version.rows_dropped;
}

}  // namespace

// Where a segment lies in the file.
struct LogWriter::FileSegment {
  const Segment* segment = nullptr;
  std::uint64_t birth = 0;  // the segment's: another one may come to the same place in memory
  storage::Extent extent;
  segment::SlabLayout slab;
  const storage::BlockSums* sums = nullptr;  // of the blocks that are whole
  AlignedBuffer own_sums;                    // or empty: they are somebody else's
  std::uint32_t blocks_written = 0;
  // The sum of the first so many blocks' sums, for directories.
  std::uint32_t summed_blocks = 0;
  std::uint64_t sum_of_sums = 0;
};

LogWriter::LogWriter(platform::File& file, const quant::CodeLayout& layout,
                     const Place& place) noexcept
    : file_(&file), layout_(layout), place_(place),
      record_({layout.dim, layout.packed_row_bytes}) {}

LogWriter::~LogWriter() {
  const auto count = static_cast<std::uint32_t>(segments_.size() / sizeof(FileSegment*));
  for (std::uint32_t number = 0; number < count; ++number) delete file_segment(number);
}

LogWriter::FileSegment* LogWriter::file_segment(std::uint32_t number) const noexcept {
  if (number >= segments_.size() / sizeof(FileSegment*)) return nullptr;
  FileSegment* found = nullptr;
  std::memcpy(&found, segments_.data() + number * sizeof found, sizeof found);
  return found;
}

Status LogWriter::put(std::uint32_t number, std::unique_ptr<FileSegment> fresh) noexcept {
  const std::size_t end = (number + std::size_t{1}) * sizeof(FileSegment*);
  if (segments_.size() < end) {
    const Status room = segments_.append_zeros(end - segments_.size());
    if (!room.ok()) return room;
  }
  FileSegment* before = file_segment(number);
  if (before != nullptr) extent_bytes_ -= before->extent.bytes();
  delete before;
  FileSegment* entry = fresh.release();
  if (entry != nullptr) extent_bytes_ += entry->extent.bytes();
  std::memcpy(segments_.data() + number * sizeof entry, &entry, sizeof entry);
  return {};
}

Status LogWriter::adopt(const SegmentView& view, const storage::Extent& extent,
                        const storage::BlockSums* sums) noexcept {
  std::unique_ptr<FileSegment> entry(new (std::nothrow) FileSegment);
  if (entry == nullptr) return Status(Code::full, sizeof(FileSegment));
  entry->segment = view.segment;
  entry->birth = view.segment->birth;
  entry->extent = extent;
  entry->slab = segment::SlabLayout(layout_, extent.capacity);
  entry->sums = sums;
  if (sums == nullptr) {
    if (!own_sums(*entry)) return Status(Code::full, extent.sums_bytes());
    const std::size_t bytes = view.rows / kBlockRows * sizeof(storage::BlockSums);
    if (bytes != 0) {
      const Status read = file_->read_at(extent.sums, {entry->own_sums.data(), bytes});
      if (!read.ok()) return read;
    }
  }
  entry->blocks_written = view.rows / kBlockRows;
  return put(view.segment->number(), std::move(entry));
}

std::uint64_t LogWriter::memory_bytes() const noexcept {
  std::uint64_t bytes = segments_.capacity() + record_.memory_bytes() + list_.memory_bytes() +
                        strings_record_.capacity() + string_records_.capacity();
  const auto count = static_cast<std::uint32_t>(segments_.size() / sizeof(FileSegment*));
  for (std::uint32_t number = 0; number < count; ++number) {
    const FileSegment* entry = file_segment(number);
    if (entry != nullptr) bytes += sizeof *entry + entry->own_sums.size();
  }
  return bytes;
}

Status LogWriter::write(std::uint64_t position, const void* bytes, std::size_t count) noexcept {
  if (count == 0) return {};
  bytes_written_ += count;
  return file_->write_at(position, {static_cast<const std::byte*>(bytes), count});
}

Result<LogWriter::FileSegment*> LogWriter::extent_for(const SegmentView& view,
                                                      std::uint64_t sequence,
                                                      Extents extents) noexcept {
  const std::uint32_t number = view.segment->number();
  FileSegment* at = file_segment(number);
  if (at != nullptr && at->segment == view.segment && at->birth == view.segment->birth) {
    VICINAL_ASSERT(view.rows <= at->extent.capacity);  // I4
    return at;
  }
  std::unique_ptr<FileSegment> fresh(new (std::nothrow) FileSegment);
  if (fresh == nullptr) return Status(Code::full, sizeof(FileSegment));
  const bool cut = extents == Extents::cut_to_rows || view.segment->sealed_rows() == view.rows;
  const std::uint32_t capacity =
      cut ? std::max(kBlockRows, round_up(view.rows, kBlockRows)) : view.segment->capacity();
  fresh->segment = view.segment;
  fresh->birth = view.segment->birth;
  fresh->slab = segment::SlabLayout(layout_, capacity);
  fresh->extent = storage::extent_at(place_.end, number, capacity, fresh->slab.bytes);
  if (!own_sums(*fresh)) return Status(Code::full, fresh->extent.sums_bytes());
  std::byte head[storage::kExtentHeadBytes];
  const std::uint64_t sum =
      storage::write_extent(head, place_.uuid, fresh->extent, sequence, place_.previous);
  FileSegment* entry = fresh.get();
  const Status kept = put(number, std::move(fresh));
  if (!kept.ok()) return kept;
  const Status written = write(entry->extent.position, head, sizeof head);
  if (!written.ok()) {
    (void)put(number, nullptr);  // I3: the next call makes it anew
    return written;
  }
  place_.end = entry->extent.end();
  place_.previous = sum;
  return entry;
}

bool LogWriter::own_sums(FileSegment& at) noexcept {
  if (at.own_sums.size() != 0) return true;
  const std::size_t bytes = at.extent.blocks() * sizeof(storage::BlockSums);
  auto made = AlignedBuffer::create(bytes);
  if (!made.ok()) return false;
  if (at.sums != nullptr) std::memcpy(made->data(), at.sums, bytes);
  at.own_sums = std::move(made).value();
  at.sums = at.own_sums.as<storage::BlockSums>();
  return true;
}

Status LogWriter::sum_blocks(FileSegment& at, const SegmentView& view,
                             std::uint32_t to) noexcept {
  if (!own_sums(at)) return Status(Code::full, at.extent.sums_bytes());
  auto* sums = at.own_sums.as<storage::BlockSums>();
  const std::uint64_t uuid_head = storage::head_of(place_.uuid);
  const std::uint64_t slab = at.extent.slab;
  for (std::uint32_t block = at.blocks_written; block < to; ++block) {
    if (!view.block_is_sound(block)) {  // I5
      return Status(Code::corrupt, view.segment->checks()->damage().where());
    }
    const segment::BlockBytes bytes = view.segment->block(block);
    sums[block] = {
        segment::plane_sum(bytes, uuid_head, slab + segment::SlabLayout::plane_of(layout_, block)),
        segment::row_sum(bytes, uuid_head, slab + at.slab.rows_of(layout_, block))};
  }
  return {};
}

Status LogWriter::write_blocks(FileSegment& at, const SegmentView& view,
                               std::uint32_t to) noexcept {
  const std::uint32_t from = at.blocks_written;
  if (from >= to) return {};
  const Status summed = sum_blocks(at, view, to);
  if (!summed.ok()) return summed;
  const auto* sums = at.own_sums.as<storage::BlockSums>();
  const std::uint64_t slab = at.extent.slab;
  const segment::BlockBytes first = view.segment->block(from);
  const std::size_t count = to - from;
  const std::size_t row = std::size_t{from} * kBlockRows;
  const std::size_t rows = count * kBlockRows;
  const struct {
    std::uint64_t position;
    const void* bytes;
    std::size_t count;
  } arrays[] = {
      {slab + segment::SlabLayout::plane_of(layout_, from), first.plane,
       count * layout_.plane_block_bytes},
      {slab + at.slab.rests + row * layout_.rest_bytes, first.rests, rows * layout_.rest_bytes},
      {slab + at.slab.scales + row * sizeof(float), first.scales, rows * sizeof(float)},
      {slab + at.slab.plane_scales + row * sizeof(float), first.plane_scales,
       rows * sizeof(float)},
      {slab + at.slab.plane_cosines2 + row * sizeof(float), first.plane_cosines2,
       rows * sizeof(float)},
      {slab + at.slab.ids + row * sizeof(std::uint64_t), first.ids, rows * sizeof(std::uint64_t)},
      {at.extent.sums_position(from), sums + from, count * sizeof *sums},
  };
  for (const auto& array : arrays) {
    const Status written = write(array.position, array.bytes, array.count);
    if (!written.ok()) return written;
  }
  at.blocks_written = to;
  return {};
}

Status LogWriter::add_grown(FileSegment& at, const SegmentView& view,
                            std::uint32_t rows_before) noexcept {
  const std::uint32_t from = rows_before / kBlockRows;
  const std::uint32_t to = view.rows / kBlockRows;
  storage::GrownSegment grown{view.segment->number(), view.rows, 0};
  if (from < to) {
    if (from != 0) {
      grown.sums = checksum64(at.sums + from, (to - from) * sizeof(storage::BlockSums));
    } else {
      if (at.summed_blocks != to) {
        at.sum_of_sums = checksum64(at.sums, to * sizeof(storage::BlockSums));
        at.summed_blocks = to;
      }
      grown.sums = at.sum_of_sums;
    }
  }
  const Status added = record_.add_grown(grown);
  if (!added.ok()) return added;
  const std::uint32_t first = std::max(rows_before, to * kBlockRows);
  const std::uint32_t count = view.rows - first;
  if (count == 0) return {};
  const auto room = record_.add_rows(count);
  if (!room.ok()) return room.status();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t row = first + i;
    room->ids[i] = view.segment->ids()[row];
    const quant::RowFactors factors = view.segment->factors(row);
    std::memcpy(room->factors + std::size_t{3} * i, &factors, sizeof factors);
    view.copy_packed_row(layout_, row, room->packed_rows + i * layout_.packed_row_bytes);
  }
  return {};
}

Status LogWriter::add_lists() noexcept {
  Status added;
  for (const std::uint32_t number : diff_.dropped()) {
    if (added.ok()) added = record_.add_dropped(number);
  }
  for (const segment::Slot slot : diff_.dead()) {
    if (added.ok()) added = record_.add_dead(slot.value);
  }
  for (const segment::VersionDiff::Page& page : diff_.pages()) {
    if (added.ok()) added = record_.add_live_page(page.number, page.page, page.words->words);
  }
  return added;
}

Status LogWriter::write_difference(const Version* base, const Version& version,
                                   Extents extents) noexcept {
  const Status compared = diff_.compare(base, version, base == nullptr ? 0 : kPageFrom);
  if (!compared.ok()) return compared;
  record_.clear();
  for (const SegmentView* view : diff_.opened()) {
    const auto at = extent_for(*view, version.sequence, extents);
    if (!at.ok()) return at.status();
    const storage::Extent& extent = (*at)->extent;
    const Status added =
        record_.add_opened({extent.segment, extent.capacity, extent.position});
    if (!added.ok()) return added;
  }
  for (const segment::VersionDiff::Grown& grown : diff_.grown()) {
    FileSegment* at = file_segment(grown.view->segment->number());
    VICINAL_ASSERT(at != nullptr && at->segment == grown.view->segment);
    VICINAL_ASSERT(grown.view->rows <= at->extent.capacity);  // I4
    Status done = write_blocks(*at, *grown.view, grown.view->rows / kBlockRows);
    if (done.ok()) done = add_grown(*at, *grown.view, grown.rows_before);
    if (!done.ok()) return done;
  }
  Status added = add_lists();
  if (added.ok() && diff_.calibrated()) {
    added = record_.set_origin(version.calibration->number, version.calibration->origin());
  }
  return added.ok() ? add_strings(base, version) : added;
}

Status LogWriter::append(storage::RecordKind kind, const Version& version) noexcept {
  storage::CommitHead head;
  head.live_rows = version.live_rows;
  head.dead_rows = version.dead_rows;
  head.rows_dropped = version.rows_dropped;
  head.segment_end = version.segment_end;
  head.ids_record = ids_record_;
  const auto sealed = record_.seal(place_.uuid, kind, place_.end, version.sequence,
                                   place_.previous, head);
  if (!sealed.ok()) return sealed.status();
  const Status written = write(place_.end, sealed->bytes.data(), sealed->bytes.size());
  if (!written.ok()) return written;
  record_position_ = place_.end;
  place_.end += sealed->bytes.size();
  place_.previous = sealed->sum;
  live_rows_ = version.live_rows;
  strings_were_written(kind == storage::RecordKind::commit, version);
  return {};
}

Status LogWriter::append_commit(const Version& base, const Version& version) noexcept {
  Status appended = write_difference(&base, version, Extents::for_more_rows);
  if (appended.ok()) appended = append(storage::RecordKind::commit, version);
  if (!appended.ok()) return appended;
  for (const std::uint32_t number : diff_.dropped()) {
    // Of one that was opened again, the new one has this place by now.
    if (version.view(number) == nullptr) (void)put(number, nullptr);  // there is room for it
  }
  return {};
}

Status LogWriter::append_directory(const Version& version, Extents extents) noexcept {
  const Status written = write_difference(nullptr, version, extents);
  return written.ok() ? append(storage::RecordKind::directory, version) : written;
}

Result<bool> LogWriter::write_ahead(const SegmentView& view, std::uint64_t sequence,
                                    Extents extents, std::uint64_t bytes) noexcept {
  const auto at = extent_for(view, sequence, extents);
  if (!at.ok()) return at.status();
  const std::uint64_t block_bytes = at.value()->slab.bytes / at.value()->extent.blocks();
  const std::uint64_t count = std::max<std::uint64_t>(1, bytes / block_bytes);
  const std::uint32_t whole = view.rows / kBlockRows;
  const std::uint32_t from = at.value()->blocks_written;
  const auto to = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(whole, from + count));
  const Status written = write_blocks(**at, view, to);
  if (!written.ok()) return written;
  return to >= whole;
}

Status LogWriter::write_ids_table(const segment::SubTable& table, AlignedBuffer& copy,
                                  storage::IdsTable& entry) noexcept {
  const std::size_t bytes = std::size_t{entry.capacity} * sizeof(std::uint32_t);
  const std::size_t all = round_up(bytes, storage::kRecordAlignment);
  std::memset(copy.data() + bytes, 0, all - bytes);
  // The writer may be adding hints to newer rows: they do no harm, but are to be summed as written.
  auto* entries = copy.as<std::uint32_t>();
  for (std::uint32_t i = 0; i < entry.capacity; ++i) {
    entries[i] = table.entries()[i].load(sync::relaxed);  // id_table.hpp I2
    if (entries[i] != 0) ++entry.used;
  }
  entry.sum = checksum64(entries, bytes);
  return write(place_.end + entry.offset, copy.data(), all);
}

Status LogWriter::append_ids(const Version& version) noexcept {
  GrowingBuffer coverage;
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    if (view == nullptr || view->rows == 0) continue;
    const FileSegment* at = file_segment(number);
    VICINAL_ASSERT(at != nullptr && at->segment == view->segment);
    const Status added = coverage.append_value(
        storage::IdsCoverage{number, view->rows, at->extent.position});
    if (!added.ok()) return added;
  }
  const auto count = static_cast<std::uint32_t>(coverage.size() / sizeof(storage::IdsCoverage));
  storage::IdsTable tables[storage::kIdsTables];
  std::size_t largest = 0;
  for (std::uint32_t i = 0; i < storage::kIdsTables; ++i) {
    const segment::SubTable* table = version.ids->tables[i];
    if (table != nullptr) tables[i].capacity = table->entry_capacity;
    largest = std::max<std::size_t>(largest, tables[i].capacity);
  }
  const std::uint64_t bytes = storage::place_ids_tables(tables, count);
  // All memory first: what is written has a record, then.
  GrowingBuffer head;
  const Status room = head.reserve(storage::ids_head_bytes(count));
  if (!room.ok()) return room;
  auto copy = AlignedBuffer::create(
      round_up(largest * sizeof(std::uint32_t), storage::kRecordAlignment));
  if (!copy.ok()) return copy.status();
  for (std::uint32_t i = 0; i < storage::kIdsTables; ++i) {
    if (tables[i].capacity == 0) continue;
    const Status written = write_ids_table(*version.ids->tables[i], *copy, tables[i]);
    if (!written.ok()) return written;
  }
  const auto sealed = storage::write_ids_head(
      head, place_.uuid, place_.end, version.sequence, place_.previous, tables,
      {reinterpret_cast<const storage::IdsCoverage*>(coverage.data()), count});
  if (!sealed.ok()) return sealed.status();
  const Status written = write(place_.end, sealed->bytes.data(), sealed->bytes.size());
  if (!written.ok()) return written;
  adopt_ids(version, place_.end, bytes, 0);
  place_.end += bytes;
  place_.previous = sealed->sum;
  return {};
}

void LogWriter::adopt_ids(const Version& version, std::uint64_t position, std::uint64_t bytes,
                          std::uint64_t uncovered) noexcept {
  ids_record_ = position;
  ids_bytes_ = bytes;
  ids_rows_ = rows_ever(version) - std::min(rows_ever(version), uncovered);
}

std::uint64_t LogWriter::rows_without_ids(const Version& version) const noexcept {
  return rows_ever(version) - std::min(rows_ever(version), ids_rows_);
}

}  // namespace vicinal::engine
