// A whole index file of one version, and the bytes of one in memory.
//
// Thread safety: one thread at a time.
// I1: what `write_log_file` was asked for is synced when it returns OK.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/log_writer.hpp"
#include "platform/file_system.hpp"
#include "quant/layout.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::engine {

// Into an empty file, pinned by the caller. IO, FULL, UNSUPPORTED(ids) for ids that are strings.
Status write_log_file(platform::File& file, const IndexOptions& options,
                      const quant::CodeLayout& layout, const segment::Version& version) noexcept;

// Bytes that only can be read.
class MemoryFile final : public platform::File {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  Result<std::uint64_t> size() noexcept override { return std::uint64_t{bytes_.size()}; }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept override;
  Status write_at(std::uint64_t, std::span<const std::byte>) noexcept override {
    return Status(Code::read_only);
  }
  Status sync() noexcept override { return Status(Code::read_only); }
  Status truncate(std::uint64_t) noexcept override { return Status(Code::read_only); }
  Result<void*> map(std::uint64_t, std::size_t, platform::Mapping) noexcept override {
    return Status(Code::unsupported);
  }
  Status lock() noexcept override { return Status(Code::unsupported); }
  Result<bool> is_at(const char*) noexcept override { return false; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace vicinal::engine
