// The C interface over the engine: indexes and readers.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "handles.hpp"
#include "vicinal/vicinal.hpp"

using vicinal::Code;
using vicinal::OptionName;
using vicinal::Status;
using vicinal::c::StringViews;
using vicinal::c::bad_option;
using vicinal::c::make_handle;
using vicinal::c::read_options;
using vicinal::c::set;
using vicinal::c::to_c;
using vicinal::c::to_code;
using vicinal::c::view_of;

namespace {

vicinal_status receipt_of(const vicinal::Result<vicinal::Receipt>& written,
                          vicinal_receipt* receipt) noexcept {
  if (written.ok() && receipt != nullptr) *receipt = {written->sequence, written->count};
  return to_c(written.status());
}

Status strings_wanted() noexcept {
  return Status(Code::bad_id, 0, static_cast<uint64_t>(vicinal::BadId::string_wanted));
}

Status numbers_wanted() noexcept {
  return Status(Code::bad_id, 0, static_cast<uint64_t>(vicinal::BadId::number_wanted));
}

std::span<const float> rows_of(const vicinal_index* index, const float* rows,
                               uint64_t count) noexcept {
  return {rows, static_cast<std::size_t>(count) * index->index.options().dim};
}

std::span<const uint64_t> ids_of(const uint64_t* ids, uint64_t count) noexcept {
  return {ids, static_cast<std::size_t>(count)};
}

template <class Id>
vicinal_status write(vicinal_index* index, uint32_t kind, std::span<const Id> ids,
                     const float* rows, const vicinal_write_options* options,
                     vicinal_receipt* receipt) {
  if (receipt != nullptr) *receipt = {};
  vicinal_write_options known;
  vicinal_write_options_init(&known);
  if (options != nullptr) {
    const Status read = read_options(options, &known);
    if (!read.ok()) return to_c(read);
  }
  if (kind > VICINAL_REMOVE) return to_c(bad_option(OptionName::none));
  // More than fits the address space, and would wrap around in the product.
  const std::size_t floats_max = static_cast<std::size_t>(-1) / sizeof(float);
  if (ids.size() > floats_max / index->index.options().dim) {
    return to_c(Status(Code::full, ids.size()));
  }
  vicinal::Receipt landed;
  vicinal::WriteOptions wanted;
  wanted.atomic = known.atomic != 0;
  wanted.durable = known.durable != 0;
  wanted.landed = &landed;
  const auto all_rows = rows_of(index, rows, ids.size());
  const auto written = kind == VICINAL_REMOVE ? index->index.remove(ids, wanted)
                       : kind == VICINAL_ADD  ? index->index.add(ids, all_rows, wanted)
                                              : index->index.upsert(ids, all_rows, wanted);
  if (receipt != nullptr) *receipt = {landed.sequence, landed.count};
  return receipt_of(written, receipt);
}

vicinal_filter* make_filter(vicinal::Result<vicinal::Filter> made,
                            vicinal_status* status) noexcept {
  set(status, made.status());
  if (!made.ok()) return nullptr;
  auto* handle = new (std::nothrow) vicinal_filter{std::move(made).value()};
  if (handle == nullptr) set(status, Status(Code::full));
  return handle;
}

vicinal_reader* make_reader(vicinal::Reader reader, uint32_t dim, bool strings,
                            vicinal_status* status) noexcept {
  set(status, reader.status());
  if (!reader.status().ok()) return nullptr;
  auto* handle = new (std::nothrow) vicinal_reader{std::move(reader), dim, strings};
  if (handle == nullptr) set(status, Status(Code::full));
  return handle;
}

// `strings`: where those of a filter's list are kept; null where ids are numbers.
Status search_options_of(const vicinal_search_options* options,
                         StringViews* strings, vicinal::SearchOptions* wanted) noexcept {
  vicinal_search_options known;
  vicinal_search_options_init(&known);
  if (options != nullptr) {
    const Status read = read_options(options, &known);
    if (!read.ok()) return read;
  }
  wanted->k = static_cast<std::size_t>(
      std::min<uint64_t>(known.k, static_cast<std::size_t>(-1)));
  wanted->min_score = known.min_score;
  wanted->certainty = known.certainty;
  wanted->min_sequence = known.min_sequence;
  if (known.rerank != VICINAL_RERANK_DEFAULT) {
    wanted->rerank = static_cast<std::size_t>(
        std::min<uint64_t>(known.rerank, static_cast<std::size_t>(-1)));
  }
  if (known.filter != nullptr) wanted->compiled_filter = &known.filter->filter;
  const bool lists = known.filtered != 0 && known.filter_count != 0;
  if (strings != nullptr) {
    if (lists && known.filter_strings == nullptr) return strings_wanted();
    if (known.filtered != 0) {
      const Status viewed = strings->assign(known.filter_strings, known.filter_count);
      if (!viewed.ok()) return viewed;
      wanted->string_filter.emplace(strings->list());
    }
    if (known.has_after != 0) {
      wanted->string_after = vicinal::StringHit{view_of(known.after_string), known.after_score};
    }
    return {};
  }
  if (lists && known.filter_ids == nullptr) return numbers_wanted();
  if (known.filtered != 0) {
    wanted->filter.emplace(known.filter_ids, static_cast<std::size_t>(known.filter_count));
  }
  if (known.has_after != 0) wanted->after = vicinal::Hit{known.after_id, known.after_score};
  return {};
}

StringViews* strings_of(vicinal_reader* reader) noexcept {
  return reader->strings ? &reader->listed : nullptr;
}

vicinal_hits hits_of(const vicinal::Hits& found) noexcept {
  vicinal_hits hits = {};
  hits.ids = found.ids().data();
  hits.scores = found.scores().data();
  hits.count = found.size();
  hits.sequence = found.sequence();
  hits.rows_estimated = found.rows_estimated;
  hits.rows_scored = found.rows_scored;
  hits.text = found.string_ids().text();
  hits.text_offsets = found.string_ids().offsets();
  hits.reranked = found.reranked ? 1 : 0;
  return hits;
}

// The arrays move while they grow: who has which of them is settled at the end.
Status search_batch(vicinal_reader* reader, std::span<const float> queries,
                    const vicinal::SearchOptions& options, std::span<vicinal_hits> hits) {
  vicinal::c::BatchRows& batch = reader->batch;
  batch.clear();
  Status kept;
  const Status searched = reader->reader.search_each(
      queries, options, [&](std::size_t query, const vicinal::Hits& found) noexcept {
        if (kept.ok()) kept = batch.append(found);
        hits[query] = hits_of(found);
      });
  if (!searched.ok() || !kept.ok()) {
    std::fill(hits.begin(), hits.end(), vicinal_hits{});
    return searched.ok() ? kept : searched;
  }
  std::size_t first = 0;
  for (vicinal_hits& each : hits) {
    if (batch.text_offsets() == nullptr) {
      each.ids = batch.ids() + first;
    } else {
      each.text = batch.text();
      each.text_offsets = batch.text_offsets() + first;
    }
    each.scores = batch.scores() + first;
    first += static_cast<std::size_t>(each.count);
  }
  return {};
}

}  // namespace

