// What the queries of a batch found, copied from where the next ones' results will lie: row after
// row, in two arrays; of rows with strings these, one after the other, and where each begins.
//
// Thread safety: a value; belongs to one thread at a time.
// I1: every array has room for `capacity_` rows, `text_` for text_capacity_ bytes; growing succeeds
//     or leaves what they hold as before.
// I2: either ids are appended or strings; the other arrays stay empty.
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
  // size() + 1 of them, or null without strings.
  [[nodiscard]] const std::uint64_t* text_offsets() const noexcept { return offsets_; }
  [[nodiscard]] const char* text() const noexcept { return text_; }

  // Forgets the rows and keeps the memory for the next batch.
  void clear() noexcept { size_ = 0; }

  void release() noexcept {
    std::free(ids_);
    std::free(scores_);
    std::free(offsets_);
    std::free(text_);
    ids_ = nullptr;
    scores_ = nullptr;
    offsets_ = nullptr;
    text_ = nullptr;
    size_ = capacity_ = text_capacity_ = 0;
  }

  // FULL: nothing is appended.
  [[nodiscard]] Status append(const Hits& hits) noexcept {
    const StringIds& strings = hits.string_ids();
    strings_ = strings.offsets() != nullptr;
    if (hits.size() > capacity_ - size_ || (strings_ && offsets_ == nullptr)) {
      const Status grown = grow(hits.size());
      if (!grown.ok()) return grown;
    }
    if (strings_) {
      const Status put = append_strings(strings);
      if (!put.ok()) return put;
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

  [[nodiscard]] Status append_strings(const StringIds& strings) noexcept {
    if (size_ == 0) offsets_[0] = 0;
    const std::uint64_t before = offsets_[size_];
    const std::uint64_t bytes = strings.offsets()[strings.size()];
    if (bytes > text_capacity_ - before) {
      const std::uint64_t needed = before + bytes;
      const std::uint64_t wanted = std::max(needed, text_capacity_ + text_capacity_ / 2);
      if (needed > std::numeric_limits<std::size_t>::max() / 2 ||
          (!resize_text(wanted) && !resize_text(needed))) {
        return Status(Code::full, needed);
      }
    }
    if (bytes != 0) std::copy(strings.text(), strings.text() + bytes, text_ + before);
    for (std::size_t i = 1; i <= strings.size(); ++i) {
      offsets_[size_ + i] = before + strings.offsets()[i];
    }
    return {};
  }

  [[nodiscard]] bool resize_text(std::uint64_t bytes) noexcept {
    auto* text = static_cast<char*>(std::realloc(text_, static_cast<std::size_t>(bytes)));
    if (text == nullptr) return false;
    text_ = text;
    text_capacity_ = bytes;
    return true;
  }

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
    // Larger than I1 asks for, should the next fail.
    std::uint64_t*& numbers = strings_ ? offsets_ : ids_;
    auto* grown = static_cast<std::uint64_t*>(
        std::realloc(numbers, (rows + 1) * sizeof(std::uint64_t)));
    if (grown == nullptr) return false;
    numbers = grown;
    auto* scores = static_cast<float*>(std::realloc(scores_, rows * sizeof(float)));
    if (scores == nullptr) return false;
    scores_ = scores;
    capacity_ = rows;
    return true;
  }

  std::uint64_t* ids_ = nullptr;
  float* scores_ = nullptr;
  std::uint64_t* offsets_ = nullptr;
  char* text_ = nullptr;
  std::uint64_t text_capacity_ = 0;
  bool strings_ = false;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace vicinal::c
