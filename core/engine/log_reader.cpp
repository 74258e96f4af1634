#include "engine/log_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "engine/log_writer.hpp"
#include "segment/block_sums.hpp"
#include "segment/slab.hpp"

namespace vicinal::engine {

using segment::SlabLayout;
using simd::kBlockRows;
using storage::RecordHeader;
using storage::RecordKind;

namespace {

// Blocks that are compared at a time.
constexpr std::uint32_t kBlocksAtOnce = 32;

[[nodiscard]] Status corrupt(std::uint64_t position) noexcept {
  return Status(Code::corrupt, position);
}

[[nodiscard]] segment::BlockBytes block_of(const quant::CodeLayout& layout,
                                           const SlabLayout& at, const std::uint8_t* slab,
                                           std::uint32_t block) noexcept {
  const std::size_t row = std::size_t{block} * kBlockRows;
  segment::BlockBytes bytes;
  bytes.plane = slab + SlabLayout::plane_of(layout, block);
  bytes.plane_bytes = layout.plane_block_bytes;
  bytes.rests = slab + at.rests + row * layout.rest_bytes;
  bytes.rests_bytes = kBlockRows * layout.rest_bytes;
  bytes.scales = reinterpret_cast<const float*>(slab + at.scales) + row;
  bytes.plane_scales = reinterpret_cast<const float*>(slab + at.plane_scales) + row;
  bytes.plane_cosines2 = reinterpret_cast<const float*>(slab + at.plane_cosines2) + row;
  bytes.ids = reinterpret_cast<const std::uint64_t*>(slab + at.ids) + row;
  return bytes;
}

}  // namespace

Status BlockReader::read_arrays(std::uint8_t* slab, const SlabLayout& in_slab,
                                const storage::Extent& extent, std::uint32_t from,
                                std::uint32_t to, std::uint32_t slab_from) noexcept {
  const SlabLayout in_file(layout_, extent.capacity);
  const std::uint64_t count = to - from;
  const auto read = [&](std::size_t file_at, std::size_t slab_at, std::size_t block_bytes) {
    if (block_bytes == 0) return Status();
    auto* to_bytes = reinterpret_cast<std::byte*>(slab + slab_at + slab_from * block_bytes);
    return file_.read_at(extent.slab + file_at + from * block_bytes,
                         {to_bytes, static_cast<std::size_t>(count * block_bytes)});
  };
  const struct {
    std::size_t file_at, slab_at, block_bytes;
  } arrays[] = {
      {0, 0, layout_.plane_block_bytes},
      {in_file.rests, in_slab.rests, kBlockRows * layout_.rest_bytes},
      {in_file.scales, in_slab.scales, kBlockRows * sizeof(float)},
      {in_file.plane_scales, in_slab.plane_scales, kBlockRows * sizeof(float)},
      {in_file.plane_cosines2, in_slab.plane_cosines2, kBlockRows * sizeof(float)},
      {in_file.ids, in_slab.ids, kBlockRows * sizeof(std::uint64_t)},
  };
  for (const auto& array : arrays) {
    const Status done = read(array.file_at, array.slab_at, array.block_bytes);
    if (!done.ok()) return done;
  }
  return {};
}

Status BlockReader::compare(const std::uint8_t* slab, const SlabLayout& in_slab,
                            const storage::Extent& extent, std::uint32_t from, std::uint32_t to,
                            std::uint32_t slab_from) noexcept {
  auto sums = AlignedBuffer::create((to - from) * sizeof(storage::BlockSums));
  if (!sums.ok()) return sums.status();
  const Status read = file_.read_at(extent.sums_position(from), {sums->data(), sums->size()});
  if (!read.ok()) return read;
  const auto* known = sums->as<storage::BlockSums>();
  const SlabLayout in_file(layout_, extent.capacity);
  const std::uint64_t head = storage::head_of(uuid_);
  for (std::uint32_t block = from; block < to; ++block) {
    const segment::BlockBytes bytes =
        block_of(layout_, in_slab, slab, slab_from + block - from);
    const std::uint64_t plane = extent.slab + SlabLayout::plane_of(layout_, block);
    const std::uint64_t rows = extent.slab + in_file.rows_of(layout_, block);
    if (segment::plane_sum(bytes, head, plane) != known[block - from].plane) return corrupt(plane);
    if (segment::row_sum(bytes, head, rows) != known[block - from].row) return corrupt(rows);
  }
  return {};
}

Status BlockReader::read_into(std::uint8_t* slab, const storage::Extent& extent,
                              std::uint32_t from, std::uint32_t to) noexcept {
  if (from == to) return {};
  const SlabLayout at(layout_, extent.capacity);
  const Status read = read_arrays(slab, at, extent, from, to, from);
  return read.ok() ? compare(slab, at, extent, from, to, from) : read;
}

Status BlockReader::read_rest_of(std::uint8_t* slab, const storage::Extent& extent,
                                 std::uint32_t block, std::uint32_t lane) noexcept {
  VICINAL_ASSERT(lane < kBlockRows);
  const SlabLayout one(layout_, kBlockRows);
  auto some = AlignedBuffer::create(one.bytes);
  if (!some.ok()) return some.status();
  auto* from = some->as<std::uint8_t>();
  Status read = read_arrays(from, one, extent, block, block + 1, 0);
  if (read.ok()) read = compare(from, one, extent, block, block + 1, 0);
  if (!read.ok()) return read;
  const SlabLayout at(layout_, extent.capacity);
  const std::size_t row = std::size_t{block} * kBlockRows + lane;
  const std::size_t rows = kBlockRows - lane;
  const auto copy = [&](std::size_t to_at, std::size_t from_at, std::size_t row_bytes) {
    std::memcpy(slab + to_at + row * row_bytes, from + from_at + lane * row_bytes,
                rows * row_bytes);
  };
  std::memcpy(slab + SlabLayout::plane_of(layout_, block), from, layout_.plane_block_bytes);
  copy(at.rests, one.rests, layout_.rest_bytes);
  copy(at.scales, one.scales, sizeof(float));
  copy(at.plane_scales, one.plane_scales, sizeof(float));
  copy(at.plane_cosines2, one.plane_cosines2, sizeof(float));
  copy(at.ids, one.ids, sizeof(std::uint64_t));
  return {};
}

Status BlockReader::check(const storage::Extent& extent, std::uint32_t from, std::uint32_t to,
                          std::uint64_t sum_of_sums) noexcept {
  if (from == to) return sum_of_sums == 0 ? Status() : corrupt(extent.sums);
  auto sums = AlignedBuffer::create((to - from) * sizeof(storage::BlockSums));
  if (!sums.ok()) return sums.status();
  const Status read = file_.read_at(extent.sums_position(from), {sums->data(), sums->size()});
  if (!read.ok()) return read;
  if (checksum64(sums->data(), sums->size()) != sum_of_sums) return corrupt(extent.sums);
  const auto* known = sums->as<storage::BlockSums>();
  const SlabLayout in_file(layout_, extent.capacity);
  const std::uint32_t most = std::min(kBlocksAtOnce, to - from);
  const SlabLayout at(layout_, most * kBlockRows);
  auto some = AlignedBuffer::create(at.bytes);
  if (!some.ok()) return some.status();
  auto* slab = some->as<std::uint8_t>();
  const std::uint64_t head = storage::head_of(uuid_);
  for (std::uint32_t first = from; first < to; first += most) {
    const std::uint32_t last = std::min(to, first + most);
    const Status done = read_arrays(slab, at, extent, first, last, 0);
    if (!done.ok()) return done;
    for (std::uint32_t block = first; block < last; ++block) {
      const segment::BlockBytes bytes = block_of(layout_, at, slab, block - first);
      const std::uint64_t plane = extent.slab + SlabLayout::plane_of(layout_, block);
      const std::uint64_t rows = extent.slab + in_file.rows_of(layout_, block);
      if (segment::plane_sum(bytes, head, plane) != known[block - from].plane ||
          segment::row_sum(bytes, head, rows) != known[block - from].row) {
        return corrupt(plane);
      }
    }
  }
  return {};
}

Status LogReader::read_superblock() noexcept {
  const auto bytes = file_.size();
  if (!bytes.ok()) return bytes.status();
  bytes_ = std::min(*bytes, storage::kFileBytesMax);
  if (bytes_ < storage::kLogStart) return Status(Code::corrupt);
  std::byte page[storage::kFilePageBytes];
  const Status read = file_.read_at(0, page);
  if (!read.ok()) return read;
  const auto found = storage::read_superblock(page);
  if (!found.ok()) return found.status();
  superblock_ = *found;
  layout_ = quant::CodeLayout::of(superblock_.dim, superblock_.bits);
  return layout_.coded_dim == superblock_.coded_dim ? Status() : Status(Code::corrupt);
}

Status LogReader::read_metas() noexcept {
  for (std::uint32_t slot = 0; slot < storage::kMetaSlots; ++slot) {
    std::byte bytes[storage::kMetaBytes];
    const Status read = file_.read_at(storage::meta_position(slot), bytes);
    if (!read.ok()) return read;
    const auto meta = storage::read_meta(bytes, superblock_.uuid, slot);
    if (meta.ok()) metas_ |= 1u << slot;
    if (!meta.ok() || meta->turn <= turn_) continue;
    turn_ = meta->turn;
    certain_end_ = meta->end;
    meta_directory_ = meta->directory;
  }
  // Once more: a writer may have gone on since.
  const auto bytes = file_.size();
  if (!bytes.ok()) return bytes.status();
  bytes_ = std::min(*bytes, storage::kFileBytesMax);
  return certain_end_ > bytes_ ? corrupt(certain_end_) : Status();
}

Result<RecordHeader> LogReader::read_record(std::uint64_t position,
                                            const std::uint64_t* previous,
                                            GrowingBuffer& to) noexcept {
  to.clear();
  if (position > bytes_ || bytes_ - position < storage::kRecordHeaderBytes) {
    return corrupt(position);
  }
  std::byte head[storage::kRecordHeaderBytes];
  const Status read = file_.read_at(position, head);
  if (!read.ok()) return read;
  const auto header =
      previous == nullptr
          ? storage::read_record_header_unchained(head, superblock_.uuid, position, bytes_)
          : storage::read_record_header(head, superblock_.uuid, position, *previous, bytes_);
  if (!header.ok()) return corrupt(position);
  const auto bytes = static_cast<std::size_t>(header->body_bytes);
  const Status room = to.append_zeros(bytes);
  if (!room.ok()) return room;
  const Status body = file_.read_at(position + sizeof head, {to.data(), bytes});
  if (!body.ok()) return body;
  if (!storage::body_is_intact(*header, to.bytes())) return corrupt(position);
  return *header;
}

Status LogReader::find_end() noexcept {
  const Status metas = read_metas();
  if (!metas.ok()) return metas;
  const bool any = turn_ != 0;
  const std::uint64_t start = any ? meta_directory_ : storage::kLogStart;
  Status walked = walk(start, !any, bytes_);
  if (!walked.ok()) return walked;
  if (records() == 0) return corrupt(start);
  const std::uint64_t shown_end = std::max(shown_.end, certain_end_);
  if (torn_ || end_ != shown_end) {
    // Forgets what was noted of a commit that is not whole, and what no commit shows.
    walked = walk(start, !any, shown_end);
    torn_ = true;
  }
  return walked;
}

Status LogReader::examine(Witness& witness) noexcept {
  witness_ = &witness;
  Status walked = read_metas();
  if (walked.ok()) walked = walk(storage::kLogStart, true, bytes_);
  if (walked.ok() && (records() == 0 || end_ < certain_end_)) {
    walked = corrupt(end_);
  }
  witness_ = nullptr;
  return walked;
}

Status LogReader::walk(std::uint64_t position, bool chained, std::uint64_t limit) noexcept {
  positions_.clear();
  segments_.clear();
  before_.clear();
  follows_ = false;
  end_ = position;
  previous_ = 0;
  shown_ = {};
  return walk_on(chained, limit);
}

Status LogReader::walk_on(bool chained, std::uint64_t limit) noexcept {
  torn_ = false;
  while (end_ < limit) {
    const auto header = read_record(end_, chained ? &previous_ : nullptr);
    Status taken = header.status();
    if (header.ok()) taken = take(*header);
    if (taken.ok() && witness_ != nullptr) taken = witness_->saw(*header, body_.bytes());
    if (taken.code() == Code::corrupt && end_ >= certain_end_) {  // I2
      torn_ = true;
      return {};
    }
    if (!taken.ok()) return taken;
    chained = true;
    end_ = header->end();
    previous_ = header->sum;
  }
  return {};
}

Status LogReader::advance(std::uint64_t limit) noexcept {
  VICINAL_ASSERT(before_.empty() && shown_.end != 0);
  positions_.clear();
  const auto bytes = file_.size();
  if (!bytes.ok()) return bytes.status();
  bytes_ = std::min({*bytes, storage::kFileBytesMax, limit});
  follows_ = true;
  opened_ = false;
  shown_before_ = shown_;
  end_ = shown_.end;
  previous_ = shown_.previous;
  const Status walked = walk_on(true, bytes_);
  end_ = shown_.end;
  previous_ = shown_.previous;
  if (!walked.ok()) take_back();
  return walked;
}

void LogReader::take_back() noexcept {
  restore(0);
  positions_.clear();
  shown_ = shown_before_;
  end_ = shown_.end;
  previous_ = shown_.previous;
}

void LogReader::restore(std::size_t first) noexcept {
  const auto* before = reinterpret_cast<const Before*>(before_.data());
  for (std::size_t i = before_.size() / sizeof(Before); i > first; --i) {
    *mutable_segment(before[i - 1].number) = before[i - 1].segment;
  }
  before_.truncate(first * sizeof(Before));
}

Status LogReader::remember(std::uint32_t number) noexcept {
  return follows_ ? before_.append_value(Before{*mutable_segment(number), number}) : Status();
}

std::uint64_t LogReader::position(std::size_t index) const noexcept {
  VICINAL_ASSERT(index < records());
  std::uint64_t position = 0;
  std::memcpy(&position, positions_.data() + index * sizeof position, sizeof position);
  return position;
}

Status LogReader::take(const RecordHeader& header) noexcept {
  switch (header.kind) {
    case RecordKind::extent:
      return storage::read_extent(header, body_.bytes()).status();
    case RecordKind::commit:
    case RecordKind::directory:
      return take_commit(header);
    case RecordKind::ids:
      return {};  // hints: looked at when they are used
    case RecordKind::strings:
      if (!has_strings()) return corrupt(header.position);
      return storage::StringsView::parse(body_.bytes()).ok() ? Status()
                                                             : corrupt(header.position);
    default:
      return Status(Code::unsupported);
  }
}

Status LogReader::take_commit(const RecordHeader& header) noexcept {
  const bool directory = header.kind == RecordKind::directory;
  const bool first = records() == 0 && !follows_;
  if (first && !directory) return corrupt(header.position);
  // A directory stands behind the commit that it repeats.
  if (!first &&
      (directory ? header.sequence != shown_.sequence : header.sequence <= shown_.sequence)) {
    return corrupt(header.position);
  }
  const auto view = storage::CommitView::parse(header, body_.bytes(), shape());
  if (!view.ok()) return corrupt(header.position);
  if (const Status follows = check_strings(header, *view); !follows.ok()) return follows;
  if (directory) {
    directory_ = header.position;
    directory_bytes_ = header.bytes;
  }
  // Who follows has what it says.
  const std::size_t before = before_.size() / sizeof(Before);
  Status taken = directory && follows_ ? Status() : take_version(header, *view);
  if (!taken.ok()) {
    if (follows_) restore(before);
    return taken;
  }
  shown_ = {header.end(), header.sum, header.sequence, view->strings_end()};
  return {};
}

Status LogReader::check_strings(const RecordHeader& header,
                                const storage::CommitView& view) noexcept {
  if (!has_strings()) return {};
  const std::uint64_t before = shown_.strings_end;
  const std::uint64_t end = view.strings_end();
  if (header.kind == RecordKind::directory) {
    return before == 0 || end == before ? Status() : corrupt(header.position);
  }
  const storage::StringsView& list = view.strings();
  if (end < before || (!list.empty() && list.first() < before)) return corrupt(header.position);
  // Nobody has vouched for what it names: a record of the walk, or of before it.
  for (std::uint32_t i = 0; header.end() > certain_end_ && i < view.string_records().size(); ++i) {
    const auto named = strings(view.string_records()[i]);
    if (!named.ok()) return named.status();
  }
  return {};
}

Status LogReader::take_version(const RecordHeader& header,
                               const storage::CommitView& view) noexcept {
  const bool directory = header.kind == RecordKind::directory;
  const bool first = records() == 0 && !follows_;
  if (directory) {
    positions_.clear();
    segments_.clear();
  }
  Status noted = note_segments(view);
  // The blocks of a directory are those of commits before it, unless nothing is known of them.
  const bool uncertain =
      witness_ != nullptr ? !directory || first
                          : header.end() > certain_end_ && (!directory || (first && turn_ == 0));
  if (noted.ok()) {
    noted = storage::check_rows(view, [this](std::uint32_t number) {
      const FileSegment* at = segment(number);
      return at == nullptr ? storage::kNoSegment : at->rows;
    });
  }
  if (noted.ok() && uncertain) noted = check_blocks(view);
  for (std::uint32_t i = 0; noted.ok() && i < view.grown().size(); ++i) {
    const storage::GrownSegment grown = view.grown()[i];
    if (grown.rows > segment(grown.number)->extent.capacity) return corrupt(header.position);
    noted = remember(grown.number);
    if (noted.ok()) mutable_segment(grown.number)->rows = grown.rows;
  }
  if (!noted.ok()) return noted;
  return positions_.append_value(header.position);
}

Status LogReader::note_segments(const storage::CommitView& view) noexcept {
  for (std::uint32_t i = 0; i < view.dropped().size(); ++i) {
    FileSegment* at = mutable_segment(view.dropped()[i]);
    if (at == nullptr || !at->there) return Status(Code::corrupt);
    const Status kept = remember(view.dropped()[i]);
    if (!kept.ok()) return kept;
    *at = FileSegment{};
  }
  for (std::uint32_t i = 0; i < view.opened().size(); ++i) {
    const storage::OpenedSegment opened = view.opened()[i];
    const auto extent = extent_at(opened.extent);
    if (!extent.ok()) return extent.status();
    if (extent->segment != opened.number || extent->capacity != opened.capacity ||
        extent->slab_bytes != SlabLayout(layout_, opened.capacity).bytes) {
      return corrupt(opened.extent);
    }
    const std::size_t end = (opened.number + std::size_t{1}) * sizeof(FileSegment);
    if (segments_.size() < end) {
      const Status room = segments_.append_zeros(end - segments_.size());
      if (!room.ok()) return room;
    }
    FileSegment* at = mutable_segment(opened.number);
    if (at->there) return corrupt(opened.extent);
    const Status kept = remember(opened.number);
    if (!kept.ok()) return kept;
    *at = {*extent, 0, true};
    opened_ = true;
  }
  return {};
}

Status LogReader::check_blocks(const storage::CommitView& view) noexcept {
  BlockReader blocks(file_, layout_, superblock_.uuid);
  for (std::uint32_t i = 0; i < view.grown().size(); ++i) {
    const storage::GrownSegment grown = view.grown()[i];
    const FileSegment* at = segment(grown.number);
    if (grown.rows > at->extent.capacity) return Status(Code::corrupt);
    const Status checked = blocks.check(at->extent, at->rows / kBlockRows,
                                        grown.rows / kBlockRows, grown.sums);
    if (!checked.ok()) return checked;
  }
  return {};
}

LogReader::FileSegment* LogReader::mutable_segment(std::uint32_t number) noexcept {
  if (number >= segments_.size() / sizeof(FileSegment)) return nullptr;
  return reinterpret_cast<FileSegment*>(segments_.data()) + number;
}

std::uint64_t LogReader::slab_bytes() const noexcept {
  std::uint64_t bytes = 0;
  const auto count = static_cast<std::uint32_t>(segments_.size() / sizeof(FileSegment));
  for (std::uint32_t number = 0; number < count; ++number) {
    const FileSegment* at = segment(number);
    if (at != nullptr) bytes += at->extent.slab_bytes;
  }
  return bytes;
}

const LogReader::FileSegment* LogReader::segment(std::uint32_t number) const noexcept {
  if (number >= segments_.size() / sizeof(FileSegment)) return nullptr;
  const auto* found = reinterpret_cast<const FileSegment*>(segments_.data()) + number;
  return found->there ? found : nullptr;
}

Result<storage::Extent> LogReader::extent_at(std::uint64_t position) noexcept {
  std::byte bytes[storage::kExtentHeadBytes];
  if (position > bytes_ || bytes_ - position < sizeof bytes) return corrupt(position);
  const Status read = file_.read_at(position, bytes);
  if (!read.ok()) return read;
  const std::span<const std::byte> all(bytes);
  const auto header = storage::read_record_header_unchained(
      all.first<storage::kRecordHeaderBytes>(), superblock_.uuid, position, bytes_);
  const auto body = all.subspan<storage::kRecordHeaderBytes>();
  if (!header.ok() || header->body_bytes != body.size() ||
      !storage::body_is_intact(*header, body)) {
    return corrupt(position);
  }
  return storage::read_extent(*header, body);
}

Status LogReader::check_extents() noexcept {
  GrowingBuffer extents;
  if (follows_ && !opened_) return {};  // they are what they were
  for (std::uint32_t number = 0; number < segment_end(); ++number) {
    const FileSegment* at = segment(number);
    if (at == nullptr) continue;
    const Status kept = extents.append_value(at->extent);
    if (!kept.ok()) return kept;
  }
  const std::size_t count = extents.size() / sizeof(storage::Extent);
  auto* first = reinterpret_cast<storage::Extent*>(extents.data());
  std::sort(first, first + count, [](const storage::Extent& a, const storage::Extent& b) {
    return a.position < b.position;
  });
  for (std::size_t i = 1; i < count; ++i) {
    if (first[i - 1].end() > first[i].position) return Status(Code::corrupt, first[i].position);
  }
  return {};
}

Result<LogReader::Ids> LogReader::ids(std::uint64_t position) noexcept {
  const auto header = read_record(position, nullptr);
  if (!header.ok()) return header.status();
  const auto view = storage::IdsView::parse(*header, body_.bytes());
  if (!view.ok()) return corrupt(position);
  return Ids{*header, *view};
}

Result<LogReader::Strings> LogReader::strings(const storage::StringsPlace& place) noexcept {
  const auto header = read_record(place.record, nullptr, strings_body_);
  if (!header.ok()) return header.status();
  const auto view = storage::StringsView::parse(strings_body_.bytes());
  if (header->kind != RecordKind::strings || !view.ok() || view->first() != place.first) {
    return corrupt(place.record);
  }
  return Strings{*header, *view};
}

Result<LogReader::Record> LogReader::record(std::size_t index) noexcept {
  const auto header = read_record(position(index), nullptr);
  if (!header.ok()) return header.status();
  const auto view = storage::CommitView::parse(*header, body_.bytes(), shape());
  if (!view.ok()) return corrupt(header->position);
  return Record{*header, *view};
}

}  // namespace vicinal::engine