vicinal_index* vicinal::c::make_handle(Result<Index> index, vicinal_status* status) noexcept {
  set(status, index.status());
  if (!index.ok()) return nullptr;
  WriteQueue queue = index->write_queue();
  auto* handle = new (std::nothrow) vicinal_index{std::move(index).value(), std::move(queue)};
  if (handle == nullptr) set(status, Status(Code::full));
  return handle;
}

Status vicinal::c::index_options_of(const vicinal_index_options& options,
                                    IndexOptions* wanted) noexcept {
  vicinal_index_options known;
  vicinal_index_options_init(&known);
  const Status read = read_options(&options, &known);
  if (!read.ok()) return read;
  wanted->dim = known.dim;
  if (known.bits == 0) known.bits = wanted->bits;
  wanted->bits = static_cast<std::uint8_t>(known.bits > 255 ? 255 : known.bits);
  wanted->metric = static_cast<Metric>(known.metric > 255 ? 255 : known.metric);
  wanted->originals =
      static_cast<Originals>(known.originals > 255 ? 255 : known.originals);
  wanted->seed = known.seed;
  wanted->memory_bytes_max = known.memory_bytes_max;
  wanted->retired_bytes_max = known.retired_bytes_max;
  wanted->ids = static_cast<IdKind>(known.id_kind > 255 ? 255 : known.id_kind);
  return {};
}

