#include "engine/log_applier.hpp"

#include <new>

#include "base/aligned_buffer.hpp"
#include "base/bits.hpp"
#include "quant/factor_limits.hpp"
#include "segment/slab.hpp"

namespace vicinal::engine {

using simd::kBlockRows;

namespace {

// I2.
struct MappedExtent : segment::MemoryOwner {
  void* memory = nullptr;
  std::size_t bytes = 0;

  static void end(segment::MemoryOwner* owner) noexcept {
    auto* mapped = static_cast<MappedExtent*>(owner);
    platform::unmap_file(mapped->memory, mapped->bytes);
    delete mapped;
  }
};

}  // namespace

Status LogApplier::apply_all(segment::Replay& replay, segment::Damage& damage) noexcept {
  std::uint64_t live_rows = 0;
  for (std::size_t i = 0; i < reader_.records(); ++i) {
    const auto record = reader_.record(i);
    if (!record.ok()) return record.status();
    live_rows = record->view.head().live_rows;
    const Status applied = apply_record(replay, damage, record->view);
    if (!applied.ok()) return applied;
  }
  Status entered = live_rows == 0 ? Status() : replay.expect_rows(live_rows);
  for (std::uint32_t number = 0; entered.ok() && number < segment::kSegmentsMax; ++number) {
    const LogReader::FileSegment* at = reader_.segment(number);
    if (at != nullptr) entered = replay.enter_hints(number, 0, at->rows);
  }
  return entered;
}

Status LogApplier::apply_record(segment::Replay& replay, segment::Damage& damage,
                                const storage::CommitView& view) noexcept {
  Status done;
  for (std::uint32_t i = 0; done.ok() && i < view.dropped().size(); ++i) {
    done = replay.drop(view.dropped()[i]);
  }
  if (done.ok() && view.has_origin()) done = set_origin(replay, view);
  for (std::uint32_t i = 0; done.ok() && i < view.opened().size(); ++i) {
    done = attach(replay, damage, view.opened()[i]);
  }
  if (done.ok()) done = show_rows(replay, view);
  for (std::uint32_t i = 0; done.ok() && i < view.dead().size(); ++i) {
    done = replay.kill(segment::Slot{view.dead()[i]});
  }
  for (std::uint32_t i = 0; done.ok() && i < view.live_pages().size(); ++i) {
    const storage::LivePageEntry page = view.live_pages()[i];
    done = replay.replace_page(page.number, page.page, page.words);
  }
  const storage::CommitHead& head = view.head();
  return done.ok() ? replay.counts_are(head.live_rows, head.dead_rows, head.rows_dropped) : done;
}

Status LogApplier::set_origin(segment::Replay& replay, const storage::CommitView& view) noexcept {
  auto origin = AlignedBuffer::create(reader_.layout().dim * sizeof(float));
  if (!origin.ok()) return origin.status();
  view.copy_origin(origin->as<float>());
  calibrated_ = true;
  return replay.set_origin(view.origin_number(), origin->data());
}

Status LogApplier::show_rows(segment::Replay& replay, const storage::CommitView& view) noexcept {
  storage::InlineRowsCursor cursor(view);
  for (std::uint32_t i = 0; i < view.grown().size(); ++i) {
    const storage::GrownSegment grown = view.grown()[i];
    const auto rows = cursor.next(replay.rows_of(grown.number));
    if (!rows.ok()) return rows.status();
    segment::InlineRows unfinished;
    unfinished.count = rows->count();
    if (unfinished.count != 0) {
      unfinished.packed = reinterpret_cast<const std::byte*>(rows->packed_row(0));
      unfinished.factors = unfinished.packed - unfinished.count * sizeof(quant::RowFactors);
      unfinished.ids = unfinished.factors - unfinished.count * sizeof(std::uint64_t);
    }
    const Status shown = replay.show_rows(grown.number, grown.rows, unfinished);
    if (!shown.ok()) return shown;
  }
  return {};
}

Status LogApplier::attach(segment::Replay& replay, segment::Damage& damage,
                      const storage::OpenedSegment& opened) noexcept {
  if (!segment::Replay::is_place(opened.number, opened.capacity)) return Status(Code::corrupt);
  const auto extent = reader_.extent_at(opened.extent);
  if (!extent.ok()) return extent.status();
  // One that a later record drops is shown to nobody: what is in it does not matter.
  const LogReader::FileSegment* last = reader_.segment(opened.number);
  const bool stays = last != nullptr && last->extent.position == extent->position;
  const std::uint32_t rows = stays ? last->rows : 0;
  auto made = slabs_ == Slabs::mapped ? map(*extent, damage) : read(*extent, rows);
  if (!made.ok()) return made.status();
  const Status attached = replay.attach(*made);
  if (!attached.ok()) segment::Segment::destroy_segment(*made);
  return attached;
}

Result<segment::Segment*> LogApplier::map(const storage::Extent& extent,
                                      segment::Damage& damage) noexcept {
  auto* mapped = new (std::nothrow) MappedExtent;
  if (mapped == nullptr) return Status(Code::full, sizeof(MappedExtent));
  mapped->leave = MappedExtent::end;
  mapped->bytes = static_cast<std::size_t>(
      extent.slab_bytes + round_up(extent.sums_bytes(), storage::kFilePageBytes));
  auto memory = file_.map(extent.slab, mapped->bytes, platform::Mapping::private_write);
  if (!memory.ok()) {
    delete mapped;
    return memory.status();
  }
  mapped->memory = *memory;
  auto* start = static_cast<std::uint8_t*>(*memory);
  const quant::FactorLimits limits(reader_.layout().coded_dim, calibrated_,
                                   reader_.superblock().metric);
  segment::SegmentChecks::Place place;
  place.sums = reinterpret_cast<const storage::BlockSums*>(start + extent.slab_bytes);
  place.slab_position = extent.slab;
  place.uuid_head = storage::head_of(reader_.superblock().uuid);
  segment::ForeignSlab slab;
  slab.start = start;
  slab.writable = true;
  slab.owner = mapped;
  slab.checks = segment::SegmentChecks::create(place, limits, damage);
  segment::Segment* made =
      slab.checks == nullptr ? nullptr
                             : segment::Segment::over(reader_.layout(), extent.segment,
                                                      extent.capacity, slab);
  if (made != nullptr) return made;
  if (slab.checks != nullptr) segment::SegmentChecks::destroy(slab.checks);
  MappedExtent::end(mapped);
  return Status(Code::full, sizeof(segment::Segment));
}

Result<segment::Segment*> LogApplier::read(const storage::Extent& extent,
                                       std::uint32_t rows) noexcept {
  segment::Segment* made =
      segment::Segment::create(reader_.layout(), extent.segment, extent.capacity);
  if (made == nullptr) return Status(Code::full, extent.slab_bytes);
  BlockReader blocks(file_, reader_.layout(), reader_.superblock().uuid);
  const std::uint32_t whole = rows / kBlockRows;
  Status sound = blocks.read_into(made->mutable_slab(), extent, 0, whole);
  const quant::FactorLimits limits(reader_.layout().coded_dim, calibrated_,
                                   reader_.superblock().metric);
  for (std::uint32_t row = 0; sound.ok() && row < whole * kBlockRows; ++row) {
    if (!limits.hold_for(made->factors(row))) sound = Status(Code::corrupt, extent.slab);
  }
  if (sound.ok()) return made;
  segment::Segment::destroy_segment(made);
  return sound;
}

}  // namespace vicinal::engine
