#include "search/search.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "base/bits.hpp"
#include "search/buffers.hpp"
#include "search/id_filter.hpp"
#include "search/scan.hpp"

namespace vicinal::search {
namespace {

[[nodiscard]] bool is_nan(float value) noexcept {
  return value != value;
}

[[nodiscard]] Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

[[nodiscard]] Status check(const quant::CodeLayout& layout, std::span<const float> queries,
                           std::size_t first, const SearchOptions& options) noexcept {
  if (is_nan(options.certainty) || options.certainty < 0) return bad_option(OptionName::certainty);
  if (is_nan(options.min_score)) return bad_option(OptionName::min_score);
  if (options.after && is_nan(options.after->score)) return bad_option(OptionName::after);
  for (std::size_t i = 0; i * layout.dim < queries.size(); ++i) {
    const float* query = queries.data() + i * layout.dim;
    const Status status = quant::Quantiser::validate(query, layout.dim, first + i);
    if (!status.ok()) return status;
  }
  return {};
}

// A tile is walked once for each four queries of a wave, from the second-level cache.
constexpr std::size_t kTileBytes = std::size_t{256} << 10;
constexpr std::uint32_t kTileRuns = 64;
// Working memory of a wave, roughly.
constexpr std::size_t kWaveBytes = std::size_t{16} << 20;

[[nodiscard]] bool asks_exhaustive(const SearchOptions& options) noexcept {
  return options.exhaustive || options.certainty > quant::kCertaintyMax;
}

// The arrays of a wave, a slice a query.
struct WaveMemory {
  std::size_t k;
  std::size_t prepare_bytes;
  std::size_t top_places;
  std::size_t deferred_places;

  WaveMemory(const quant::Quantiser& quantiser, std::size_t count, std::uint64_t eligible,
             bool exhaustive) noexcept
      : k(count),
        prepare_bytes(round_up(quantiser.prepare_scratch_bytes(), simd::kAlignment)),
        top_places(TopRows::places(count)),
        deferred_places(exhaustive ? 0 : Scan::deferred_places(eligible)) {}

  [[nodiscard]] std::size_t query_bytes() const noexcept {
    return prepare_bytes + top_places * sizeof(Hit) + deferred_places * sizeof(DeferredRow) +
           k * (sizeof(std::uint64_t) + sizeof(float));
  }
  [[nodiscard]] Status reserve_for(std::size_t queries, Scratch::Buffers& buffers) const noexcept {
    Status status = reserve(buffers.prepare, queries * prepare_bytes);
    if (status.ok()) status = reserve(buffers.rows, queries * top_places * sizeof(Hit));
    if (status.ok()) status = reserve(buffers.ids, queries * k * sizeof(std::uint64_t));
    if (status.ok()) status = reserve(buffers.scores, queries * k * sizeof(float));
    if (status.ok()) {
      status = reserve(buffers.deferred, queries * deferred_places * sizeof(DeferredRow));
    }
    return status;
  }
  [[nodiscard]] TopRows top(std::size_t query, const SearchOptions& options,
                            Scratch::Buffers& buffers) const noexcept {
    return TopRows({buffers.rows.as<Hit>() + query * top_places, top_places}, k, options.min_score,
                   options.after);
  }
  [[nodiscard]] DeferredRows deferred(std::size_t query,
                                      Scratch::Buffers& buffers) const noexcept {
    auto* places = buffers.deferred.as<DeferredRow>() + query * deferred_places;
    return DeferredRows({places, deferred_places});
  }
};

[[nodiscard]] std::size_t clamped_k(const SearchOptions& options, std::uint64_t rows) noexcept {
  return static_cast<std::size_t>(std::min<std::uint64_t>(options.k, rows));
}

// The scans of a wave's queries, in place: their number is known at run time only.
class WaveScans {
 public:
  WaveScans() = default;
  WaveScans(const WaveScans&) = delete;
  WaveScans& operator=(const WaveScans&) = delete;
  ~WaveScans() {
    for (std::size_t i = 0; i < count_; ++i) scans_[i]->~Scan();
  }
  template <class... Arguments>
  void add(const Arguments&... arguments) noexcept {
    VICINAL_ASSERT(count_ < kWaveQueriesMax);
    scans_[count_] = new (memory_ + count_ * sizeof(Scan)) Scan(arguments...);
    ++count_;
  }
  [[nodiscard]] std::span<Scan* const> all() const noexcept { return {scans_, count_}; }

 private:
  alignas(Scan) std::byte memory_[kWaveQueriesMax * sizeof(Scan)];
  Scan* scans_[kWaveQueriesMax] = {};
  std::size_t count_ = 0;
};

// Runs that several scans share.
class Tile {
 public:
  Tile(std::span<Scan* const> scans, std::size_t plane_bytes) noexcept
      : scans_(scans), runs_max_(runs_of(plane_bytes)) {}

  void add(const BlockRun& run) noexcept {
    runs_[count_++] = run;
    if (count_ == runs_max_) flush();
  }

