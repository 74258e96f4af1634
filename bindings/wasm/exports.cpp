#include "exports.hpp"

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "c/batch_rows.hpp"
#include "handles.hpp"
#include "vicinal/vicinal.hpp"

#define VIC_EXPORT(name) __attribute__((export_name(#name), used))

namespace vicinal::wasm {
namespace {

static_assert(sizeof(StatusBlock) == 24 && sizeof(OptionsBlock) == 48);
static_assert(sizeof(MessageBlock) == 72 && offsetof(MessageBlock, text) == 64);
static_assert(sizeof(ReaderBlock) == 152 && offsetof(ReaderBlock, reranked) == 144);
static_assert(sizeof(StatsBlock) == 176 && offsetof(StatsBlock, kernel) == 112);
static_assert(sizeof(void*) == sizeof(Address), "addresses are those of wasm32");

struct MessageHandle {
  MessageBlock block;  // first: its address is the handle
  IndexHandle* index;
  PendingWrite write;
  std::uint32_t dim;
  bool settled = false;  // the outcome was copied into the block
};

// One of a reader's compiled filters: a list, so that the reader's end finds them.
struct FilterHandle {
  Filter filter;
  FilterHandle* next;
};

// Memory of a batch, kept until its owner wants it back.
struct Batch {
  float* queries = nullptr;
  std::uint32_t* ends = nullptr;
  std::uint32_t capacity = 0;  // queries
  c::BatchRows rows;
};

// Strings of a call: views, then where each ends, then text, in one piece of memory.
struct StringBuffer {
  std::string_view* views = nullptr;
  std::uint64_t capacity = 0;  // bytes
  std::uint32_t count = 0;
  std::uint32_t text_bytes = 0;

  [[nodiscard]] std::uint32_t* ends() const noexcept {
    return reinterpret_cast<std::uint32_t*>(views + count);
  }
  // The first `wanted` strings. BAD_ID for one that ends nowhere, BAD_OPTION for more than there
  // are.
  [[nodiscard]] Result<std::span<const std::string_view>> list(std::uint64_t wanted) noexcept {
    if (wanted > count) return Status(Code::bad_option);
    const char* text = reinterpret_cast<const char*>(ends() + count);
    std::uint32_t begin = 0;
    for (std::uint32_t i = 0; i < wanted; ++i) {
      const std::uint32_t end = ends()[i];
      if (end < begin || end > text_bytes) {
        return Status(Code::bad_id, i, static_cast<std::uint64_t>(BadId::too_long));
      }
      views[i] = {text + begin, end - begin};
      begin = end;
    }
    return std::span<const std::string_view>(views, static_cast<std::size_t>(wanted));
  }
};

struct ReaderHandle {
  ReaderBlock block;  // first: its address is the handle
  Reader reader;
  IndexHandle* index;
  std::uint32_t realm;  // its owner
  std::uint32_t dim;
  float* query;
  std::uint64_t* filter = nullptr;
  std::uint32_t filter_capacity = 0;
  StringBuffer strings = {};
  FilterHandle* filters = nullptr;
  Batch batch = {};
};
static_assert(offsetof(MessageHandle, block) == 0 && offsetof(ReaderHandle, block) == 0);

void release_batch(Batch& batch) noexcept {
  std::free(batch.queries);
  std::free(batch.ends);
  batch.queries = nullptr;
  batch.ends = nullptr;
  batch.capacity = 0;
  batch.rows.release();
}

void release_filter_buffer(ReaderHandle& handle) noexcept {
  std::free(handle.filter);
  handle.filter = nullptr;
  handle.filter_capacity = 0;
}

void release_strings(StringBuffer& strings) noexcept {
  std::free(strings.views);
  strings = {};
}

vic_address make_reader(Reader reader, IndexHandle* index, std::uint32_t dim,
                        StatusBlock* status) noexcept {
  store(status, reader.status());
  if (!reader.status().ok()) return 0;
  auto* query = allocate<float>(dim);
  auto* handle = query == nullptr
                     ? nullptr
                     : new (std::nothrow)
                           ReaderHandle{{}, std::move(reader), index, own_realm(), dim, query};
  if (handle == nullptr) {
    std::free(query);
    return refuse(status, Status(Code::full, dim * sizeof(float)));
  }
  handle->block.k = 10;
  handle->block.min_score = -INFINITY;
  handle->block.certainty = SearchOptions().certainty;
  handle->block.rerank = kRerankUsual;
  handle->block.query = address_of(query);
  return address_of(handle);
}

// For the time of a search with a reader that another realm has lent: this one's membership, by
// which its share of a job is found should it die meanwhile. None for a reader of its own.
[[nodiscard]] Result<std::shared_ptr<Membership>> borrow(const ReaderHandle& handle) noexcept {
  if (handle.realm == own_realm()) return std::shared_ptr<Membership>();
  return join(handle.index);
}

// BAD_ID, BAD_OPTION of strings that the string buffer does not hold.
Result<SearchOptions> options_of(ReaderHandle& handle) noexcept {
  const ReaderBlock& block = handle.block;
  SearchOptions options;
  options.k = block.k;
  options.min_score = block.min_score;
  options.certainty = block.certainty;
  if (block.rerank != kRerankUsual) options.rerank = block.rerank;
  if (block.filter != 0) options.compiled_filter = &at<FilterHandle>(block.filter)->filter;
  if (block.strings == 0) {
    if (block.filtered != 0) options.filter.emplace(handle.filter, block.filter_count);
    if (block.has_after != 0) options.after = Hit{block.after_id, block.after_score};
    return options;
  }
  const std::uint64_t listed = block.filtered != 0 ? block.filter_count : 0;
  const auto strings = handle.strings.list(listed + (block.has_after == 1 ? 1 : 0));
  if (!strings.ok()) return strings.status();
  if (block.filtered != 0) {
    options.string_filter.emplace(strings->first(static_cast<std::size_t>(listed)));
  }
  if (block.has_after == 1) options.string_after = StringHit{strings->back(), block.after_score};
  if (block.has_after == 2) options.string_after = StringHit{{}, block.after_score};
  return options;
}

}  // namespace

vic_address adopt(Index index, StatusBlock* status) noexcept {
  auto* handle = new (std::nothrow) IndexHandle;
  if (handle == nullptr) return refuse(status, Status(Code::full, sizeof(IndexHandle)));
  handle->weak = index.weak();
  handle->doorbell = index.doorbell();
  handle->queue.emplace(index.write_queue());
  handle->index.emplace(std::move(index));
  store(status, Status());
  return address_of(handle);
}

Reader& reader_of(vic_address reader) noexcept { return at<ReaderHandle>(reader)->reader; }

}  // namespace vicinal::wasm