extern "C" {

uint32_t vicinal_abi_version(void) { return VICINAL_ABI_VERSION; }

const char* vicinal_code_name(uint32_t code) {
  return vicinal::code_name(to_code(code));
}

size_t vicinal_status_message(const vicinal_status* status, char* text, size_t bytes) {
  const std::string sentence =
      Status(to_code(status->code), status->a, status->b).message();
  if (bytes != 0) {
    const size_t kept = std::min(sentence.size(), bytes - 1);
    std::memcpy(text, sentence.data(), kept);
    text[kept] = 0;
  }
  return sentence.size();
}

void vicinal_index_options_init(vicinal_index_options* options) {
  *options = {};
  options->struct_size = sizeof *options;
  options->bits = 4;
}

void vicinal_open_options_init(vicinal_open_options* options) {
  *options = {};
  options->struct_size = sizeof *options;
  options->mapped = 1;
}

void vicinal_search_options_init(vicinal_search_options* options) {
  const vicinal::SearchOptions defaults;
  *options = {};
  options->struct_size = sizeof *options;
  options->k = defaults.k;
  options->min_score = defaults.min_score;
  options->certainty = defaults.certainty;
  options->rerank = VICINAL_RERANK_DEFAULT;
}

void vicinal_write_options_init(vicinal_write_options* options) {
  *options = {};
  options->struct_size = sizeof *options;
  options->atomic = 1;
}

vicinal_index* vicinal_index_create(const vicinal_index_options* options, vicinal_status* status) {
  vicinal::IndexOptions wanted;
  const Status read = vicinal::c::index_options_of(*options, &wanted);
  if (!read.ok()) {
    set(status, read);
    return nullptr;
  }
  return make_handle(vicinal::Index::create(wanted), status);
}

vicinal_index* vicinal_index_share(const vicinal_index* index) {
  return make_handle(index->index.share(), nullptr);
}

void vicinal_index_close(vicinal_index* index) { index->index.close(); }

void vicinal_index_free(vicinal_index* index) { delete index; }

uint32_t vicinal_index_dim(const vicinal_index* index) { return index->index.options().dim; }

vicinal_status vicinal_index_stats(const vicinal_index* index, vicinal_stats* stats) {
  if (stats->struct_size < sizeof stats->struct_size + sizeof stats->segments) {
    return to_c(bad_option(OptionName::none));
  }
  const auto taken = index->index.try_stats();
  if (!taken.ok()) return to_c(taken.status());
  vicinal_stats all = {};
  all.struct_size = sizeof all;
  all.segments = taken->segments;
  all.rows = taken->rows;
  all.dead = taken->dead;
  all.sequence = taken->sequence;
  all.segment_bytes = taken->segment_bytes;
  all.id_table_bytes = taken->id_table_bytes;
  all.version_bytes = taken->version_bytes;
  all.retired_bytes = taken->retired_bytes;
  all.shared_bytes = taken->shared_bytes;
  all.total_bytes = taken->total_bytes;
  all.oldest_sequence = taken->oldest_sequence;
  all.readers = taken->readers;
  all.readers_max = taken->readers_max;
  all.oldest_slot = taken->oldest_slot;
  all.ring_depth = taken->ring_depth;
  all.dim = taken->dim;
  all.bits = taken->bits;
  all.metric = static_cast<uint32_t>(taken->metric);
  all.calibrated = taken->calibrated ? 1 : 0;
  all.kernel = taken->kernel;
  all.helpers = taken->helpers;
  all.searches_shared = taken->searches_shared;
  all.chunks_helped = taken->chunks_helped;
  all.leaked_bytes = taken->leaked_bytes;
  all.writers_replaced = taken->writers_replaced;
  all.string_bytes = taken->string_bytes;
  all.original_bytes = taken->original_bytes;
  const uint32_t known = std::min<uint32_t>(stats->struct_size, sizeof all);
  all.struct_size = known;
  std::memcpy(stats, &all, known);
  return to_c(Status());
}

vicinal_status vicinal_index_add(vicinal_index* index, const uint64_t* ids, const float* rows,
                                 uint64_t count, vicinal_receipt* receipt) {
  return receipt_of(index->index.add(ids_of(ids, count), rows_of(index, rows, count)), receipt);
}

vicinal_status vicinal_index_upsert(vicinal_index* index, const uint64_t* ids, const float* rows,
                                    uint64_t count, vicinal_receipt* receipt) {
  return receipt_of(index->index.upsert(ids_of(ids, count), rows_of(index, rows, count)), receipt);
}

vicinal_status vicinal_index_remove(vicinal_index* index, const uint64_t* ids, uint64_t count,
                                    vicinal_receipt* receipt) {
  return receipt_of(index->index.remove(ids_of(ids, count)), receipt);
}

vicinal_status vicinal_index_write(vicinal_index* index, uint32_t kind, const uint64_t* ids,
                                   const float* rows, uint64_t count,
                                   const vicinal_write_options* options,
                                   vicinal_receipt* receipt) {
  return write(index, kind, ids_of(ids, count), rows, options, receipt);
}

vicinal_status vicinal_index_write_strings(vicinal_index* index, uint32_t kind,
                                           const vicinal_string* ids, const float* rows,
                                           uint64_t count, const vicinal_write_options* options,
                                           vicinal_receipt* receipt) {
  if (receipt != nullptr) *receipt = {};
  StringViews views;
  const Status viewed = views.assign(ids, count);
  if (!viewed.ok()) return to_c(viewed);
  return write(index, kind, views.list(), rows, options, receipt);
}

vicinal_status vicinal_index_clear(vicinal_index* index, vicinal_receipt* receipt) {
  return receipt_of(index->index.clear(), receipt);
}

vicinal_status vicinal_index_calibrate(vicinal_index* index, const float* sample, uint64_t count,
                                       vicinal_receipt* receipt) {
  // More than fits the address space is no sample, and would wrap around in the product.
  const std::size_t floats_max = static_cast<std::size_t>(-1) / sizeof(float);
  if (count > floats_max / index->index.options().dim) return to_c(bad_option(OptionName::sample));
  return receipt_of(index->index.calibrate(rows_of(index, sample, count)), receipt);
}

vicinal_status vicinal_index_compact(vicinal_index* index, vicinal_receipt* receipt) {
  return receipt_of(index->index.compact(), receipt);
}

vicinal_status vicinal_index_set_helpers(vicinal_index* index, uint32_t count) {
  return to_c(index->index.set_helpers(count));
}

uint32_t vicinal_index_pump(vicinal_index* index, uint64_t budget_us) {
  return index->index.pump(budget_us);
}

const void* vicinal_index_doorbell(const vicinal_index* index) {
  return index->index.doorbell();
}

vicinal_reader* vicinal_reader_open(const vicinal_index* index, vicinal_status* status) {
  return make_reader(index->index.reader(), index->index.options().dim,
                     index->index.options().ids == vicinal::IdKind::string, status);
}

vicinal_reader* vicinal_reader_snapshot(vicinal_reader* reader, vicinal_status* status) {
  return make_reader(reader->reader.snapshot(), reader->dim, reader->strings, status);
}

void vicinal_reader_free(vicinal_reader* reader) { delete reader; }

vicinal_status vicinal_reader_search(vicinal_reader* reader, const float* query, uint32_t dim,
                                     const vicinal_search_options* options, vicinal_hits* hits) {
  *hits = {};
  vicinal::SearchOptions wanted;
  const Status read = search_options_of(options, strings_of(reader), &wanted);
  if (!read.ok()) return to_c(read);
  const auto found = reader->reader.search({query, dim}, wanted);
  if (!found.ok()) return to_c(found.status());
  *hits = hits_of(*found);
  return to_c(Status());
}

vicinal_status vicinal_reader_search_batch(vicinal_reader* reader, const float* queries,
                                           uint32_t dim, uint64_t count,
                                           const vicinal_search_options* options,
                                           vicinal_hits* hits) {
  const std::uint64_t most = static_cast<std::size_t>(-1) /
                             std::max(sizeof *hits, reader->dim * sizeof *queries);
  if (count > most) return to_c(Status(Code::full, count));
  const std::span all(hits, static_cast<std::size_t>(count));
  std::fill(all.begin(), all.end(), vicinal_hits{});
  vicinal::SearchOptions wanted;
  const Status read = search_options_of(options, strings_of(reader), &wanted);
  if (!read.ok()) return to_c(read);
  if (dim != reader->dim) return to_c(Status(Code::dimension, dim, reader->dim));
  return to_c(search_batch(reader, {queries, all.size() * dim}, wanted, all));
}

vicinal_status vicinal_reader_has(vicinal_reader* reader, uint64_t id, int* found) {
  *found = 0;
  if (reader->strings) return to_c(strings_wanted());
  const Status status = reader->reader.status();
  *found = status.ok() && reader->reader.has(id) ? 1 : 0;
  return to_c(status);
}

vicinal_status vicinal_reader_has_string(vicinal_reader* reader, vicinal_string id, int* found) {
  *found = 0;
  if (!reader->strings) return to_c(numbers_wanted());
  const Status status = reader->reader.status();
  *found = status.ok() && reader->reader.has(view_of(id)) ? 1 : 0;
  return to_c(status);
}

vicinal_status vicinal_reader_get(vicinal_reader* reader, uint64_t id, float* vector,
                                  uint32_t dim) {
  return to_c(reader->reader.get_into(id, {vector, dim}));
}

vicinal_status vicinal_reader_get_string(vicinal_reader* reader, vicinal_string id, float* vector,
                                         uint32_t dim) {
  return to_c(reader->reader.get_into(view_of(id), {vector, dim}));
}

vicinal_status vicinal_reader_count(vicinal_reader* reader, uint64_t* rows, uint64_t* sequence) {
  const Status status = reader->reader.status();
  const vicinal::Reader::Size size = reader->reader.count();
  *rows = size.rows;
  if (sequence != nullptr) *sequence = size.sequence;
  return to_c(status);
}

vicinal_filter* vicinal_filter_create(vicinal_reader* reader, const uint64_t* ids, uint64_t count,
                                      vicinal_status* status) {
  return make_filter(reader->reader.filter(ids_of(ids, count)), status);
}

vicinal_filter* vicinal_filter_create_strings(vicinal_reader* reader, const vicinal_string* ids,
                                              uint64_t count, vicinal_status* status) {
  StringViews views;
  const Status viewed = views.assign(ids, count);
  if (!viewed.ok()) {
    set(status, viewed);
    return nullptr;
  }
  return make_filter(reader->reader.filter(views.list()), status);
}

uint64_t vicinal_filter_size(const vicinal_filter* filter) { return filter->filter.size(); }

void vicinal_filter_free(vicinal_filter* filter) { delete filter; }

}  // extern "C"
