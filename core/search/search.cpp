#include "search/search.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "search/buffers.hpp"
#include "search/help_pool.hpp"
#include "search/id_filter.hpp"
#include "search/rerank.hpp"
#include "quant/original_row.hpp"
#include "search/wave.hpp"

namespace vicinal::search {
namespace {

[[nodiscard]] bool is_nan(float value) noexcept {
  return value != value;
}

[[nodiscard]] Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

[[nodiscard]] bool reranks(const SearchOptions& options) noexcept {
  return options.rerank.value_or(0) != 0;
}

[[nodiscard]] Status check(const quant::CodeLayout& layout, std::span<const float> queries,
                           std::size_t first, const SearchOptions& options) noexcept {
  if (is_nan(options.certainty) || options.certainty < 0) return bad_option(OptionName::certainty);
  if (is_nan(options.min_score)) return bad_option(OptionName::min_score);
  if (options.after && (is_nan(options.after->score) || reranks(options))) {
    return bad_option(OptionName::after);
  }
  for (std::size_t i = 0; i * layout.dim < queries.size(); ++i) {
    const float* query = queries.data() + i * layout.dim;
    const Status status = quant::Quantiser::validate(query, layout.dim, first + i);
    if (!status.ok()) return status;
  }
  return {};
}

// Working memory of a wave, roughly.
constexpr std::size_t kWaveBytes = std::size_t{16} << 20;

[[nodiscard]] bool asks_exhaustive(const SearchOptions& options) noexcept {
  return options.exhaustive || options.certainty > quant::kCertaintyMax;
}

// Rows that the walk has to find.
[[nodiscard]] std::size_t candidates_of(const SearchOptions& options, std::uint64_t rows) noexcept {
  const std::uint64_t wanted = std::max(options.k, options.rerank.value_or(0));
  return static_cast<std::size_t>(std::min(wanted, rows));
}

// What the walk looks for. With re-ranking, candidates of any score, and with half the certainty: a
// row that is skipped by mistake has its bound near the last candidate's, far below the best k.
[[nodiscard]] SearchOptions options_of_walk(const SearchOptions& options) noexcept {
  SearchOptions walk = options;
  if (!reranks(options)) return walk;
  walk.min_score = -std::numeric_limits<float>::infinity();
  walk.certainty /= 2;
  return walk;
}

// Walks all rows of the version, the later ones with the help of others where that pays.
void walk(Wave& wave, const SearchOptions& options, const WaveMemory& memory,
          Scratch::Buffers& buffers, HelpPool* pool) noexcept {
  const segment::Version& version = wave.shared().version;
  if (wave.allowed() != nullptr && is_sparse(version, *wave.allowed())) return wave.walk_listed();
  const BlockPosition end = end_of(version);
  BlockPosition at;
  if (pool != nullptr) {
    const quant::CodeLayout& layout = wave.shared().quantiser.layout();
    const std::uint64_t block_bytes =
        wave.scans().size() * (wave.exhaustive() ? simd::kBlockRows * layout.packed_row_bytes
                                                 : layout.plane_block_bytes);
    std::uint64_t left = (version.live_rows + version.dead_rows) / simd::kBlockRows * block_bytes;
    for (std::uint64_t done = 0; at != end && left >= pool->limits().ask_for_bytes;) {
      if (done >= pool->limits().ask_after_bytes && pool->may_ask()) {
        wave.flush();  // helpers begin with the threshold of what was walked
        const HelpPool::Asked asked =
            pool->ask(wave, options, memory, buffers.prepare.data(), at);
        if (asked.job == nullptr) break;
        asked.job->work(wave);
        pool->close(asked);
        return;
      }
      std::uint64_t blocks = 0;
      const BlockPosition next = advance(version, at, pool->limits().chunk_blocks, &blocks);
      wave.walk(at, next);
      at = next;
      done += blocks * block_bytes;
      left -= std::min(left, blocks * block_bytes);
    }
  }
  wave.walk(at, end);
}

// What the search's filter allows, or null where it has none.
[[nodiscard]] Status allow(const segment::Version& version, const SearchOptions& options,
                           IdFilter* filter, AllowedRows& listed,
                           const AllowedRows** allowed) noexcept {
  if (filter != nullptr) {
    *allowed = &filter->allowed();
    return filter->update(version);
  }
  if (!options.filter && !options.string_filter) return {};
  *allowed = &listed;
  return options.filter ? listed.resolve(version, *options.filter)
                        : listed.resolve(version, *options.string_filter);
}

// Ranks anew what `collect` has put there for each query (dim floats, one after the other).
void rerank_all(const Scan::Shared& shared, std::span<const float> queries,
                const WaveMemory& memory, const SearchOptions& options,
                Scratch::Buffers& buffers, std::span<Found> found) noexcept {
  const std::size_t dim = shared.quantiser.layout().dim;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t count = found[i].ids.size();
    const Candidates candidates{
        {buffers.ids.as<std::uint64_t>() + i * memory.k, count},
        {buffers.scores.as<float>() + i * memory.k, count},
        {buffers.slots.as<segment::Slot>(), count},
        {buffers.rows.as<Hit>(), count}};
    const std::size_t kept = rerank(shared.version, shared.quantiser, queries.data() + i * dim,
                                    options.k, options.min_score, candidates);
    found[i].ids = candidates.ids.first(kept);
    found[i].scores = candidates.scores.first(kept);
  }
}

// Results of all scans, one after the other, into the scratch.
void collect(std::span<Scan* const> scans, std::size_t k, Scratch::Buffers& buffers,
             Found* found) noexcept {
  auto* ids = buffers.ids.as<std::uint64_t>();
  auto* scores = buffers.scores.as<float>();
  for (std::size_t i = 0; i < scans.size(); ++i) {
    const std::size_t count = scans[i]->top().finish(ids + i * k, scores + i * k);
    found[i].ids = {ids + i * k, count};
    found[i].scores = {scores + i * k, count};
    found[i].rows_estimated = scans[i]->rows_estimated();
    found[i].rows_scored = scans[i]->rows_scored();
  }
}

}  // namespace

