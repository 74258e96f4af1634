#include "support/paper_file.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/bits.hpp"

namespace vicinal::test {
namespace {

using segment::BlockBytes;
using segment::SegmentView;
using segment::SlabLayout;
using simd::kBlockRows;

// A block's arrays in a slab.
BlockBytes block_at(const quant::CodeLayout& layout, std::uint32_t capacity,
                    const std::uint8_t* slab, std::uint32_t block) {
  const SlabLayout at(layout, capacity);
  const std::size_t row = std::size_t{block} * kBlockRows;
  const auto floats = [&](std::size_t array) {
    return reinterpret_cast<const float*>(slab + array) + row;
  };
  return {slab + block * layout.plane_block_bytes,
          layout.plane_block_bytes,
          slab + at.rests + row * layout.rest_bytes,
          kBlockRows * layout.rest_bytes,
          floats(at.scales),
          floats(at.plane_scales),
          floats(at.plane_cosines2),
          reinterpret_cast<const std::uint64_t*>(slab + at.ids) + row};
}

void copy_block(const BlockBytes& from, const BlockBytes& to) {
  const auto copy = [](const void* source, const void* target, std::size_t bytes) {
    if (bytes != 0) std::memcpy(const_cast<void*>(target), source, bytes);
  };
  copy(from.plane, to.plane, from.plane_bytes);
  copy(from.rests, to.rests, from.rests_bytes);
  copy(from.scales, to.scales, kBlockRows * sizeof(float));
  copy(from.plane_scales, to.plane_scales, kBlockRows * sizeof(float));
  copy(from.plane_cosines2, to.plane_cosines2, kBlockRows * sizeof(float));
  copy(from.ids, to.ids, kBlockRows * sizeof(std::uint64_t));
}

template <class T>
void set(std::vector<T>& values, std::uint32_t at, T value) {
  if (values.size() <= at) values.resize(at + 1);
  values[at] = value;
}

void append(std::vector<std::byte>& bytes, const void* more, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(more);
  bytes.insert(bytes.end(), from, from + count);
}

}  // namespace

std::uint32_t PaperFile::open(const SegmentView& view, std::uint32_t capacity) {
  auto extent = std::make_unique<PaperExtent>();
  extent->number = view.segment->number();
  extent->capacity = capacity;
  extent->position = end_;
  const SlabLayout at(layout_, capacity);
  extent->slab = std::move(*AlignedBuffer::create(at.bytes));
  std::memset(extent->slab.data(), 0xd7, at.bytes);
  extent->sums.resize(capacity / kBlockRows);
  end_ += at.bytes + 4096;
  extents_.push_back(std::move(extent));
  const auto place = static_cast<std::uint32_t>(extents_.size() - 1);
  set(extent_of_, view.segment->number(), place);
  return place;
}

void PaperFile::store_blocks(const SegmentView& view, std::uint32_t rows_before,
                             PaperExtent& extent) {
  const SlabLayout at(layout_, extent.capacity);
  const auto* slab = extent.slab.as<std::uint8_t>();
  for (std::uint32_t block = rows_before / kBlockRows; view.is_whole(block); ++block) {
    const BlockBytes to = block_at(layout_, extent.capacity, slab, block);
    copy_block(view.segment->block(block), to);
    const std::uint64_t plane = extent.position + SlabLayout::plane_of(layout_, block);
    const std::uint64_t rows = extent.position + at.rows_of(layout_, block);
    extent.sums[block] = {segment::plane_sum(to, kUuidHead, plane),
                          segment::row_sum(to, kUuidHead, rows)};
  }
}

PaperCommit::Grown PaperFile::grown(const SegmentView& view, std::uint32_t rows_before) const {
  PaperCommit::Grown grown{view.segment->number(), rows_before, view.rows, 0, {}, {}, {}};
  std::uint32_t row = std::max(rows_before, view.rows - view.rows % kBlockRows);
  std::vector<std::uint8_t> packed(layout_.packed_row_bytes);
  for (; row < view.rows; ++row, ++grown.unfinished) {
    const quant::RowFactors factors = view.segment->factors(row);
    view.copy_packed_row(layout_, row, packed.data());
    append(grown.ids, view.segment->ids() + row, sizeof(std::uint64_t));
    append(grown.factors, &factors, sizeof factors);
    append(grown.packed, packed.data(), packed.size());
  }
  return grown;
}

PaperCommit PaperFile::log(const segment::Version* older, const segment::Version& newer,
                           std::uint32_t page_from, bool trimmed) {
  VICINAL_ASSERT(diff_.compare(older, newer, page_from).ok());
  PaperCommit commit;
  commit.sequence = newer.sequence;
  commit.live_rows = newer.live_rows;
  commit.dead_rows = newer.dead_rows;
  commit.rows_dropped = newer.rows_dropped;
  commit.dropped.assign(diff_.dropped().begin(), diff_.dropped().end());
  for (const SegmentView* view : diff_.opened()) {
    // One whose rows are all dead is there only because it takes rows.
    const std::uint32_t capacity = trimmed && view->dead != view->rows
                                       ? round_up(view->rows, kBlockRows)
                                       : view->segment->capacity();
    commit.opened.push_back({open(*view, capacity)});
  }
  for (const segment::VersionDiff::Grown& one : diff_.grown()) {
    store_blocks(*one.view, one.rows_before, *extents_[extent_of_[one.view->segment->number()]]);
    commit.grown.push_back(grown(*one.view, one.rows_before));
  }
  commit.dead.assign(diff_.dead().begin(), diff_.dead().end());
  for (const segment::VersionDiff::Page& page : diff_.pages()) {
    PaperCommit::Page copy{page.number, page.page, {}};
    std::memcpy(copy.words, page.words->words, sizeof copy.words);
    commit.pages.push_back(copy);
  }
  if (diff_.calibrated()) {
    commit.calibration = newer.calibration->number;
    commit.origin.assign(newer.origin(), newer.origin() + layout_.dim);
  }
  return commit;
}

struct PaperReader::Mapping : segment::MemoryOwner {
  AlignedBuffer slab;
  PaperReader* reader = nullptr;
};

PaperReader::~PaperReader() { VICINAL_ASSERT(mapped_ == 0); }

Status PaperReader::map(const PaperExtent& extent) {
  auto* mapping = new Mapping;
  mapping->reader = this;
  mapping->leave = [](segment::MemoryOwner* owner) noexcept {
    auto* left = static_cast<Mapping*>(owner);
    --left->reader->mapped_;
    delete left;
  };
  mapping->slab = std::move(*AlignedBuffer::create(extent.slab.size()));
  std::memcpy(mapping->slab.data(), extent.slab.data(), extent.slab.size());
  const quant::FactorLimits limits(file_.layout().coded_dim, builder_.calibration() != 0, metric_);
  auto* checks = segment::SegmentChecks::create(
      {extent.sums.data(), extent.position, PaperFile::kUuidHead}, limits, damage_);
  auto* segment = segment::Segment::over(
      file_.layout(), extent.number, extent.capacity,
      {mapping->slab.as<std::uint8_t>(), true, mapping, checks, extent.slab.size()});
  ++mapped_;
  const Status attached = replay_.attach(segment);
  if (!attached.ok()) segment->destroy(segment);
  return attached;
}

// The rows of `grown` that are in whole blocks come out of the file (replay.hpp I3).
Status PaperReader::show(const PaperCommit::Grown& grown) {
  const SegmentView* view = builder_.working().view(grown.number);
  if (view != nullptr && grown.number < extent_of_.size()) {
    const PaperExtent& extent = *file_.extents()[extent_of_[grown.number]];
    const std::uint32_t blocks = std::min(grown.rows, extent.capacity) / kBlockRows;
    for (std::uint32_t block = grown.rows_before / kBlockRows; block < blocks; ++block) {
      copy_block(block_at(file_.layout(), extent.capacity, extent.slab.as<std::uint8_t>(), block),
                 view->segment->block(block));
    }
  }
  return replay_.show_rows(
      grown.number, grown.rows,
      {grown.ids.data(), grown.factors.data(), grown.packed.data(), grown.unfinished});
}

Status PaperReader::replay(const PaperCommit& commit) {
  Status status;
  for (const std::uint32_t number : commit.dropped) {
    if (status.ok()) status = replay_.drop(number);
    if (status.ok()) set(hinted_, number, 0u);
  }
  if (status.ok() && !commit.origin.empty()) {
    status = replay_.set_origin(commit.calibration,
                                reinterpret_cast<const std::byte*>(commit.origin.data()));
  }
  for (const PaperCommit::Opened& opened : commit.opened) {
    const PaperExtent& extent = *file_.extents()[opened.extent];
    if (status.ok()) status = map(extent);
    if (status.ok()) set(extent_of_, extent.number, opened.extent);
  }
  for (const PaperCommit::Grown& grown : commit.grown) {
    if (status.ok()) status = show(grown);
  }
  for (const segment::Slot slot : commit.dead) {
    if (status.ok()) status = replay_.kill(slot);
  }
  for (const PaperCommit::Page& page : commit.pages) {
    if (status.ok()) status = replay_.replace_page(page.number, page.page, page.words);
  }
  if (!status.ok()) return status;
  return replay_.counts_are(commit.live_rows, commit.dead_rows, commit.rows_dropped);
}

Status PaperReader::enter_hints() {
  const segment::Version& version = builder_.working();
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    const std::uint32_t from = number < hinted_.size() ? hinted_[number] : 0;
    const Status entered = replay_.enter_hints(number, from, view->rows);
    if (!entered.ok()) return entered;
    set(hinted_, number, view->rows);
  }
  return {};
}

