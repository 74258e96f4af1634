#include "search/scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "search/buffers.hpp"
#include "simd/bound.hpp"
#include "simd/prefetch.hpp"

namespace vicinal::search {
namespace {

using segment::SegmentView;
using segment::Version;
using simd::kBlockRows;

constexpr std::size_t kCacheLineBytes = 64;

// Where a filter allows rows in fewer than one of so many blocks, its list of blocks is walked
// instead of the directory: that costs a jump a block, the directory a word a block.
constexpr std::uint64_t kSparsePart = 16;

// The factors of a block's 32 rows as the kernels read them. Of a block that the version shows only
// in part they are copied: the writer may be filling the rows behind it.
class BlockFactors {
 public:
  BlockFactors(const SegmentView& view, std::uint32_t block) noexcept {
    const std::uint32_t first = block * kBlockRows;
    const std::uint32_t rows = view.rows - first;
    plane_scale_ = view.segment->plane_scales() + first;
    plane_cosine2_ = view.segment->plane_cosines2() + first;
    if (rows < kBlockRows) copy(rows);
  }
  BlockFactors(const BlockFactors&) = delete;
  BlockFactors& operator=(const BlockFactors&) = delete;

  [[nodiscard]] const float* plane_scale() const noexcept { return plane_scale_; }
  [[nodiscard]] const float* plane_cosine2() const noexcept { return plane_cosine2_; }

 private:
  void copy(std::uint32_t rows) noexcept {
    VICINAL_ASSERT(rows > 0 && rows < kBlockRows);
    std::memset(&copy_, 0, sizeof copy_);
    std::memcpy(copy_.plane_scale, plane_scale_, rows * sizeof(float));
    std::memcpy(copy_.plane_cosine2, plane_cosine2_, rows * sizeof(float));
    plane_scale_ = copy_.plane_scale;
    plane_cosine2_ = copy_.plane_cosine2;
  }

