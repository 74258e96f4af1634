// Lists of strings in an index file: the body of a strings record, and the same bytes in a commit
// or a directory (docs/format.md).
//
// Thread safety: values; belong to one thread. A view reads bytes that nobody changes.
// I1: ordinals ascend, without equals, from 1 on; a string has at most kStringBytesMax bytes, a
//     list at least one and at most kFileStringsMax of them with kFileTextBytesMax together.
// I2: what a view hands out lies within its bytes; all padding is zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/assert.hpp"
#include "base/growing_buffer.hpp"
#include "storage/log_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::storage {

// What follows each list of a body is zeros up to a multiple of this.
inline constexpr std::size_t kListAlignment = 8;
inline constexpr std::uint32_t kFileStringsMax = 8192;
inline constexpr std::uint32_t kFileTextBytesMax = std::uint32_t{256} << 10;
// Above each ordinal; segment/ asserts that it is its own.
inline constexpr std::uint64_t kFileOrdinalsMax = std::uint64_t{1} << 48;

// Where a commit's or directory's version has strings beside those that stand in it.
struct StringsPlace {
  std::uint64_t first = 0;   // ordinal of the record's first string
  std::uint64_t record = 0;  // its position
};
static_assert(sizeof(StringsPlace) == 16);

// A list, read in place.
class StringsView {
 public:
  StringsView() noexcept = default;  // none
  // CORRUPT: not all of `bytes`, or what no StringsWriter makes.
  [[nodiscard]] static Result<StringsView> parse(std::span<const std::byte> bytes) noexcept;

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint64_t last() const noexcept { return ordinal(count_ - 1); }
  [[nodiscard]] std::uint64_t ordinal(std::uint32_t index) const noexcept {
    VICINAL_DEBUG_ASSERT(index < count_);
    return first_ + (ordinals_ == nullptr ? index : number(ordinals_, index));
  }
  [[nodiscard]] std::string_view text(std::uint32_t index) const noexcept {
    VICINAL_DEBUG_ASSERT(index < count_);
    const std::uint32_t begin = index == 0 ? 0 : number(ends_, index - 1);
    return {reinterpret_cast<const char*>(text_) + begin, number(ends_, index) - begin};
  }

 private:
  [[nodiscard]] static std::uint32_t number(const std::byte* from, std::uint32_t index) noexcept {
    std::uint32_t value = 0;
    std::memcpy(&value, from + index * sizeof value, sizeof value);
    return value;
  }
  [[nodiscard]] bool ascends(std::uint32_t text_bytes) const noexcept;

  std::uint64_t first_ = 0;
  std::uint32_t count_ = 0;
  const std::byte* ordinals_ = nullptr;  // less the first; null: each is one more
  const std::byte* ends_ = nullptr;
  const std::byte* text_ = nullptr;
};

// Collects a list in ascending order.
class StringsWriter {
 public:
  void clear() noexcept;
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
  // Whether the list may have this one, too (I1).
  [[nodiscard]] bool fits(std::uint64_t ordinal, std::size_t text_bytes) const noexcept;
  // Of one that fits. FULL: it is not there.
  Status add(std::uint64_t ordinal, std::string_view text) noexcept;
  // Of the list; a multiple of 8.
  [[nodiscard]] std::size_t bytes() const noexcept;
  // The whole list. FULL: nothing is appended.
  Status append_to(GrowingBuffer& to) const noexcept;
  // A record of it, in `to`. FULL. Returns the record's sum, the next one's `previous`.
  [[nodiscard]] Result<std::uint64_t> write_record(GrowingBuffer& to, const Uuid& uuid,
                                                   std::uint64_t position, std::uint64_t sequence,
                                                   std::uint64_t previous) const noexcept;
  // What it holds of the system's memory.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return ordinals_.capacity() + ends_.capacity() + text_.capacity();
  }

 private:
  [[nodiscard]] bool dense() const noexcept { return last_ - first_ + 1 == count_; }

  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::uint32_t count_ = 0;
  GrowingBuffer ordinals_;  // u32, less the first
  GrowingBuffer ends_;      // u32
  GrowingBuffer text_;
};

}  // namespace vicinal::storage
