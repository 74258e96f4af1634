// A version as the bytes of a log file in memory: what an index whose ids are strings has in the
// place of an image.
//
// Thread safety: one thread at a time; `log_bytes` with a reader of one's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/growing_buffer.hpp"
#include "engine/reader.hpp"
#include "platform/file_system.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// A file that only is in memory, and grows.
class GrowingFile final : public platform::File {
 public:
  Result<std::uint64_t> size() noexcept override { return std::uint64_t{bytes_.size()}; }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept override;
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept override;
  Status sync() noexcept override { return {}; }
  Status truncate(std::uint64_t bytes) noexcept override;
  Result<void*> map(std::uint64_t, std::size_t, platform::Mapping) noexcept override {
    return Status(Code::unsupported);
  }
  Status lock() noexcept override { return Status(Code::unsupported); }
  Result<bool> is_at(const char*) noexcept override { return false; }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_.bytes(); }

 private:
  GrowingBuffer bytes_;
};

// What `save_log_file` would write of the reader's version, into an empty file. Memory for all of
// it. FULL, CORRUPT, CLOSED.
Status write_log(GrowingFile& file, ReaderCore& reader) noexcept;

}  // namespace vicinal::engine