Status PaperReader::replay_all(const std::vector<PaperCommit>& commits) {
  Status status;
  for (const PaperCommit& commit : commits) {
    if (status.ok()) status = replay(commit);
  }
  return status;
}

PaperIndex::PaperIndex(PaperFile& file, Metric metric)
    : builder_(file.layout(), 0), reader_(file, metric, builder_, damage_) {
  VICINAL_ASSERT(builder_.prepare().ok());
  auto first = builder_.make_first();
  root_.publish(*first, [] {});
}

PaperIndex::~PaperIndex() {
  if (builder_.active()) builder_.abandon();
  reclaim();
  segment::VersionBuilder::destroy_version(const_cast<segment::Version*>(&newest()));
}

void PaperIndex::reclaim() {
  (void)reclaimer_.scan(slots_);
  builder_.set_bytes_ended(reclaimer_.freed_bytes());
}

void PaperIndex::publish() {
  root_.publish(builder_.finish(), [this] { builder_.retire_replaced(reclaimer_); });
}

Status PaperIndex::apply(const std::vector<PaperCommit>& commits) {
  Status status = begin(commits.back().sequence);
  if (status.ok()) status = reader_.replay_all(commits);
  if (status.ok()) status = reader_.enter_hints();
  if (status.ok()) {
    publish();
  } else {
    abandon();
  }
  return status;
}

Status PaperIndex::show(const std::vector<PaperCommit>& commits) {
  Status status = begin(commits.back().sequence);
  if (status.ok()) status = reader_.replay_all(commits);
  if (status.ok()) publish();
  return status;
}

ForeignTables::ForeignTables(const segment::IdRoot& root) {
  leave = [](segment::MemoryOwner* owner) noexcept {
    --static_cast<ForeignTables*>(owner)->users;
  };
  for (std::uint32_t i = 0; i < segment::kSubTables; ++i) {
    const segment::SubTable* table = root.tables[i];
    for (std::uint32_t e = 0; table != nullptr && e < table->entry_capacity; ++e) {
      entries[i].push_back(table->entries()[e].load(sync::relaxed));
    }
  }
}

Status ForeignTables::attach(segment::Replay& replay) {
  for (std::uint32_t i = 0; i < segment::kSubTables; ++i) {
    if (entries[i].empty()) continue;
    const auto count = static_cast<std::uint32_t>(entries[i].size());
    auto* table = segment::SubTable::over(entries[i].data(), count, used, *this);
    ++users;
    const Status attached = replay.attach_table(i, table);
    if (attached.ok()) continue;
    table->destroy(table);
    return attached;
  }
  return {};
}

}  // namespace vicinal::test
