#include "search/scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "search/buffers.hpp"
#include "simd/bound.hpp"

namespace vicinal::search {
namespace {

using segment::SegmentView;
using segment::Version;
using simd::kBlockRows;

constexpr std::size_t kCacheLineBytes = 64;

// Where a filter allows rows in fewer than one of so many blocks, its list of blocks is walked instead
// of the directory: that costs a jump a block, the directory a word a block.
constexpr std::uint64_t kSparsePart = 16;

// The factors of a block's 32 rows as the kernels read them. Of a block that the version shows only in
// part they are copied: the writer may be filling the rows behind it.
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

[[nodiscard]] bool is_exhaustive(const SearchOptions& options, bool zero_query) noexcept {
  return options.exhaustive || zero_query || options.certainty > kCertaintyMax;
}

}  // namespace

Scan::Scan(const Version& version, const quant::Quantiser& quantiser,
           const quant::PreparedQuery& query, TopRows& top) noexcept
    : version_(version),
      query_(query),
      kernels_(quantiser.kernels()),
      levels_(quantiser.levels()),
      code_dot_(kernels_.code_dot[simd::bits_index(quantiser.layout().bits)]),
      rest_bytes_(quantiser.layout().rest_bytes),
      top_(top) {}

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
  if (!status.ok()) return status;

  const bool asked = is_exhaustive(options, false);
  const quant::PreparedQuery prepared =
      quantiser.prepare(query.data(), asked ? 0 : options.certainty, buffers.prepare.data());
  TopRows top({buffers.rows.as<Hit>(), places}, k, options.min_score, options.after);
  Scan scan(version, quantiser, prepared, top);
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
  score_waiting();
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
  rows_estimated_ += static_cast<std::uint32_t>(std::popcount(lanes));
  for (; reached != 0; reached &= reached - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(reached));
    collect(view, block * kBlockRows + lane, plane, upper[lane]);
  }
}

void Scan::collect(const SegmentView& view, std::uint32_t row, const std::uint8_t* plane,
                   float upper) noexcept {
  VICINAL_DEBUG_ASSERT(waiting_count_ < kWaitingMax);
  const segment::Segment& segment = *view.segment;
  const std::uint8_t* rest = segment.rest(row);
  for (std::size_t at = 0; at < rest_bytes_; at += kCacheLineBytes) __builtin_prefetch(rest + at);
  __builtin_prefetch(segment.scales() + row);
  __builtin_prefetch(segment.ids() + row);
  waiting_[waiting_count_++] = {&segment, plane, row, upper};
  if (waiting_count_ == kWaitingMax) score_waiting();
}

void Scan::score_waiting() noexcept {
  VICINAL_DEBUG_ASSERT(waiting_count_ <= kWaitingMax);
  for (std::uint32_t i = 0; i < waiting_count_; ++i) {
    const Waiting& at = waiting_[i];
    if (at.upper < top_.threshold()) continue;
    ++rows_scored_;
    const float score = std::min(code_score(*at.segment, at.plane, at.row), at.upper);
    if (!(score < top_.threshold())) top_.offer(score, at.segment->ids()[at.row]);
  }
  waiting_count_ = 0;
}

void Scan::score_all(const SegmentView& view, std::uint32_t block, std::uint32_t lanes) noexcept {
  const std::uint8_t* plane = view.plane(block);
  rows_scored_ += static_cast<std::uint32_t>(std::popcount(lanes));
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::uint32_t row =
        block * kBlockRows + static_cast<std::uint32_t>(std::countr_zero(lanes));
    const float score = code_score(*view.segment, plane, row);
    if (!(score < top_.threshold())) top_.offer(score, view.segment->ids()[row]);
  }
}

float Scan::code_score(const segment::Segment& segment, const std::uint8_t* plane,
                       std::uint32_t row) const noexcept {
  float product = 0;  // with the zero query, which has no direction
  if (!query_.zero) {
    const std::int64_t dot =
        code_dot_(plane, row % kBlockRows, segment.rest(row), query_.code, levels_);
    product = (static_cast<float>(dot) * segment.scales()[row]) * query_.code_step;
  }
  const float score = simd::metric_score(product, query_.plane, segment.plane_scales()[row],
                                         segment.plane_cosines2()[row]);
  VICINAL_DEBUG_ASSERT(std::isfinite(score));  // I2
  return score;
}

}  // namespace vicinal::search
