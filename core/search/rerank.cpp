#include "search/rerank.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "search/top_rows.hpp"

namespace vicinal::search {
namespace {

constexpr std::size_t kOriginalLineBytes = 64;
// Lines of a row that are fetched ahead; the hardware follows.
constexpr std::size_t kLinesAhead = 8;

// Where a row lies that a search of this version found. Not valid for one in a damaged block, and
// then the search's answer is thrown away (search.hpp I4).
[[nodiscard]] segment::Slot slot_of(const segment::Version& version, std::uint64_t id) noexcept {
  if (!version.strings.any()) return version.find(id);
  return version.find(segment::StringKey::of(version.strings.text(segment::Handle{id})));
}

class ExactScores {
 public:
  ExactScores(const quant::Quantiser& quantiser, const float* query,
              std::size_t original_bytes) noexcept
      : query_(query), dim_(quantiser.layout().dim), metric_(quantiser.metric()) {
    const std::uint32_t index = simd::original_index(original_bytes / dim_);
    dots_ = quantiser.kernels().original_dots[index];
    distance_ = quantiser.kernels().original_distance[index];
    if (metric_ != Metric::cosine) return;
    const auto of_floats = quantiser.kernels().original_dots[simd::original_index(sizeof(float))];
    query2_ = of_floats(query, query, dim_).square;
  }

  [[nodiscard]] float score(const std::uint8_t* row) const noexcept {  // I1
    if (metric_ == Metric::l2) return static_cast<float>(-distance_(query_, row, dim_));
    const simd::OriginalSums sums = dots_(query_, row, dim_);
    if (metric_ == Metric::ip) return static_cast<float>(sums.dot);
    const double lengths2 = query2_ * sums.square;
    return lengths2 > 0 ? static_cast<float>(sums.dot / std::sqrt(lengths2)) : 0;
  }

 private:
  const float* query_;
  std::uint32_t dim_;
  Metric metric_;
  simd::Kernels::OriginalDots dots_;
  simd::Kernels::OriginalDistance distance_;
  double query2_ = 0;
};

}  // namespace

std::size_t rerank(const segment::Version& version, const quant::Quantiser& quantiser,
                   const float* query, std::size_t k, float min_score,
                   const Candidates& candidates) noexcept {
  const std::size_t count = candidates.ids.size();
  VICINAL_ASSERT(candidates.scores.size() >= count && candidates.slots.size() >= count &&
                 candidates.hits.size() >= count);
  std::size_t original_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const segment::Slot slot = slot_of(version, candidates.ids[i]);
    candidates.slots[i] = slot;
    if (!slot.valid()) continue;
    const segment::OriginalRows& originals = version.view(slot.segment())->segment->originals();
    original_bytes = originals.row_bytes();
    const std::uint8_t* row = originals.row(slot.row());
    const std::size_t bytes = std::min(original_bytes, kLinesAhead * kOriginalLineBytes);
    for (std::size_t at = 0; at < bytes; at += kOriginalLineBytes) __builtin_prefetch(row + at);
  }
  if (original_bytes == 0) return 0;
  const ExactScores exact(quantiser, query, original_bytes);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const segment::Slot slot = candidates.slots[i];
    if (!slot.valid()) continue;
    const segment::Segment& segment = *version.view(slot.segment())->segment;
    const float score = exact.score(segment.originals().row(slot.row())) + 0.0f;  // no -0
    VICINAL_DEBUG_ASSERT(std::isfinite(score));  // I2
    if (!(score < min_score)) candidates.hits[kept++] = {candidates.ids[i], score};
  }
  const std::size_t found = std::min(k, kept);
  std::partial_sort(candidates.hits.begin(), candidates.hits.begin() + found,
                    candidates.hits.begin() + kept, precedes);
  for (std::size_t i = 0; i < found; ++i) {
    candidates.ids[i] = candidates.hits[i].id;
    candidates.scores[i] = candidates.hits[i].score;
  }
  return found;
}

}  // namespace vicinal::search
