// The best k of the rows offered, by (score descending, id ascending).
//
// Thread safety: belongs to one thread.
// I1: what is kept depends on the set of rows offered, never on their order.
// I2: threshold() never falls and never exceeds the final k-th score: a row below it can be
//     skipped, a row at it cannot (its id may be smaller).
// I3: rows lie unsorted, up to `slack` more than k; when no place is left the best k are selected
//     in linear time. So a row costs the same whatever k is, where a heap's cost grows with log k.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "base/assert.hpp"
#include "vicinal/types.hpp"

namespace vicinal::search {

// Result order: a is better than b. An object, which the algorithms inline; a function they would
// call.
inline constexpr auto precedes = [](const Hit& a, const Hit& b) noexcept {
  if (a.score != b.score) return a.score > b.score;
  return a.id < b.id;
};

class TopRows {
 public:
  // Places that k rows need, slack included. A longer slack selects less often, but lets the
  // threshold lag behind and more rows be scored.
  [[nodiscard]] static constexpr std::size_t places(std::size_t k) noexcept {
    return k + std::max<std::size_t>(k / kSlackPart, 1);
  }

  // `buffer`: places(k) of them. Rows below min_score, or not strictly after `after`, are left out.
  TopRows(std::span<Hit> buffer, std::size_t k, float min_score,
          const std::optional<Hit>& after) noexcept
      : buffer_(buffer.data()), capacity_(buffer.size()), k_(k), threshold_(min_score) {
    VICINAL_ASSERT(k > 0 && buffer.size() == places(k));
    VICINAL_ASSERT(min_score == min_score);
    if (after) after_ = *after;
  }

  // Below it no row can enter.
  [[nodiscard]] float threshold() const noexcept { return threshold_; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Raises the threshold to the k-th score; at least k rows are held. Linear in what is held.
  void tighten() noexcept { select(); }

  // The nth best score held, 1 <= n <= size(). Linear in what is held.
  [[nodiscard]] float nth_score(std::size_t n) noexcept {
    VICINAL_ASSERT(n > 0 && n <= size_);
    std::nth_element(buffer_, buffer_ + (n - 1), buffer_ + size_, precedes);
    return buffer_[n - 1].score;
  }

  // `score` is finite and not below threshold().
  void offer(float score, std::uint64_t id) noexcept {
    VICINAL_DEBUG_ASSERT(score >= threshold_);
    const Hit row{id, score + 0.0f};  // -0 would compare equal to 0 and print differently
    if (!precedes(after_, row) || !precedes(row, worst_)) return;
    buffer_[size_++] = row;
    if (size_ == capacity_) select();
  }

  // Sorts what is kept and writes it, best first. Returns how many rows, at most k.
  [[nodiscard]] std::size_t finish(std::uint64_t* ids, float* scores) noexcept {
    if (size_ > k_) select();
    std::sort(buffer_, buffer_ + size_, precedes);
    for (std::size_t i = 0; i < size_; ++i) {
      ids[i] = buffer_[i].id;
      scores[i] = buffer_[i].score;
    }
    return size_;
  }

 private:
  static constexpr std::size_t kSlackPart = 4;

  void select() noexcept {
    VICINAL_ASSERT(size_ >= k_ && size_ <= capacity_);
    std::nth_element(buffer_, buffer_ + (k_ - 1), buffer_ + size_, precedes);
    size_ = k_;
    worst_ = buffer_[k_ - 1];
    VICINAL_DEBUG_ASSERT(worst_.score >= threshold_);
    threshold_ = worst_.score;  // I2: k rows with at least this score are held
  }

  Hit* buffer_;
  std::size_t capacity_;
  std::size_t k_;
  std::size_t size_ = 0;
  float threshold_;
  // Scores are finite: these two lie behind and before every row in result order.
  Hit worst_{std::numeric_limits<std::uint64_t>::max(), -std::numeric_limits<float>::infinity()};
  Hit after_{0, std::numeric_limits<float>::infinity()};
};

}  // namespace vicinal::search