Scratch::Scratch(std::unique_ptr<Buffers> buffers, HelpPool* help)
    : buffers_(std::move(buffers)), help_(help) {}

Scratch::~Scratch() = default;

Result<std::unique_ptr<Scratch>> Scratch::create(const quant::Quantiser& quantiser,
                                                 HelpPool* help) {
  std::unique_ptr<Buffers> buffers(new (std::nothrow) Buffers);
  if (buffers == nullptr) return Status(Code::full, sizeof(Buffers));
  Status status = reserve(buffers->prepare, quantiser.prepare_scratch_bytes());
  if (status.ok()) {
    status = reserve(buffers->rest, quantiser.layout().rest_bytes + simd::kOverread);
  }
  if (!status.ok()) return status;
  std::unique_ptr<Scratch> scratch(new (std::nothrow) Scratch(std::move(buffers), help));
  if (scratch == nullptr) return Status(Code::full, sizeof(Scratch));
  return scratch;
}

std::size_t wave_queries(const segment::Version& version, const quant::Quantiser& quantiser,
                         const SearchOptions& options) noexcept {
  const std::size_t k = candidates_of(options, std::max<std::uint64_t>(version.live_rows, 1));
  const WaveMemory memory(quantiser, k, version.live_rows, asks_exhaustive(options));
  return std::clamp<std::size_t>(kWaveBytes / memory.query_bytes(), 1, kWaveQueriesMax);
}

