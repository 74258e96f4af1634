// What the queries of a batch found, copied from where the next ones' results will lie: row after
// row, in two arrays.
//
// Thread safety: a value; belongs to one thread at a time.
// I1: both arrays have room for `capacity_` rows; growing succeeds or leaves their rows as before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "vicinal/vicinal.hpp"

namespace vicinal::c {

class BatchRows {
 public:
  BatchRows() noexcept = default;
  BatchRows(const BatchRows&) = delete;
  BatchRows& operator=(const BatchRows&) = delete;
  ~BatchRows() { release(); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::uint64_t* ids() const noexcept { return ids_; }
  [[nodiscard]] const float* scores() const noexcept { return scores_; }

  // Forgets the rows and keeps the memory for the next batch.
  void clear() noexcept { size_ = 0; }

  void release() noexcept {
    std::free(ids_);
    std::free(scores_);
    ids_ = nullptr;
    scores_ = nullptr;
    size_ = capacity_ = 0;
  }

  // FULL: nothing is appended.
  [[nodiscard]] Status append(const Hits& hits) noexcept {
    if (hits.size() > capacity_ - size_) {
      const Status grown = grow(hits.size());
      if (!grown.ok()) return grown;
    }
    std::copy(hits.ids().begin(), hits.ids().end(), ids_ + size_);
    std::copy(hits.scores().begin(), hits.scores().end(), scores_ + size_);
    size_ += hits.size();
    return {};
  }

 private:
  static constexpr std::size_t kRowsMin = 256;
  static constexpr std::size_t kRowsMax =
      std::numeric_limits<std::size_t>::max() / 4 / sizeof(std::uint64_t);

  // Room for `more` rows: by half at least, or for just these where there is no memory for that.
  [[nodiscard]] Status grow(std::size_t more) noexcept {
    if (more > kRowsMax - size_) return Status(Code::full, more);
    const std::size_t needed = size_ + more;
    if (resize(std::max({needed, capacity_ + capacity_ / 2, kRowsMin})) || resize(needed)) {
      return {};
    }
    return Status(Code::full, needed * (sizeof(std::uint64_t) + sizeof(float)));
  }

  [[nodiscard]] bool resize(std::size_t rows) noexcept {
    auto* ids = static_cast<std::uint64_t*>(std::realloc(ids_, rows * sizeof(std::uint64_t)));
    if (ids == nullptr) return false;
    ids_ = ids;  // larger than I1 asks for, should the next fail
    auto* scores = static_cast<float*>(std::realloc(scores_, rows * sizeof(float)));
    if (scores == nullptr) return false;
    scores_ = scores;
    capacity_ = rows;
    return true;
  }

  std::uint64_t* ids_ = nullptr;
  float* scores_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace vicinal::c
