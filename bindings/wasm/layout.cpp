// The table by which JavaScript checks its mirror of the blocks, name by name.
#include <cstddef>

#include "exports.hpp"

#define VIC_EXPORT(name) __attribute__((export_name(#name), used))
#define VICINAL_FIELD(block, field) \
  { #field, offsetof(block, field) }
#define VICINAL_END(block) \
  { "bytes", sizeof(block) }

namespace vicinal::wasm {
namespace {

struct LayoutEntry {
  const char* name;
  std::uint32_t offset;
};
static_assert(sizeof(LayoutEntry) == 8 && offsetof(LayoutEntry, offset) == 4);

const LayoutEntry kLayout[] = {
    VICINAL_FIELD(StatusBlock, code), VICINAL_FIELD(StatusBlock, a),
    VICINAL_FIELD(StatusBlock, b), VICINAL_END(StatusBlock),

    VICINAL_FIELD(OptionsBlock, dim), VICINAL_FIELD(OptionsBlock, metric),
    VICINAL_FIELD(OptionsBlock, bits), VICINAL_FIELD(OptionsBlock, originals),
    VICINAL_FIELD(OptionsBlock, seed), VICINAL_FIELD(OptionsBlock, memory_bytes_max),
    VICINAL_FIELD(OptionsBlock, retired_bytes_max), VICINAL_FIELD(OptionsBlock, ids),
    VICINAL_END(OptionsBlock),

    VICINAL_FIELD(MessageBlock, status), VICINAL_FIELD(MessageBlock, sequence),
    VICINAL_FIELD(MessageBlock, affected), VICINAL_FIELD(MessageBlock, ids),
    VICINAL_FIELD(MessageBlock, staging), VICINAL_FIELD(MessageBlock, staging_rows),
    VICINAL_FIELD(MessageBlock, count), VICINAL_FIELD(MessageBlock, done),
    VICINAL_FIELD(MessageBlock, string_ends), VICINAL_FIELD(MessageBlock, text),
    VICINAL_END(MessageBlock),

    VICINAL_FIELD(ReaderBlock, status), VICINAL_FIELD(ReaderBlock, id),
    VICINAL_FIELD(ReaderBlock, after_id), VICINAL_FIELD(ReaderBlock, after_score),
    VICINAL_FIELD(ReaderBlock, has_after), VICINAL_FIELD(ReaderBlock, k),
    VICINAL_FIELD(ReaderBlock, min_score), VICINAL_FIELD(ReaderBlock, certainty),
    VICINAL_FIELD(ReaderBlock, filtered), VICINAL_FIELD(ReaderBlock, filter_count),
    VICINAL_FIELD(ReaderBlock, hit_count), VICINAL_FIELD(ReaderBlock, hit_ids),
    VICINAL_FIELD(ReaderBlock, hit_scores), VICINAL_FIELD(ReaderBlock, sequence),
    VICINAL_FIELD(ReaderBlock, rows), VICINAL_FIELD(ReaderBlock, rows_estimated),
    VICINAL_FIELD(ReaderBlock, rows_scored), VICINAL_FIELD(ReaderBlock, query),
    VICINAL_FIELD(ReaderBlock, found), VICINAL_FIELD(ReaderBlock, filter),
    VICINAL_FIELD(ReaderBlock, batch_ends), VICINAL_FIELD(ReaderBlock, strings),
    VICINAL_FIELD(ReaderBlock, hit_text), VICINAL_FIELD(ReaderBlock, hit_text_offsets),
    VICINAL_FIELD(ReaderBlock, rerank), VICINAL_FIELD(ReaderBlock, reranked),
    VICINAL_END(ReaderBlock),

    VICINAL_FIELD(StatsBlock, rows), VICINAL_FIELD(StatsBlock, dead),
    VICINAL_FIELD(StatsBlock, sequence), VICINAL_FIELD(StatsBlock, segment_bytes),
    VICINAL_FIELD(StatsBlock, id_table_bytes), VICINAL_FIELD(StatsBlock, version_bytes),
    VICINAL_FIELD(StatsBlock, retired_bytes), VICINAL_FIELD(StatsBlock, shared_bytes),
    VICINAL_FIELD(StatsBlock, total_bytes), VICINAL_FIELD(StatsBlock, oldest_sequence),
    VICINAL_FIELD(StatsBlock, segments), VICINAL_FIELD(StatsBlock, readers),
    VICINAL_FIELD(StatsBlock, readers_max), VICINAL_FIELD(StatsBlock, oldest_slot),
    VICINAL_FIELD(StatsBlock, ring_depth), VICINAL_FIELD(StatsBlock, dim),
    VICINAL_FIELD(StatsBlock, bits), VICINAL_FIELD(StatsBlock, metric),
    VICINAL_FIELD(StatsBlock, kernel), VICINAL_FIELD(StatsBlock, calibrated),
    VICINAL_FIELD(StatsBlock, slots_retired), VICINAL_FIELD(StatsBlock, writers_replaced),
    VICINAL_FIELD(StatsBlock, leaked_bytes), VICINAL_FIELD(StatsBlock, searches_shared),
    VICINAL_FIELD(StatsBlock, chunks_helped), VICINAL_FIELD(StatsBlock, helpers),
    VICINAL_FIELD(StatsBlock, string_bytes), VICINAL_FIELD(StatsBlock, original_bytes),
    VICINAL_END(StatsBlock),

    VICINAL_FIELD(SaveBlock, status), VICINAL_FIELD(SaveBlock, total_bytes),
    VICINAL_FIELD(SaveBlock, offset), VICINAL_FIELD(SaveBlock, slice),
    VICINAL_FIELD(SaveBlock, slice_bytes), VICINAL_END(SaveBlock),

    VICINAL_FIELD(LoadBlock, status), VICINAL_FIELD(LoadBlock, total_bytes),
    VICINAL_FIELD(LoadBlock, largest_id), VICINAL_FIELD(LoadBlock, seed),
    VICINAL_FIELD(LoadBlock, dim), VICINAL_FIELD(LoadBlock, metric),
    VICINAL_FIELD(LoadBlock, bits), VICINAL_FIELD(LoadBlock, room),
    VICINAL_FIELD(LoadBlock, room_bytes), VICINAL_FIELD(LoadBlock, ids),
    VICINAL_FIELD(LoadBlock, originals),
    VICINAL_END(LoadBlock),

    VICINAL_FIELD(FileBlock, status), VICINAL_FIELD(FileBlock, largest_id),
    VICINAL_FIELD(FileBlock, seed), VICINAL_FIELD(FileBlock, dim),
    VICINAL_FIELD(FileBlock, metric), VICINAL_FIELD(FileBlock, bits),
    VICINAL_FIELD(FileBlock, ids), VICINAL_FIELD(FileBlock, originals),
    VICINAL_END(FileBlock),

    VICINAL_FIELD(FlushBlock, status), VICINAL_FIELD(FlushBlock, sequence),
    VICINAL_FIELD(FlushBlock, asks), VICINAL_END(FlushBlock),

    {nullptr, 0},
};

}  // namespace
}  // namespace vicinal::wasm

extern "C" VIC_EXPORT(vic_block_layout) vic_address vic_block_layout() {
  return reinterpret_cast<vic_address>(vicinal::wasm::kLayout);
}
