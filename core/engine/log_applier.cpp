#include "engine/log_applier.hpp"

#include <cstring>

#include "base/aligned_buffer.hpp"
#include "engine/ids_reader.hpp"
#include "engine/mapped_extent.hpp"
#include "segment/slab.hpp"

namespace vicinal::engine {

using simd::kBlockRows;

namespace {

// Rows that a record has shown of the segment whose slab is there in the file.
struct ShownRows {
  std::uint64_t position;
  std::uint32_t number, before, after;
};

// I4. Of segments that are still there.
[[nodiscard]] Status enter_shown(segment::Replay& replay, const GrowingBuffer& shown) noexcept {
  const auto* rows = reinterpret_cast<const ShownRows*>(shown.data());
  for (std::size_t i = 0; i < shown.size() / sizeof(ShownRows); ++i) {
    const segment::Segment* segment = replay.segment_of(rows[i].number);
    if (segment == nullptr || segment->file_position() != rows[i].position) continue;
    const Status entered = replay.enter_hints(rows[i].number, rows[i].before, rows[i].after);
    if (!entered.ok()) return entered;
  }
  return {};
}

}  // namespace

Status LogApplier::apply_all(segment::Replay& replay, segment::Damage& damage) noexcept {
  follows_ = false;
  calibrated_ = false;
  ids_ = {};
  strings_records_.clear();
  storage::CommitHead head;
  for (std::size_t i = 0; i < reader_.records(); ++i) {
    const auto record = reader_.record(i);
    if (!record.ok()) return record.status();
    head = record->view.head();
    const Status applied = apply_record(replay, damage, record->view);
    if (!applied.ok()) return applied;
  }
  return enter_ids(replay, head);
}

Status LogApplier::enter_ids(segment::Replay& replay, const storage::CommitHead& head) noexcept {
  IdsReader table(file_, reader_, slabs_ == Slabs::mapped);
  Status entered = uses_ids_ ? table.attach(head.ids_record, replay) : Status();
  if (table.bytes() != 0) ids_ = {head.ids_record, table.bytes(), 0};
  if (entered.ok() && head.live_rows != 0) entered = replay.expect_rows(head.live_rows);
  for (std::uint32_t number = 0; entered.ok() && number < reader_.segment_end(); ++number) {
    const LogReader::FileSegment* at = reader_.segment(number);
    if (at == nullptr) continue;
    const std::uint32_t covered = table.covered(number);
    ids_.uncovered += at->rows - covered;
    // Strings are moved, and written anew, by what the table finds; where all is read anyway it is
    // made sure that it finds each row.
    const bool all = slabs_ == Slabs::read && reader_.superblock().id_kind == IdKind::string;
    entered = replay.enter_hints(number, all ? 0 : covered, at->rows);
  }
  return entered;
}

Status LogApplier::apply_new(segment::Replay& replay, segment::Damage& damage,
                             std::size_t* applied) noexcept {
  follows_ = true;
  calibrated_ = replay.is_calibrated();
  shown_.clear();
  for (*applied = 0; *applied < reader_.records(); ++*applied) {
    const auto record = reader_.record(*applied);
    if (!record.ok()) return record.status();
    const Status done = apply_record(replay, damage, record->view);
    if (!done.ok()) return done;
  }
  return enter_shown(replay, shown_);
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
  if (done.ok() && reader_.superblock().id_kind == IdKind::string) {
    done = add_strings(replay, view);
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

Status LogApplier::add_strings(segment::Replay& replay,
                               const storage::CommitView& view) noexcept {
  const std::uint64_t known_end = replay.strings_end();
  for (std::uint32_t i = 0; i < view.string_records().size(); ++i) {
    const auto record = reader_.strings(view.string_records()[i]);
    if (!record.ok()) return record.status();
    Status added = replay.add_strings(record->view, known_end);
    if (added.ok() && !follows_) {
      added = strings_records_.append_value(
          StringsRecord{view.string_records()[i], record->view.last(), record->header.bytes,
                        record->view.size()});
    }
    if (!added.ok()) return added;
  }
  Status added;
  if (!view.strings().empty()) added = replay.add_strings(view.strings(), known_end);
  return added.ok() ? replay.end_strings(view.strings_end()) : added;
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
    const std::uint32_t before = replay.rows_of(grown.number);
    const auto rows = cursor.next(before);
    if (!rows.ok()) return rows.status();
    segment::InlineRows unfinished;
    unfinished.count = rows->count();
    if (unfinished.count != 0) {
      unfinished.packed = reinterpret_cast<const std::byte*>(rows->packed_row(0));
      unfinished.factors = unfinished.packed - unfinished.count * sizeof(quant::RowFactors);
      unfinished.ids = unfinished.factors - unfinished.count * sizeof(std::uint64_t);
    }
    segment::Segment* segment = replay.segment_of(grown.number);
    if (segment == nullptr || grown.rows > segment->capacity()) return Status(Code::corrupt);
    Status shown = bring_blocks(*segment, grown, before);
    if (shown.ok()) shown = replay.show_rows(grown.number, grown.rows, unfinished);
    if (shown.ok() && follows_) {
      shown = shown_.append_value(
          ShownRows{segment->file_position(), grown.number, before, grown.rows});
    }
    if (!shown.ok()) return shown;
    if (slabs_ == Slabs::mapped && unfinished.count != 0) {
      MappedExtent::of(*segment->owner())
          .rows_were_stored(grown.rows - unfinished.count, grown.rows);
    }
  }
  return {};
}

Status LogApplier::bring_blocks(segment::Segment& segment, const storage::GrownSegment& grown,
                                std::uint32_t before) noexcept {
  const std::uint32_t from = before / kBlockRows;
  const std::uint32_t to = grown.rows / kBlockRows;
  const LogReader::FileSegment* last = last_of(segment);
  // What is in a segment that a later record drops does not matter.
  if (last == nullptr || from >= to) return {};
  if (slabs_ == Slabs::read) return read_blocks(segment, last->extent, before, grown.rows);
  const Status brought =
      MappedExtent::of(*segment.owner()).bring_blocks(file_, before, grown.rows);
  if (brought.ok() && follows_) trust_blocks(segment, from, to);
  return brought;
}

Status LogApplier::read_blocks(segment::Segment& segment, const storage::Extent& extent,
                               std::uint32_t before, std::uint32_t after) noexcept {
  BlockReader blocks(file_, reader_.layout(), reader_.superblock().uuid);
  std::uint32_t from = before / kBlockRows;
  const std::uint32_t to = after / kBlockRows;
  Status sound;
  if (before % kBlockRows != 0) {  // I3
    sound = blocks.read_rest_of(segment.mutable_slab(), extent, from, before % kBlockRows);
    ++from;
  }
  if (sound.ok()) sound = blocks.read_into(segment.mutable_slab(), extent, from, to);
  const quant::FactorLimits limits = this->limits();
  for (std::uint32_t row = before; sound.ok() && row < to * kBlockRows; ++row) {
    if (!limits.hold_for(segment.factors(row))) sound = Status(Code::corrupt, extent.slab);
  }
  return sound;
}

void LogApplier::trust_blocks(segment::Segment& segment, std::uint32_t from,
                              std::uint32_t to) noexcept {
  const quant::FactorLimits limits = this->limits();
  for (std::uint32_t block = from; block < to; ++block) {
    bool sound = true;
    for (std::uint32_t lane = 0; lane < kBlockRows; ++lane) {
      sound = sound && limits.hold_for(segment.factors(block * kBlockRows + lane));
    }
    if (sound) segment.checks()->trust(block);
  }
}

Status LogApplier::attach(segment::Replay& replay, segment::Damage& damage,
                          const storage::OpenedSegment& opened) noexcept {
  if (!segment::Replay::is_place(opened.number, opened.capacity)) return Status(Code::corrupt);
  const auto extent = reader_.extent_at(opened.extent);
  if (!extent.ok()) return extent.status();
  const segment::SlabLayout slab(reader_.layout(), opened.capacity);
  if (extent->segment != opened.number || extent->capacity != opened.capacity ||
      extent->slab_bytes != slab.bytes) {
    return Status(Code::corrupt, opened.extent);
  }
  Result<segment::Segment*> made = Status(Code::full, slab.bytes);
  if (slabs_ == Slabs::mapped) {
    made = map(*extent, damage);
  } else if (auto* own = segment::Segment::create(reader_.layout(), opened.number,
                                                  opened.capacity);
             own != nullptr) {
    made = own;
  }
  if (!made.ok()) return made.status();
  (*made)->set_file_position(extent->slab);
  const Status attached = replay.attach(*made);
  if (!attached.ok()) segment::Segment::destroy_segment(*made);
  return attached;
}

const LogReader::FileSegment* LogApplier::last_of(const segment::Segment& segment) const noexcept {
  const LogReader::FileSegment* last = reader_.segment(segment.number());
  return last != nullptr && last->extent.slab == segment.file_position() ? last : nullptr;
}

quant::FactorLimits LogApplier::limits() const noexcept {
  return {reader_.layout().coded_dim, calibrated_, reader_.superblock().metric};
}

Result<segment::Segment*> LogApplier::map(const storage::Extent& extent,
                                          segment::Damage& damage) noexcept {
  const auto mapped = MappedExtent::map(file_, reader_.layout(), extent);
  if (!mapped.ok()) return mapped.status();
  segment::SegmentChecks::Place place;
  place.sums = (*mapped)->sums();
  place.slab_position = extent.slab;
  place.uuid_head = storage::head_of(reader_.superblock().uuid);
  segment::ForeignSlab slab;
  slab.start = (*mapped)->slab();
  slab.writable = true;
  slab.owner = *mapped;
  slab.checks = segment::SegmentChecks::create(place, limits(), damage);
  segment::Segment* made =
      slab.checks == nullptr ? nullptr
                             : segment::Segment::over(reader_.layout(), extent.segment,
                                                      extent.capacity, slab);
  if (made != nullptr) return made;
  if (slab.checks != nullptr) segment::SegmentChecks::destroy(slab.checks);
  MappedExtent::end(*mapped);
  return Status(Code::full, sizeof(segment::Segment));
}

}  // namespace vicinal::engine