  void flush() noexcept {
    for (std::size_t at = 0; at < scans_.size(); at += simd::kScanQueries) {
      const std::size_t count = std::min<std::size_t>(simd::kScanQueries, scans_.size() - at);
      for (std::uint32_t i = 0; i < count_; ++i) {
        Scan::estimate(runs_[i], scans_.data() + at, static_cast<std::uint32_t>(count));
      }
    }
    count_ = 0;
  }

 private:
  [[nodiscard]] static std::uint32_t runs_of(std::size_t plane_bytes) noexcept {
    const std::size_t runs = kTileBytes / (kRunBlocks * plane_bytes);
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(runs, 1, kTileRuns));
  }

  std::span<Scan* const> scans_;
  std::uint32_t runs_max_;
  std::uint32_t count_ = 0;
  BlockRun runs_[kTileRuns];
};

void estimate_all(const segment::Version& version, const AllowedRows* allowed,
                  std::span<Scan* const> scans, std::size_t plane_bytes) noexcept {
  if (scans.size() == 1) {  // without the copy of a tile
    visit_runs(version, allowed,
               [&](const BlockRun& run) { Scan::estimate(run, scans.data(), 1); });
  } else {
    Tile tile(scans, plane_bytes);
    visit_runs(version, allowed, [&](const BlockRun& run) { tile.add(run); });
    tile.flush();
  }
  for (Scan* scan : scans) scan->finish();
}

void score_all(const segment::Version& version, const AllowedRows* allowed,
               std::span<Scan* const> scans) noexcept {
  visit_runs(version, allowed, [&](const BlockRun& run) {
    for (Scan* scan : scans) scan->score_run(run);
  });
}

// A query without a direction has no estimates: its rows are scored, as all are where `asked`.
void run(const segment::Version& version, const AllowedRows* allowed,
         std::span<Scan* const> scans, bool asked, std::size_t plane_bytes) noexcept {
  Scan* estimated[kWaveQueriesMax];
  Scan* scored[kWaveQueriesMax];
  std::size_t estimated_count = 0;
  std::size_t scored_count = 0;
  for (Scan* scan : scans) {
    if (asked || scan->zero_query()) {
      scored[scored_count++] = scan;
    } else {
      estimated[estimated_count++] = scan;
    }
  }
  if (estimated_count != 0) {
    estimate_all(version, allowed, {estimated, estimated_count}, plane_bytes);
  }
  if (scored_count != 0) score_all(version, allowed, {scored, scored_count});
}

// What the search's filter allows, or null where it has none.
[[nodiscard]] Status allow(const segment::Version& version, const SearchOptions& options,
                           IdFilter* filter, AllowedRows& listed,
                           const AllowedRows** allowed) noexcept {
  if (filter != nullptr) {
    *allowed = &filter->allowed();
    return filter->update(version);
  }
  if (!options.filter) return {};
  *allowed = &listed;
  return listed.resolve(version, *options.filter);
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

Scratch::Scratch(std::unique_ptr<Buffers> buffers) : buffers_(std::move(buffers)) {}

Scratch::~Scratch() = default;

Result<std::unique_ptr<Scratch>> Scratch::create(const quant::Quantiser& quantiser) {
  std::unique_ptr<Buffers> buffers(new (std::nothrow) Buffers);
  if (buffers == nullptr) return Status(Code::full, sizeof(Buffers));
  Status status = reserve(buffers->prepare, quantiser.prepare_scratch_bytes());
  if (status.ok()) {
    status = reserve(buffers->rest, quantiser.layout().rest_bytes + simd::kOverread);
  }
  if (!status.ok()) return status;
  std::unique_ptr<Scratch> scratch(new (std::nothrow) Scratch(std::move(buffers)));
  if (scratch == nullptr) return Status(Code::full, sizeof(Scratch));
  return scratch;
}

std::size_t wave_queries(const segment::Version& version, const quant::Quantiser& quantiser,
                         const SearchOptions& options) noexcept {
  const std::size_t k = clamped_k(options, std::max<std::uint64_t>(version.live_rows, 1));
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
  std::fill(found.begin(), found.end(), Found{});
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
  const std::size_t k = clamped_k(options, eligible);
  const WaveMemory memory(quantiser, k, eligible, asked);
  if (Status status = memory.reserve_for(count, buffers); !status.ok()) return status;

  const Scan::Shared shared{version, quantiser, k, eligible, buffers.rest.as<std::uint8_t>()};
  const float certainty = asked ? std::numeric_limits<float>::infinity() : options.certainty;
  WaveScans scans;
  for (std::size_t i = 0; i < count; ++i) {
    const quant::PreparedQuery prepared =
        quantiser.prepare(queries.data() + i * layout.dim, certainty,
                          buffers.prepare.data() + i * memory.prepare_bytes, version.origin());
    scans.add(shared, prepared, memory.top(i, options, buffers), memory.deferred(i, buffers));
  }
  run(version, allowed, scans.all(), asked, layout.plane_block_bytes);
  collect(scans.all(), k, buffers, found.data());
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
  const quant::CodeLayout& layout = quantiser.layout();
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
