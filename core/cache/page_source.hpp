// Where pages come from and go to: 16 KiB each, by number.
//
// Thread safety: read and write from any thread, of one page by one thread at a time: the cache
// sees to that. A source outlives every cache that has pages of it.
// I1: a call has done all of it, or answers with why not; after a failed write nobody knows what
//     the page is there, and the cache still has what it ought to be.
// I2: numbers of sources are only for spreading their pages; two may be equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.hpp"
#include "platform/file_system.hpp"
#include "vicinal/status.hpp"

namespace vicinal::cache {

inline constexpr std::size_t kPageBytes = 16384;

using PageRoom = std::span<std::byte, kPageBytes>;
using PageBytes = std::span<const std::byte, kPageBytes>;

class PageSource {
 public:
  explicit PageSource(std::uint32_t number) noexcept : number_(number) {}
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;
  virtual ~PageSource() = default;

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  // All of `room`, or an error; what is in the room then does not matter.
  virtual Status read(std::uint64_t page, PageRoom room) noexcept = 0;
  virtual Status write(std::uint64_t page, PageBytes bytes) noexcept = 0;

 private:
  std::uint32_t number_;
};

struct PageId {
  PageSource* source = nullptr;
  std::uint64_t page = 0;

  [[nodiscard]] std::uint64_t hash() const noexcept {
    return mix64(page + (std::uint64_t{source->number()} + 1) * 0x9e3779b97f4a7c15u);
  }
};

// Pages in memory, zeros at first.
class MemorySource final : public PageSource {
 public:
  explicit MemorySource(std::uint32_t number = 0) noexcept : PageSource(number) {}
  ~MemorySource() override;

  // Once. FULL(bytes, 0) without memory.
  Status resize(std::uint64_t pages) noexcept;
  [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }

  // IO(EIO) beyond the last page, as a file has it.
  Status read(std::uint64_t page, PageRoom room) noexcept override;
  Status write(std::uint64_t page, PageBytes bytes) noexcept override;

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t pages_ = 0;
};

// Pages of a file from `offset` on: what the platform opens, a private file of a browser included.
class FileSource final : public PageSource {
 public:
  FileSource(platform::File& file, std::uint64_t offset, std::uint32_t number = 0) noexcept
      : PageSource(number), file_(&file), offset_(offset) {}

  // IO(EIO) where the file ends before the page does; what File::read_at answers.
  Status read(std::uint64_t page, PageRoom room) noexcept override;
  // The file grows as it must. Not synced: that is its owner's.
  Status write(std::uint64_t page, PageBytes bytes) noexcept override;

 private:
  [[nodiscard]] Result<std::uint64_t> place_of(std::uint64_t page) const noexcept;

  platform::File* file_;
  std::uint64_t offset_;
};

}  // namespace vicinal::cache
