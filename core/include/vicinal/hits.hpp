// What searches found: views of a reader's memory, and a batch that owns its own.
//
// Thread safety: plain values; a view is valid as long as what it was made from says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "vicinal/types.hpp"

namespace vicinal {

// Strings that lie one after the other: the i-th from offsets[i] to offsets[i + 1]. A view.
class StringIds {
 public:
  StringIds() = default;
  StringIds(const char* text, const std::uint64_t* offsets, std::size_t count) noexcept
      : text_(text), offsets_(offsets), count_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept {
    return {text_ + offsets_[i], static_cast<std::size_t>(offsets_[i + 1] - offsets_[i])};
  }
  // size() + 1 of them; null without any.
  [[nodiscard]] const std::uint64_t* offsets() const noexcept { return offsets_; }
  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  const char* text_ = nullptr;
  const std::uint64_t* offsets_ = nullptr;
  std::size_t count_ = 0;
};

// What one query found, best first: (score descending, id ascending); rows with strings and the
// same score in the order in which they were added. Where ids are strings, string_ids() has them
// and ids() is empty, else the other way round. A view.
class Hits {
 public:
  Hits() = default;
  Hits(const StringIds& ids, std::span<const float> scores, std::uint64_t sequence) noexcept
      : string_ids_(ids), scores_(scores), sequence_(sequence) {}
  Hits(std::span<const std::uint64_t> ids, std::span<const float> scores,
       std::uint64_t sequence) noexcept
      : ids_(ids), scores_(scores), sequence_(sequence) {}

  [[nodiscard]] std::size_t size() const noexcept { return scores_.size(); }
  [[nodiscard]] bool empty() const noexcept { return scores_.empty(); }
  // The id is 0 where ids are strings.
  [[nodiscard]] Hit operator[](std::size_t i) const noexcept {
    return {ids_.empty() ? 0 : ids_[i], scores_[i]};
  }
  [[nodiscard]] StringHit string_hit(std::size_t i) const noexcept {
    return {string_ids_[i], scores_[i]};
  }
  [[nodiscard]] std::span<const std::uint64_t> ids() const noexcept { return ids_; }
  [[nodiscard]] const StringIds& string_ids() const noexcept { return string_ids_; }
  [[nodiscard]] std::span<const float> scores() const noexcept { return scores_; }
  // The committed version that answered.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
  // Rows whose sign plane was read, and rows scored by their whole code.
  std::uint64_t rows_estimated = 0;
  std::uint64_t rows_scored = 0;
  // Whether the scores are exact, from originals (SearchOptions::rerank).
  bool reranked = false;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Hit;
    using difference_type = std::ptrdiff_t;
    using pointer = const Hit*;
    using reference = Hit;

    Iterator(const Hits* hits, std::size_t at) noexcept : hits_(hits), at_(at) {}
    Hit operator*() const noexcept { return (*hits_)[at_]; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) noexcept = default;

   private:
    const Hits* hits_;
    std::size_t at_;
  };
  [[nodiscard]] Iterator begin() const noexcept { return {this, 0}; }
  [[nodiscard]] Iterator end() const noexcept { return {this, size()}; }

 private:
  std::span<const std::uint64_t> ids_;
  StringIds string_ids_;
  std::span<const float> scores_;
  std::uint64_t sequence_ = 0;
};

// The results of a batch, all of one version; owns its memory.
class BatchHits {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] Hits operator[](std::size_t query) const noexcept {
    const End& end = ends_[query];
    const std::size_t from = query == 0 ? 0 : ends_[query - 1].row;
    const std::size_t count = end.row - from;
    const auto scores = std::span(scores_).subspan(from, count);
    Hits hits = text_offsets_.empty()
                    ? Hits(std::span(ids_).subspan(from, count), scores, sequence_)
                    : Hits(StringIds(text_.data(), text_offsets_.data() + from, count), scores,
                           sequence_);
    hits.rows_estimated = end.rows_estimated;
    hits.rows_scored = end.rows_scored;
    hits.reranked = reranked_;
    return hits;
  }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }

 private:
  friend class Reader;
  struct End {
    std::size_t row;  // behind the query's last
    std::uint64_t rows_estimated;
    std::uint64_t rows_scored;
  };
  std::vector<std::uint64_t> ids_;
  std::vector<char> text_;                   // of ids that are strings
  std::vector<std::uint64_t> text_offsets_;  // one more than there are, or none at all
  std::vector<float> scores_;
  std::vector<End> ends_;
  std::uint64_t sequence_ = 0;
  bool reranked_ = false;
};

}  // namespace vicinal
