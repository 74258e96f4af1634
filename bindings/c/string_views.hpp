// The strings of a C caller as the C++ interface takes them.
//
// Thread safety: a value; belongs to one thread at a time.
// I1: growing succeeds or leaves what was there; nothing throws.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <string_view>

#include "vicinal/vicinal.h"
#include "vicinal/vicinal.hpp"

namespace vicinal::c {

// An empty one may have no data.
[[nodiscard]] inline std::string_view view_of(const vicinal_string& string) noexcept {
  return string.bytes == 0 ? std::string_view("") : std::string_view(string.data, string.bytes);
}

class StringViews {
 public:
  StringViews() noexcept = default;
  StringViews(const StringViews&) = delete;
  StringViews& operator=(const StringViews&) = delete;
  ~StringViews() { std::free(views_); }

  // Views of `count` strings, in place of those before. FULL.
  [[nodiscard]] Status assign(const vicinal_string* strings, std::uint64_t count) noexcept {
    if (count > capacity_) {
      constexpr std::uint64_t kMost =
          std::numeric_limits<std::size_t>::max() / 2 / sizeof(std::string_view);
      void* grown = count > kMost ? nullptr
                                  : std::realloc(views_, static_cast<std::size_t>(count) *
                                                             sizeof(std::string_view));
      if (grown == nullptr) return Status(Code::full, count);
      views_ = static_cast<std::string_view*>(grown);
      capacity_ = count;
    }
    count_ = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < count_; ++i) new (views_ + i) std::string_view(view_of(strings[i]));
    return {};
  }

  [[nodiscard]] std::span<const std::string_view> list() const noexcept {
    return {views_, count_};
  }

 private:
  std::string_view* views_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::size_t count_ = 0;
};

}  // namespace vicinal::c