Status search_wave(const segment::Version& version, const quant::Quantiser& quantiser,
                   std::span<const float> queries, std::size_t first,
                   const SearchOptions& options, IdFilter* filter, Scratch& scratch,
                   std::span<Found> found) noexcept {
  const quant::CodeLayout& layout = quantiser.layout();
  const std::size_t count = found.size();
  VICINAL_ASSERT(count > 0 && count <= kWaveQueriesMax);
  VICINAL_ASSERT(queries.size() == count * layout.dim);
  Found nothing;
  nothing.reranked = reranks(options);
  std::fill(found.begin(), found.end(), nothing);
  if (Status status = check(layout, queries, first, options); !status.ok()) return status;
  if (version.sequence < options.min_sequence) {
    return Status(Code::would_block, version.sequence, options.min_sequence);
  }

  Scratch::Buffers& buffers = *scratch.buffers_;
  if (options.k == 0 || version.live_rows == 0) return {};
  AllowedRows listed(buffers.masks, buffers.touched);
  const AllowedRows* allowed = nullptr;
  if (Status status = allow(version, options, filter, listed, &allowed); !status.ok()) {
    return status;
  }
  const std::uint64_t eligible =
      allowed == nullptr ? version.live_rows : std::min(allowed->rows(), version.live_rows);
  if (eligible == 0) return {};
  const bool asked = asks_exhaustive(options);
  const std::size_t k = candidates_of(options, eligible);
  const WaveMemory memory(quantiser, k, eligible, asked);
  if (Status status = memory.reserve_for(count, buffers); !status.ok()) return status;
  if (reranks(options)) {
    Status status = reserve(buffers.slots, k * sizeof(segment::Slot));
    if (!status.ok()) return status;
  }

  const Scan::Shared shared{version, quantiser, k, eligible, buffers.rest.as<std::uint8_t>()};
  const SearchOptions walk_options = options_of_walk(options);
  const float certainty = asked ? std::numeric_limits<float>::infinity() : walk_options.certainty;
  const AllowedBlocks blocks = allowed == nullptr ? AllowedBlocks{} : allowed->view();
  Wave wave(shared, allowed == nullptr ? nullptr : &blocks, asked);
  for (std::size_t i = 0; i < count; ++i) {
    const quant::PreparedQuery prepared =
        quantiser.prepare(queries.data() + i * layout.dim, certainty,
                          buffers.prepare.data() + i * memory.prepare_bytes, version.origin());
    wave.add(prepared, memory.top(i, walk_options.min_score, options.after, buffers),
             memory.deferred(i, buffers), Scan::Start::first_rows);
  }
  walk(wave, walk_options, memory, buffers, scratch.help_);
  wave.finish();
  collect(wave.scans(), k, buffers, found.data());
  if (reranks(options)) rerank_all(shared, queries, memory, options, buffers, found);
  return {};
}

Status search(const segment::Version& version, const quant::Quantiser& quantiser,
              std::span<const float> query, const SearchOptions& options, IdFilter* filter,
              Scratch& scratch, Found* found) noexcept {
  VICINAL_ASSERT(found != nullptr);
  *found = {};
  const std::uint32_t dim = quantiser.layout().dim;
  if (query.size() != dim) return Status(Code::dimension, query.size(), dim);
  return search_wave(version, quantiser, query, 0, options, filter, scratch, {found, 1});
}

Status decode_row(const segment::Version& version, const quant::Quantiser& quantiser,
                  segment::Slot slot, Scratch& scratch, float* vector) {
  const segment::SegmentView* view = version.view(slot.segment());
  VICINAL_ASSERT(view != nullptr && view->is_live(slot.row()));
  if (!view->block_is_sound(slot.row() / simd::kBlockRows)) return Status(Code::corrupt);
  const quant::CodeLayout& layout = quantiser.layout();
  const segment::OriginalRows& originals = view->segment->originals();
  if (originals.any()) {
    const Originals kind = originals.row_bytes() == layout.dim * sizeof(float)
                               ? Originals::float32
                               : Originals::float16;
    quant::load_original(kind, originals.row(slot.row()), layout.dim, vector);
    return {};
  }
  const std::size_t packed_bytes =
      round_up(layout.packed_row_bytes + simd::kOverread, simd::kAlignment);
  AlignedBuffer& buffer = scratch.buffers_->decode;
  if (Status status = reserve(buffer, packed_bytes + quantiser.encode_scratch_bytes());
      !status.ok()) {
    return status;
  }
  auto* packed = buffer.as<std::uint8_t>();
  view->copy_packed_row(layout, slot.row(), packed);
  quantiser.decode(packed, view->segment->factors(slot.row()), buffer.data() + packed_bytes,
                   vector, version.origin());
  return {};
}

}  // namespace vicinal::search