  const float* plane_scale_;
  const float* plane_cosine2_;
  struct {
    alignas(simd::kAlignment) float plane_scale[kBlockRows];
    float plane_cosine2[kBlockRows];
    std::uint8_t overread[simd::kOverread];
  } copy_;  // set where a block is copied
};

// The first guess at the final threshold is made after so many bytes of sign planes, while they are
// in the second-level cache, or so many rows; the next ones each time twice as many rows are seen.
constexpr std::size_t kFirstSettleBytes = std::size_t{256} << 10;
constexpr std::uint64_t kFirstSettleRows = 1024;
// So few rows are always scored in order to have a threshold at all: without one every row is
// deferred.
constexpr std::size_t kHeldAnyway = 32;
// Rows that may be deferred: 256 KiB of them.
constexpr std::uint64_t kDeferredMax = 32768;
static_assert(kDeferredMax >= 2 * kFirstSettleRows);
// Lines of a deferred row's plane that are fetched ahead; the hardware follows.
constexpr std::size_t kPlaneLinesAhead = 8;

// How many of the best k of all rows to expect among `seen` of `all` rows, if those were drawn at
// random: the mean, a standard deviation, and a few. Too many, and rows are scored that a later
// threshold would have skipped; too few, and rows are deferred that must be scored anyway.
[[nodiscard]] std::size_t expected_best(std::size_t k, std::uint64_t seen,
                                        std::uint64_t all) noexcept {
  constexpr std::size_t kFew = 3;
  VICINAL_ASSERT(seen <= all && all > 0);
  const double part = static_cast<double>(seen) / static_cast<double>(all);
  const double mean = static_cast<double>(k) * part;
  return std::min(k, static_cast<std::size_t>(mean + std::sqrt(mean)) + kFew);
}

// Nearly every block is whole, and without an instruction for it counting is a call.
[[nodiscard]] std::uint32_t count_lanes(std::uint32_t lanes) noexcept {
  return lanes == ~std::uint32_t{0} ? kBlockRows
                                    : static_cast<std::uint32_t>(std::popcount(lanes));
}

[[nodiscard]] bool is_exhaustive(const SearchOptions& options, bool zero_query) noexcept {
  return options.exhaustive || zero_query || options.certainty > kCertaintyMax;
}

}  // namespace

Scan::Scan(const Version& version, const quant::Quantiser& quantiser,
           const quant::PreparedQuery& query, TopRows& top, DeferredRows& deferred, std::size_t k,
           std::uint64_t eligible, std::uint8_t* rest_copy) noexcept
    : version_(version),
      query_(query),
      kernels_(quantiser.kernels()),
      levels_(quantiser.levels()),
      code_dot_(kernels_.code_dot[simd::bits_index(quantiser.layout().bits)]),
      rest_bytes_(quantiser.layout().rest_bytes),
      rest_copy_(rest_copy),
      top_(top),
      deferred_(deferred),
      k_(k),
      eligible_(eligible),
      settle_next_(std::min<std::uint64_t>(kFirstSettleRows,
                                           kFirstSettleBytes / quantiser.layout().sign_bytes)),
      level_(std::numeric_limits<float>::infinity()) {}

std::size_t Scan::deferred_places(std::uint64_t eligible) noexcept {
  return static_cast<std::size_t>(std::min(eligible, kDeferredMax)) + kBlockRows;
}

Status Scan::search(const Version& version, const quant::Quantiser& quantiser,
                    std::span<const float> query, const SearchOptions& options, Scratch& scratch,
                    Found* found) noexcept {
  VICINAL_ASSERT(query.size() == quantiser.layout().dim);
  Scratch::Buffers& buffers = *scratch.buffers_;
  AllowedRows allowed(buffers.masks, buffers.touched);
  std::uint64_t eligible = version.live_rows;
  if (options.k == 0 || eligible == 0) return {};
  if (options.filter) {
    if (Status status = allowed.resolve(version, *options.filter); !status.ok()) return status;
    eligible = allowed.rows();
    if (eligible == 0) return {};
  }
  VICINAL_ASSERT(eligible <= version.live_rows);
  const auto k = static_cast<std::size_t>(std::min<std::uint64_t>(options.k, eligible));
  const std::size_t places = TopRows::places(k);
  Status status = reserve(buffers.rows, places * sizeof(Hit));
  if (status.ok()) status = reserve(buffers.ids, k * sizeof(std::uint64_t));
  if (status.ok()) status = reserve(buffers.scores, k * sizeof(float));
  const bool asked = is_exhaustive(options, false);
  const std::size_t deferred_places = asked ? 0 : Scan::deferred_places(eligible);
  if (status.ok()) status = reserve(buffers.deferred, deferred_places * sizeof(DeferredRow));
  if (!status.ok()) return status;

  const quant::PreparedQuery prepared =
      quantiser.prepare(query.data(), asked ? 0 : options.certainty, buffers.prepare.data());
  TopRows top({buffers.rows.as<Hit>(), places}, k, options.min_score, options.after);
  DeferredRows deferred({buffers.deferred.as<DeferredRow>(), deferred_places});
  Scan scan(version, quantiser, prepared, top, deferred, k, eligible,
            buffers.rest.as<std::uint8_t>());
  scan.run(options.filter ? &allowed : nullptr, is_exhaustive(options, prepared.zero));

  const std::size_t count =
      top.finish(buffers.ids.as<std::uint64_t>(), buffers.scores.as<float>());
  found->ids = {buffers.ids.as<std::uint64_t>(), count};
  found->scores = {buffers.scores.as<float>(), count};
  found->rows_estimated = scan.rows_estimated_;
  found->rows_scored = scan.rows_scored_;
  return {};
}

void Scan::run(const AllowedRows* allowed, bool exhaustive) noexcept {
  if (exhaustive) {
    visit_blocks(allowed, [this](const SegmentView& view, std::uint32_t block,
                                 std::uint32_t lanes) { score_all(view, block, lanes); });
    return;
  }
  visit_blocks(allowed, [this](const SegmentView& view, std::uint32_t block,
                               std::uint32_t lanes) { scan_plane(view, block, lanes); });
  settle(k_);
  VICINAL_ASSERT(deferred_.size() == 0 && waiting_count_ == 0);
}

template <class Visit>
void Scan::visit_blocks(const AllowedRows* allowed, Visit visit) noexcept {
  const std::uint64_t blocks = (version_.live_rows + version_.dead_rows) / kBlockRows;
  if (allowed != nullptr && allowed->blocks().size() * kSparsePart < blocks) {
    for (const std::uint32_t at : allowed->blocks()) {
      const std::uint32_t number = at / kSegmentBlocks;
      const std::uint32_t block = at % kSegmentBlocks;
      const SegmentView* view = version_.view(number);
      VICINAL_DEBUG_ASSERT(view != nullptr && block < view->blocks());
      visit(*view, block, allowed->lanes(number, block));
    }
    return;
  }
  for (std::uint32_t number = 0; number < version_.segment_end; ++number) {
    const SegmentView* view = version_.view(number);
    if (view == nullptr) continue;
    VICINAL_ASSERT(view->rows <= view->segment->capacity());
    const std::uint32_t block_end = view->blocks();
    for (std::uint32_t block = 0; block < block_end; ++block) {
      std::uint32_t lanes = view->lanes(block);
      if (allowed != nullptr) lanes &= allowed->lanes(number, block);
      if (lanes != 0) visit(*view, block, lanes);
    }
  }
}

void Scan::scan_plane(const SegmentView& view, std::uint32_t block, std::uint32_t lanes) noexcept {
  alignas(simd::kAlignment) float upper[kBlockRows];
  const BlockFactors factors(view, block);
  const std::uint8_t* plane = view.plane(block);
  std::uint32_t reached =
      kernels_.plane_scan(plane, query_.plane, factors.plane_scale(), factors.plane_cosine2(),
                          lanes, top_.threshold(), upper);
  VICINAL_DEBUG_ASSERT((reached & ~lanes) == 0);
  rows_estimated_ += count_lanes(lanes);
  for (; reached != 0; reached &= reached - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(reached));
    const std::uint32_t row = block * kBlockRows + lane;
    if (upper[lane] < level_) {
      deferred_.push(upper[lane], segment::Slot::of(view.segment->number(), row));
    } else {
      wait_for(view, row, plane, upper[lane]);
    }
  }
  if (rows_estimated_ >= settle_next_ || deferred_.room() < kBlockRows) settle_seen();
}

