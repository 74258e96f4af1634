// Rows whose bound reaches the k-th score found so far, but probably not the final one: they wait
// until a better threshold has settled most of them without reading their codes.
//
// Thread safety: belongs to one thread.
// I1: a row that waits here is neither lost nor ranked: before a search ends, each is scored or its
//     bound is below the threshold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.hpp"
#include "segment/segment.hpp"

namespace vicinal::search {

struct DeferredRow {
  float upper = 0;
  segment::Slot slot;
};
static_assert(sizeof(DeferredRow) == 8);

class DeferredRows {
 public:
  explicit DeferredRows(std::span<DeferredRow> buffer) noexcept
      : rows_(buffer.data()), capacity_(buffer.size()) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - size_; }

  void push(float upper, segment::Slot slot) noexcept {
    VICINAL_DEBUG_ASSERT(size_ < capacity_);
    rows_[size_++] = {upper, slot};
  }

  void clear() noexcept { size_ = 0; }

  // Takes the `count` rows of the largest bounds out; the span is valid until the next push.
  [[nodiscard]] std::span<const DeferredRow> take_best(std::size_t count) noexcept {
    VICINAL_ASSERT(count <= size_);
    if (count == 0) return {};
    const std::size_t rest = size_ - count;
    if (rest != 0) {
      std::nth_element(
          rows_, rows_ + rest, rows_ + size_,
          [](const DeferredRow& a, const DeferredRow& b) { return a.upper < b.upper; });
    }
    size_ = rest;
    return {rows_ + rest, count};
  }

  void drop_below(float threshold) noexcept {
    const DeferredRow* const end =
        std::remove_if(rows_, rows_ + size_,
                       [=](const DeferredRow& row) { return row.upper < threshold; });
    size_ = static_cast<std::size_t>(end - rows_);
  }

  // Takes the rows out whose bound reaches `level`; the span is valid until the next push.
  [[nodiscard]] std::span<const DeferredRow> take_from(float level) noexcept {
    const DeferredRow* const end = rows_ + size_;
    const DeferredRow* const middle = std::partition(
        rows_, rows_ + size_, [=](const DeferredRow& row) { return row.upper < level; });
    size_ = static_cast<std::size_t>(middle - rows_);
    return {middle, static_cast<std::size_t>(end - middle)};
  }

 private:
  DeferredRow* rows_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

}  // namespace vicinal::search