using namespace vicinal::wasm;
using vicinal::Code;
using vicinal::Status;

extern "C" {

VIC_EXPORT(vic_abi_version) std::uint32_t vic_abi_version() { return kAbiVersion; }

VIC_EXPORT(vic_allocate) vic_address vic_allocate(std::uint32_t bytes) {
  if (bytes > 0x7fffffff) return 0;
  return address_of(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
}
VIC_EXPORT(vic_release) void vic_release(vic_address memory) { std::free(at<void>(memory)); }

VIC_EXPORT(vic_index_create) vic_address vic_index_create(vic_address options, vic_address status) {
  auto created = vicinal::Index::create(index_options_of(*at<const OptionsBlock>(options)));
  if (!created.ok()) return refuse(at<StatusBlock>(status), created.status());
  return adopt(std::move(created).value(), at<StatusBlock>(status));
}

VIC_EXPORT(vic_index_release) void vic_index_release(vic_address index) {
  auto* handle = at<IndexHandle>(index);
  handle->queue.reset();
  handle->index.reset();
}

VIC_EXPORT(vic_index_stats)
std::uint32_t vic_index_stats(vic_address index, vic_address stats, vic_address status) {
  auto* block = at<StatsBlock>(stats);
  *block = {};
  const auto member = join(at<IndexHandle>(index));
  if (!member.ok()) return finish(at<StatusBlock>(status), member.status());
  const auto taken = (*member)->index->try_stats();
  if (!taken.ok()) return finish(at<StatusBlock>(status), taken.status());
  *block = {taken->rows, taken->dead, taken->sequence, taken->segment_bytes,
            taken->id_table_bytes, taken->version_bytes, taken->retired_bytes,
            taken->shared_bytes, taken->total_bytes, taken->oldest_sequence, taken->segments,
            taken->readers, taken->readers_max, taken->oldest_slot, taken->ring_depth, taken->dim,
            taken->bits, static_cast<std::uint32_t>(taken->metric), address_of(taken->kernel),
            taken->calibrated ? 1u : 0u, taken->slots_retired, taken->writers_replaced,
            taken->leaked_bytes, taken->searches_shared, taken->chunks_helped, taken->helpers, 0,
            taken->string_bytes,
            taken->original_bytes};
  return finish(at<StatusBlock>(status), Status());
}

VIC_EXPORT(vic_index_close) void vic_index_close(vic_address index) {
  auto owner = at<IndexHandle>(index)->weak.lock();
  if (owner.ok()) owner->close();
}

VIC_EXPORT(vic_index_doorbell) vic_address vic_index_doorbell(vic_address index) {
  return address_of(at<IndexHandle>(index)->doorbell);
}

VIC_EXPORT(vic_index_pump)
std::uint32_t vic_index_pump(vic_address index, std::uint32_t budget_us) {
  auto* handle = at<IndexHandle>(index);
  auto owner = handle->weak.lock();
  if (!owner.ok()) return 0;
  Membership member(handle, std::move(owner).value());
  enlist(member);
  return member.index->pump(budget_us);
}

VIC_EXPORT(vic_message_create)
vic_address vic_message_create(vic_address index, std::uint32_t kind, std::uint32_t count,
                               std::uint32_t text_bytes, vic_address status) {
  auto* owner = at<IndexHandle>(index);
  auto* outcome = at<StatusBlock>(status);
  if (!owner->queue.has_value()) return refuse(outcome, Status(Code::closed));
  if (kind > static_cast<std::uint32_t>(MessageKind::compact)) {
    return refuse(outcome, Status(Code::bad_option));
  }
  auto made = owner->queue->make(static_cast<vicinal::WriteKind>(kind), count, text_bytes);
  if (!made.ok()) return refuse(outcome, made.status());
  auto* handle = new (std::nothrow)
      MessageHandle{{}, owner, std::move(made).value(), owner->index->options().dim};
  if (handle == nullptr) return refuse(outcome, Status(Code::full, sizeof(MessageHandle)));
  store(outcome, Status());
  const auto staging = handle->write.staging();
  handle->block.ids = address_of(handle->write.ids().data());
  handle->block.string_ends = address_of(handle->write.string_ends().data());
  handle->block.text = address_of(handle->write.text().data());
  handle->block.staging = address_of(staging.data());
  handle->block.staging_rows =
      static_cast<std::uint32_t>(staging.size() / owner->index->options().dim);
  handle->block.count = count;
  handle->block.done = address_of(handle->write.done_word());
  return address_of(handle);
}

VIC_EXPORT(vic_message_encode)
std::uint32_t vic_message_encode(vic_address message, std::uint32_t first, std::uint32_t rows) {
  auto* handle = at<MessageHandle>(message);
  const std::size_t dim = handle->index->index->options().dim;
  const auto staging = handle->write.staging();
  if (rows > handle->block.staging_rows) {
    return finish(&handle->block.status, Status(Code::bad_option));
  }
  return finish(&handle->block.status, handle->write.encode(first, staging.first(rows * dim)));
}

VIC_EXPORT(vic_message_encode_apart)
std::uint32_t vic_message_encode_apart(vic_address message, std::uint32_t first,
                                       std::uint32_t rows, vic_address vectors,
                                       vic_address status) {
  const auto* handle = at<MessageHandle>(message);
  return finish(at<StatusBlock>(status),
                handle->write.encode_apart(
                    first, {at<const float>(vectors), std::size_t{rows} * handle->dim}));
}

VIC_EXPORT(vic_message_count_encoded)
void vic_message_count_encoded(vic_address message, std::uint32_t rows) {
  at<MessageHandle>(message)->write.count_encoded(rows);
}

VIC_EXPORT(vic_message_submit) std::uint32_t vic_message_submit(vic_address message) {
  auto* handle = at<MessageHandle>(message);
  if (!handle->index->queue.has_value()) {
    return finish(&handle->block.status, Status(Code::closed));
  }
  return finish(&handle->block.status, handle->index->queue->submit(handle->write));
}

VIC_EXPORT(vic_message_done) std::uint32_t vic_message_done(vic_address message) {
  auto* handle = at<MessageHandle>(message);
  if (!handle->write.done()) return 0;
  if (!handle->settled) {
    const auto result = handle->write.result();
    store(&handle->block.status, result.status());
    handle->block.sequence = result.ok() ? result->sequence : 0;
    handle->block.affected = result.ok() ? result->count : 0;
    handle->settled = true;
  }
  return 1;
}

VIC_EXPORT(vic_message_release) void vic_message_release(vic_address message) {
  delete at<MessageHandle>(message);
}

VIC_EXPORT(vic_reader_open) vic_address vic_reader_open(vic_address index, vic_address status) {
  const auto member = join(at<IndexHandle>(index));
  store(at<StatusBlock>(status), member.status());
  if (!member.ok()) return 0;
  const vicinal::Index through = (*member)->through();
  return make_reader(through.reader(), at<IndexHandle>(index), through.options().dim,
                     at<StatusBlock>(status));
}

VIC_EXPORT(vic_reader_close) void vic_reader_close(vic_address reader) {
  auto* handle = at<ReaderHandle>(reader);
  while (handle->filters != nullptr) delete std::exchange(handle->filters, handle->filters->next);
  release_batch(handle->batch);
  release_filter_buffer(*handle);
  release_strings(handle->strings);
  std::free(handle->query);
  delete handle;
}

VIC_EXPORT(vic_reader_abandon)
void vic_reader_abandon(vic_address reader, std::uint32_t reuse) {
  vicinal::Reader::abandon(std::move(at<ReaderHandle>(reader)->reader), reuse != 0);
}

VIC_EXPORT(vic_reader_snapshot)
vic_address vic_reader_snapshot(vic_address reader, vic_address status) {
  auto* handle = at<ReaderHandle>(reader);
  return make_reader(handle->reader.snapshot(), handle->index, handle->dim,
                     at<StatusBlock>(status));
}

VIC_EXPORT(vic_reader_filter_buffer)
vic_address vic_reader_filter_buffer(vic_address reader, std::uint32_t count) {
  auto* handle = at<ReaderHandle>(reader);
  if (handle->filter == nullptr || count > handle->filter_capacity) {
    const std::uint32_t capacity = count < 64 ? 64 : count;
    auto* fresh = allocate<std::uint64_t>(capacity);
    if (fresh == nullptr) return 0;
    std::free(handle->filter);
    handle->filter = fresh;
    handle->filter_capacity = capacity;
  }
  return address_of(handle->filter);
}

VIC_EXPORT(vic_reader_string_buffer)
vic_address vic_reader_string_buffer(vic_address reader, std::uint32_t count,
                                     std::uint32_t text_bytes) {
  StringBuffer& strings = at<ReaderHandle>(reader)->strings;
  const std::uint64_t bytes =
      std::uint64_t{count} * (sizeof(std::string_view) + sizeof(std::uint32_t)) + text_bytes;
  if (strings.views == nullptr || bytes > strings.capacity) {
    const std::uint64_t capacity = bytes < 1024 ? 1024 : bytes;
    auto* fresh = allocate<std::byte>(capacity);
    if (fresh == nullptr) return 0;
    release_strings(strings);
    strings.views = reinterpret_cast<std::string_view*>(fresh);
    strings.capacity = capacity;
  }
  strings.count = count;
  strings.text_bytes = text_bytes;
  return address_of(strings.ends());
}

VIC_EXPORT(vic_reader_filter_create)
vic_address vic_reader_filter_create(vic_address reader, std::uint32_t count) {
  auto* handle = at<ReaderHandle>(reader);
  StatusBlock* status = &handle->block.status;
  auto made = [&]() -> vicinal::Result<vicinal::Filter> {
    if (handle->block.strings == 0) {
      if (count > handle->filter_capacity) return Status(Code::bad_option);
      return handle->reader.filter(std::span<const std::uint64_t>(handle->filter, count));
    }
    const auto listed = handle->strings.list(count);
    if (!listed.ok()) return listed.status();
    return handle->reader.filter(*listed);
  }();
  release_filter_buffer(*handle);
  release_strings(handle->strings);
  if (!made.ok()) return refuse(status, made.status());
  auto* filter = new (std::nothrow) FilterHandle{std::move(made).value(), handle->filters};
  if (filter == nullptr) return refuse(status, Status(Code::full, sizeof(FilterHandle)));
  handle->filters = filter;
  store(status, Status());
  return address_of(filter);
}

VIC_EXPORT(vic_reader_filter_release)
void vic_reader_filter_release(vic_address reader, vic_address filter) {
  FilterHandle** at_link = &at<ReaderHandle>(reader)->filters;
  while (*at_link != nullptr && address_of(*at_link) != filter) at_link = &(*at_link)->next;
  if (*at_link != nullptr) delete std::exchange(*at_link, (*at_link)->next);
}

VIC_EXPORT(vic_reader_search) std::uint32_t vic_reader_search(vic_address reader) {
  auto* handle = at<ReaderHandle>(reader);
  ReaderBlock& block = handle->block;
  block.hit_count = 0;
  const auto member = borrow(*handle);
  if (!member.ok()) return finish(&block.status, member.status());
  const auto options = options_of(*handle);
  if (!options.ok()) return finish(&block.status, options.status());
  const auto found = handle->reader.search({handle->query, handle->dim}, *options);
  if (!found.ok()) return finish(&block.status, found.status());
  block.hit_count = static_cast<std::uint32_t>(found->size());
  block.hit_ids = address_of(found->ids().data());
  block.hit_scores = address_of(found->scores().data());
  block.hit_text = address_of(found->string_ids().text());
  block.hit_text_offsets = address_of(found->string_ids().offsets());
  block.sequence = found->sequence();
  block.rows_estimated = found->rows_estimated;
  block.rows_scored = found->rows_scored;
  block.reranked = found->reranked ? 1 : 0;
  return finish(&block.status, Status());
}

VIC_EXPORT(vic_reader_batch_buffer)
vic_address vic_reader_batch_buffer(vic_address reader, std::uint32_t count) {
  auto* handle = at<ReaderHandle>(reader);
  Batch& batch = handle->batch;
  if (count == 0 || count > batch.capacity) {
    release_batch(batch);  // first, so that the new one can lie in its place
    handle->block.hit_count = 0;
    handle->block.batch_ends = 0;
    if (count == 0) return 0;
    batch.queries = allocate<float>(std::uint64_t{count} * handle->dim);
    batch.ends = allocate<std::uint32_t>(count);
    if (batch.queries == nullptr || batch.ends == nullptr) {
      release_batch(batch);
      return 0;
    }
    batch.capacity = count;
    handle->block.batch_ends = address_of(batch.ends);
  }
  return address_of(batch.queries);
}

VIC_EXPORT(vic_reader_search_batch)
std::uint32_t vic_reader_search_batch(vic_address reader, std::uint32_t count) {
  auto* handle = at<ReaderHandle>(reader);
  ReaderBlock& block = handle->block;
  Batch& batch = handle->batch;
  block.hit_count = 0;
  block.rows_estimated = block.rows_scored = 0;
  block.reranked = 0;
  batch.rows.clear();
  if (count > batch.capacity) return finish(&block.status, Status(Code::bad_option));
  const auto options = options_of(*handle);
  if (!options.ok()) return finish(&block.status, options.status());
  Status kept;
  const Status searched = handle->reader.search_each(
      {batch.queries, std::size_t{count} * handle->dim}, *options,
      [&](std::size_t query, const vicinal::Hits& hits) noexcept {
        if (kept.ok()) kept = batch.rows.append(hits);
        batch.ends[query] = static_cast<std::uint32_t>(batch.rows.size());
        block.sequence = hits.sequence();
        block.rows_estimated += hits.rows_estimated;
        block.rows_scored += hits.rows_scored;
        block.reranked = hits.reranked ? 1 : 0;
      });
  if (!searched.ok() || !kept.ok()) return finish(&block.status, searched.ok() ? kept : searched);
  block.hit_count = static_cast<std::uint32_t>(batch.rows.size());
  block.hit_ids = address_of(batch.rows.ids());
  block.hit_scores = address_of(batch.rows.scores());
  block.hit_text = address_of(batch.rows.text());
  block.hit_text_offsets = address_of(batch.rows.text_offsets());
  return finish(&block.status, Status());
}

VIC_EXPORT(vic_reader_has) std::uint32_t vic_reader_has(vic_address reader) {
  auto* handle = at<ReaderHandle>(reader);
  bool found = false;
  if (handle->block.strings != 0) {
    const auto id = handle->strings.list(1);
    if (!id.ok()) return finish(&handle->block.status, id.status());
    found = handle->reader.has(id->front());
  } else {
    found = handle->reader.has(handle->block.id);
  }
  handle->block.found = found ? 1 : 0;
  return finish(&handle->block.status, handle->reader.status());
}

VIC_EXPORT(vic_reader_get) std::uint32_t vic_reader_get(vic_address reader) {
  auto* handle = at<ReaderHandle>(reader);
  const std::span<float> vector(handle->query, handle->dim);
  Status got;
  if (handle->block.strings != 0) {
    const auto id = handle->strings.list(1);
    got = id.ok() ? handle->reader.get_into(id->front(), vector) : id.status();
  } else {
    got = handle->reader.get_into(handle->block.id, vector);
  }
  handle->block.found = got.ok() ? 1 : 0;
  const bool answered = got.ok() || got.code() == Code::unknown_id;
  return finish(&handle->block.status, answered ? Status() : got);
}

VIC_EXPORT(vic_reader_refresh) std::uint32_t vic_reader_refresh(vic_address reader) {
  auto* handle = at<ReaderHandle>(reader);
  const auto size = handle->reader.count();
  handle->block.rows = size.rows;
  handle->block.sequence = size.sequence;
  return finish(&handle->block.status, handle->reader.status());
}

}  // extern "C"