void Scan::settle_seen() noexcept {
  if (rows_estimated_ >= settle_next_) {
    settle_next_ = 2 * rows_estimated_;
    settle(expected_best(k_, rows_estimated_, eligible_));
  }
  if (deferred_.room() < kBlockRows) make_room();
}

// Until half of the places for deferred rows are free. The best are scored bit by bit: each bit
// raises the threshold, below which others drop out.
void Scan::make_room() noexcept {
  constexpr std::size_t kBit = kDeferredMax / 16;
  hold(k_);
  for (;;) {
    if (top_.size() >= k_) top_.tighten();
    deferred_.drop_below(top_.threshold());
    if (deferred_.room() >= kDeferredMax / 2) return;
    score_deferred(deferred_.take_best(std::min(kBit, deferred_.size())));
  }
}

// Scores deferred rows, best bound first, until `count` rows are held or none is left.
void Scan::hold(std::size_t count) noexcept {
  VICINAL_DEBUG_ASSERT(count > 0 && count <= k_);
  score_waiting();
  // Twice as many in each turn: far behind `after` few of the scored rows are held.
  for (std::size_t turn = 0; top_.size() < count && deferred_.size() > 0; turn *= 2) {
    turn = std::max(turn, count - top_.size());
    score_deferred(deferred_.take_best(std::min(turn, deferred_.size())));
  }
}

// Makes the count-th best score so far the level, and scores what was deferred and reaches it. With
// count == k nothing stays deferred.
void Scan::settle(std::size_t count) noexcept {
  hold(std::max(count, std::min(k_, kHeldAnyway)));
  if (top_.size() >= k_) top_.tighten();
  level_ = top_.size() < count ? top_.threshold()
                               : std::max(top_.threshold(), top_.nth_score(count));
  deferred_.drop_below(top_.threshold());
  score_deferred(deferred_.take_from(level_));
  if (count == k_) deferred_.clear();  // below the level, which k rows reach
}

