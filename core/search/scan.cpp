#include "search/scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "simd/bound.hpp"
#include "simd/prefetch.hpp"

namespace vicinal::search {
namespace {

using segment::SegmentView;
using simd::kBlockRows;

constexpr std::size_t kCacheLineBytes = 64;

// Where rows of one block are scored together at little cost, so many are scored as they come, and
// what they tell of the final threshold decides which of the next ones wait. Elsewhere all wait at
// first, and the best bounds of more rows tell it. The guess is made anew each time twice as many
// rows are seen.
constexpr std::uint64_t kFirstSettleRows = 256;
constexpr std::uint64_t kFirstSettleRowsApart = 1024;

[[nodiscard]] bool scores_together(const simd::Kernels& kernels) noexcept {
  return kernels.dense_rows <= kBlockRows;
}

// So few rows are always scored in order to have a threshold at all: without one every row is
// deferred.
constexpr std::size_t kHeldAnyway = 32;
// Rows that may be deferred: 256 KiB of them.
constexpr std::uint64_t kDeferredMax = 32768;
static_assert(kDeferredMax >= 2 * kFirstSettleRowsApart);
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

// Of 32 bounds, those that are not below the level. Without a branch that guesses each.
[[nodiscard]] std::uint32_t reaching(const float* upper, float level) noexcept {
  std::uint32_t mask = 0;
  for (std::uint32_t lane = 0; lane < kBlockRows; ++lane) {
    mask |= std::uint32_t{!(upper[lane] < level)} << lane;
  }
  return mask;
}

}  // namespace

Scan::Scan(const Shared& shared, const quant::PreparedQuery& query, const TopRows& top,
           const DeferredRows& deferred, Start start) noexcept
    : shared_(shared),
      query_(query),
      kernels_(shared.quantiser.kernels()),
      levels_(shared.quantiser.levels()),
      bits_index_(simd::bits_index(shared.quantiser.layout().bits)),
      rest_bytes_(shared.quantiser.layout().rest_bytes),
      top_(top),
      deferred_(deferred) {
  if (start == Start::later_rows) {
    settle_next_ = std::numeric_limits<std::uint64_t>::max();
    level_ = top_.threshold();
  } else {
    const bool together = scores_together(kernels_);
    settle_next_ = together ? kFirstSettleRows : kFirstSettleRowsApart;
    level_ = together ? -std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::infinity();
  }
}

std::size_t Scan::deferred_places(std::uint64_t eligible) noexcept {
  return static_cast<std::size_t>(std::min(eligible, kDeferredMax)) + kBlockRows;
}

void Scan::estimate(const BlockRun& run, Scan* const* scans, std::uint32_t count) noexcept {
  VICINAL_DEBUG_ASSERT(count > 0 && count <= simd::kScanQueries);
  alignas(simd::kAlignment) float upper[simd::kScanQueries][kRunRows];
  std::uint32_t reached[simd::kScanQueries][kRunBlocks];
  simd::PlaneScan queries[simd::kScanQueries];
  for (std::uint32_t i = 0; i < count; ++i) {
    queries[i] = {&scans[i]->query_.plane, scans[i]->top_.threshold(), upper[i], reached[i]};
  }
  const RunBlocks blocks(run, scans[0]->shared_.quantiser.layout().plane_block_bytes);
  scans[0]->kernels_.plane_scan(blocks.get(), queries, count);
  for (std::uint32_t i = 0; i < count; ++i) scans[i]->take(run, upper[i], reached[i]);
}

void Scan::take(const BlockRun& run, const float* upper, const std::uint32_t* reached) noexcept {
  const SegmentView& view = *run.view;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    rows_estimated_ += count_lanes(run.lanes[i]);
    std::uint32_t rows = reached[i];
    VICINAL_DEBUG_ASSERT((rows & ~run.lanes[i]) == 0);
    if (rows == 0) continue;
    if (deferred_.room() < kBlockRows) make_room();
    take_block(view, run.first + i, rows, upper + i * kBlockRows);
  }
  if (rows_estimated_ >= settle_next_) settle_seen();
}

void Scan::take_block(const SegmentView& view, std::uint32_t block, std::uint32_t rows,
                      const float* upper) noexcept {
  const std::uint32_t first = block * kBlockRows;
  const bool dense = static_cast<std::uint32_t>(std::popcount(rows)) >= kernels_.dense_rows;
  const std::uint32_t now = dense ? rows & reaching(upper, level_) : 0;
  if (static_cast<std::uint32_t>(std::popcount(now)) >= kernels_.dense_rows) {
    score_lanes(view, block, now, upper);
    rows &= ~now;
  }
  const std::uint8_t* plane = view.plane(block);
  for (; rows != 0; rows &= rows - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rows));
    if (upper[lane] < level_) {
      deferred_.push(upper[lane], segment::Slot::of(view.segment->number(), first + lane));
    } else {
      wait_for(view, first + lane, plane, upper[lane]);
    }
  }
}

void Scan::finish() noexcept {
  settle(shared_.k);
  VICINAL_ASSERT(deferred_.size() == 0 && waiting_count_ == 0);
}

