// What an index holds, counted from one pinned version.
#include <algorithm>

#include "base/assert.hpp"
#include "engine/core.hpp"
#include "platform/realm.hpp"

namespace vicinal::engine {

Result<Stats> Core::stats() noexcept {
  follow();
  auto slot = slots_.claim(platform::realm());
  if (!slot.ok()) return slot.status();
  Stats stats;
  sync::ReaderSlot& pin = slots_.slot(*slot);
  fill_version(static_cast<const segment::Version&>(*root_.enter(pin)), &stats);
  sync::VersionRoot::leave(pin);
  slots_.release_slot(*slot);
  fill_shared(&stats);
  stats.total_bytes = stats.segment_bytes + stats.id_table_bytes + stats.version_bytes +
                      stats.retired_bytes + stats.shared_bytes + stats.string_bytes +
                      stats.original_bytes;
  return stats;
}

void Core::fill_version(const segment::Version& version, Stats* stats) const noexcept {
  stats->rows = version.live_rows;
  stats->dead = version.dead_rows;
  stats->sequence = version.sequence;
  stats->version_bytes = version.bytes + version.directory->bytes + version.ids->bytes;
  stats->calibrated = version.calibration != nullptr;
  if (stats->calibrated) stats->version_bytes += version.calibration->bytes;
  for (std::uint32_t i = 0; i < version.directory->leaf_capacity; ++i) {
    const segment::DirectoryLeaf* leaf = version.directory->leaves()[i];
    if (leaf != nullptr) stats->version_bytes += leaf->bytes;
  }
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const segment::SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    ++stats->segments;
    const segment::Segment& segment = *view->segment;
    stats->segment_bytes += segment.touched_bytes(view->rows);
    stats->original_bytes += segment.originals().touched_bytes(view->rows);
    if (segment.foreign()) {
      const std::size_t all = segment.slab_touched_bytes(view->rows);
      stats->mapped_bytes += all - std::min(all, segment.touched_bytes(view->rows));
    }
    if (view->tail != nullptr) stats->version_bytes += view->tail->bytes;
    if (view->live == nullptr) continue;
    stats->version_bytes += view->live->bytes;
    for (const segment::LivePage* page : view->live->pages) {
      if (page != nullptr) stats->version_bytes += page->bytes;
    }
  }
  for (const segment::SubTable* table : version.ids->tables) {
    if (table != nullptr) stats->id_table_bytes += table->bytes;
  }
  if (!version.strings.any()) return;
  const segment::StringDirectory& strings = *version.strings.directory;
  stats->string_bytes = strings.bytes;
  for (std::uint32_t i = 0; i < strings.count; ++i) {
    stats->string_bytes += strings.entries()[i].chunk->bytes;
  }
}

void Core::fill_shared(Stats* stats) const noexcept {
  stats->retired_bytes = reclaimer_.bytes();
  stats->shared_bytes = sizeof *this + slots_.bytes() - sizeof slots_ + quantiser_->bytes() +
                        quantiser_->layout().plane_block_bytes + help_.bytes();
  for (const sync::Atomic<Lane*>& lane : lanes_) {
    const Lane* ring = lane.load(sync::acquire);  // [lane]
    if (ring == nullptr) continue;
    stats->shared_bytes += sizeof(Lane);
    stats->ring_depth += ring->depth();
  }
  stats->writers_replaced = token_.epoch();
  stats->leaked_bytes = leaked_bytes_.load(sync::relaxed);
  const std::uint32_t own_slots = journal_ == nullptr ? 0 : Journal::slots();
  stats->readers = slots_.in_use() - own_slots;
  stats->readers_max = sync::kReaderSlotsMax - slots_.retired() - own_slots;
  stats->slots_retired = slots_.retired();
  stats->oldest_sequence = stats->sequence;
  slots_.scan([&](std::uint32_t number, sync::Pin pin) {
    if (pin.number >= stats->oldest_sequence) return;
    stats->oldest_sequence = pin.number;
    stats->oldest_slot = number;
  });
  stats->helpers = help_.helpers();
  stats->searches_shared = help_.searches();
  stats->chunks_helped = help_.chunks();
  stats->dim = options_.dim;
  stats->bits = options_.bits;
  stats->metric = options_.metric;
  stats->kernel = quantiser_->kernels().name;
}

}  // namespace vicinal::engine