void Scan::score_deferred(std::span<const DeferredRow> rows) noexcept {
  for (const DeferredRow& row : rows) {
    const SegmentView* view = version_.view(row.slot.segment());
    VICINAL_DEBUG_ASSERT(view != nullptr);
    const std::uint8_t* plane = view->plane(row.slot.row() / kBlockRows);
    for (std::size_t line = 0; line < kPlaneLinesAhead; ++line) {
      __builtin_prefetch(plane + line * kCacheLineBytes);
    }
    wait_for(*view, row.slot.row(), plane, row.upper);
  }
  score_waiting();
}

void Scan::wait_for(const SegmentView& view, std::uint32_t row, const std::uint8_t* plane,
                    float upper) noexcept {
  VICINAL_DEBUG_ASSERT(waiting_count_ < kWaitingMax);
  const segment::Segment& segment = *view.segment;
  const std::uint8_t* rest = segment.rest(row);
  for (std::size_t at = 0; at < rest_bytes_; at += kCacheLineBytes) __builtin_prefetch(rest + at);
  __builtin_prefetch(segment.scales() + row);
  __builtin_prefetch(segment.ids() + row);
  waiting_[waiting_count_++] = {&view, plane, row, upper};
  if (waiting_count_ == kWaitingMax) score_waiting();
}

void Scan::touch_waiting() const noexcept {
  for (std::uint32_t i = 0; i < waiting_count_; ++i) {
    const segment::Segment& segment = *waiting_[i].view->segment;
    const std::uint32_t row = waiting_[i].row;
    const std::uint8_t* rest = segment.rest(row);
    for (std::size_t at = 0; at < rest_bytes_; at += kCacheLineBytes) simd::touch(rest + at);
    simd::touch(segment.scales() + row);
    simd::touch(segment.ids() + row);
  }
}

void Scan::score_waiting() noexcept {
  VICINAL_DEBUG_ASSERT(waiting_count_ <= kWaitingMax);
  if constexpr (!simd::kHasPrefetch) touch_waiting();
  for (std::uint32_t i = 0; i < waiting_count_; ++i) {
    const Waiting& at = waiting_[i];
    if (at.upper < top_.threshold()) continue;
    ++rows_scored_;
    const float score = std::min(code_score(*at.view, at.plane, at.row), at.upper);
    if (!(score < top_.threshold())) top_.offer(score, at.view->segment->ids()[at.row]);
  }
  waiting_count_ = 0;
}

void Scan::score_all(const SegmentView& view, std::uint32_t block, std::uint32_t lanes) noexcept {
  const std::uint8_t* plane = view.plane(block);
  rows_scored_ += count_lanes(lanes);
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::uint32_t row =
        block * kBlockRows + static_cast<std::uint32_t>(std::countr_zero(lanes));
    const float score = code_score(view, plane, row);
    if (!(score < top_.threshold())) top_.offer(score, view.segment->ids()[row]);
  }
}

// The kernels read past a rest row. Behind the last rows that the version shows lie rows that the
// writer may be filling: those few are copied.
const std::uint8_t* Scan::rest_row(const SegmentView& view, std::uint32_t row) const noexcept {
  VICINAL_DEBUG_ASSERT(row < view.rows);
  const std::uint8_t* rest = view.segment->rest(row);
  if ((view.rows - row - 1) * rest_bytes_ >= simd::kOverread || rest_bytes_ == 0) return rest;
  std::memcpy(rest_copy_, rest, rest_bytes_);
  return rest_copy_;
}

float Scan::code_score(const SegmentView& view, const std::uint8_t* plane,
                       std::uint32_t row) const noexcept {
  const segment::Segment& segment = *view.segment;
  float product = 0;  // with the zero query, which has no direction
  if (!query_.zero) {
    const std::int64_t dot =
        code_dot_(plane, row % kBlockRows, rest_row(view, row), query_.code, levels_);
    product = (static_cast<float>(dot) * segment.scales()[row]) * query_.code_step;
  }
  const float score = simd::metric_score(product, query_.plane, segment.plane_scales()[row],
                                         segment.plane_cosines2()[row]);
  VICINAL_DEBUG_ASSERT(std::isfinite(score));  // I3
  return score;
}

}  // namespace vicinal::search