void Scan::take_found(std::span<const std::uint64_t> ids, const float* scores,
                      std::uint64_t rows_estimated, std::uint64_t rows_scored) noexcept {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!(scores[i] < top_.threshold())) top_.offer(scores[i], ids[i]);
  }
  rows_estimated_ += rows_estimated;
  rows_scored_ += rows_scored;
}

void Scan::settle_seen() noexcept {
  settle_next_ = 2 * rows_estimated_;
  settle(expected_best(shared_.k, std::min(rows_estimated_, shared_.eligible), shared_.eligible));
}

// Until half of the places for deferred rows are free. The best are scored bit by bit: each bit
// raises the threshold, below which others drop out.
void Scan::make_room() noexcept {
  constexpr std::size_t kBit = kDeferredMax / 16;
  hold(shared_.k);
  for (;;) {
    if (top_.size() >= shared_.k) top_.tighten();
    deferred_.drop_below(top_.threshold());
    if (deferred_.room() >= kDeferredMax / 2) return;
    score_deferred(deferred_.take_best(std::min(kBit, deferred_.size())));
  }
}

// Scores deferred rows, best bound first, until `count` rows are held or none is left.
void Scan::hold(std::size_t count) noexcept {
  VICINAL_DEBUG_ASSERT(count > 0 && count <= shared_.k);
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
  hold(std::max(count, std::min(shared_.k, kHeldAnyway)));
  if (top_.size() >= shared_.k) top_.tighten();
  level_ = top_.size() < count ? top_.threshold()
                               : std::max(top_.threshold(), top_.nth_score(count));
  deferred_.drop_below(top_.threshold());
  score_deferred(deferred_.take_from(level_));
  if (count == shared_.k) deferred_.clear();  // below the level, which k rows reach
}

void Scan::score_deferred(std::span<const DeferredRow> rows) noexcept {
  for (const DeferredRow& row : rows) {
    const SegmentView* view = shared_.version.view(row.slot.segment());
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
  if (!view.rows_are_sound(row / kBlockRows)) return;  // I4
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

void Scan::score_run(const BlockRun& run) noexcept {
  for (std::uint32_t i = 0; i < run.count; ++i) {
    score_lanes(*run.view, run.first + i, run.lanes[i], nullptr);
  }
}

void Scan::score_lanes(const SegmentView& view, std::uint32_t block, std::uint32_t lanes,
                       const float* upper) noexcept {
  if (!view.rows_are_sound(block)) return;  // I4
  const std::uint8_t* plane = view.plane(block);
  const segment::Segment& segment = *view.segment;
  rows_scored_ += count_lanes(lanes);
  const std::uint32_t first = block * kBlockRows;
  // As in rest_row: only where nothing that the kernel may read is being written.
  const bool whole = view.rows - first > kBlockRows &&
                     (view.rows - first - kBlockRows) * rest_bytes_ >= simd::kOverread;
  std::int64_t dots[kBlockRows] = {};
  if (whole && !query_.zero) {
    kernels_.code_dots[bits_index_](plane, lanes, segment.rest(first), rest_bytes_, query_.code,
                                    levels_, dots);
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const std::uint32_t row = first + lane;
    float score = whole ? score_of(dots[lane], segment, row) : code_score(view, plane, row);
    if (upper != nullptr) score = std::min(score, upper[lane]);
    if (!(score < top_.threshold())) top_.offer(score, segment.ids()[row]);
  }
}

// The kernels read past a rest row. Behind the last rows that the version shows lie rows that the
// writer may be filling: those few are copied.
const std::uint8_t* Scan::rest_row(const SegmentView& view, std::uint32_t row) const noexcept {
  VICINAL_DEBUG_ASSERT(row < view.rows);
  const std::uint8_t* rest = view.segment->rest(row);
  if ((view.rows - row - 1) * rest_bytes_ >= simd::kOverread || rest_bytes_ == 0) return rest;
  std::memcpy(shared_.rest_copy, rest, rest_bytes_);
  return shared_.rest_copy;
}

float Scan::code_score(const SegmentView& view, const std::uint8_t* plane,
                       std::uint32_t row) const noexcept {
  if (query_.zero) return score_of(0, *view.segment, row);
  return score_of(kernels_.code_dot[bits_index_](plane, row % kBlockRows, rest_row(view, row),
                                                 query_.code, levels_),
                  *view.segment, row);
}

// Of the zero query, which has no direction, `dot` is 0.
float Scan::score_of(std::int64_t dot, const segment::Segment& segment,
                     std::uint32_t row) const noexcept {
  if (quant::is_zero_row(segment.plane_cosines2()[row])) return 0;
  const float product = (static_cast<float>(dot) * segment.scales()[row]) * query_.code_step;
  const float score = simd::metric_score(product, query_.plane, segment.plane_scales()[row],
                                         segment.plane_cosines2()[row]);
  VICINAL_DEBUG_ASSERT(std::isfinite(score));  // I3
  return score;
}

}  // namespace vicinal::search
