// A whole index file of one version, made step by step, and the bytes of one in memory.
//
// Thread safety: one thread at a time. Versions are pinned by the caller: the first one from
// `create` to `finish`, the newest one for the time of `finish`.
// I1: nothing of the file is what `finish` promises until it has returned OK; then all of it is on
//     the disk. Who made it under another name gives it its own now.
// I2: never are more than about kSyncBytes of the rows unsynced, so that the last sync does not
//     have all of them to wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/log_writer.hpp"
#include "platform/file_system.hpp"
#include "quant/layout.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::engine {

class Core;
class ReaderCore;

class LogFileMaker {
 public:
  static constexpr std::uint64_t kSyncBytes = std::uint64_t{16} << 20;

  // Into an empty file, which outlives this. IO, FULL.
  [[nodiscard]] static Result<std::unique_ptr<LogFileMaker>> create(
      platform::File& file, const storage::Uuid& uuid, const IndexOptions& options,
      const quant::CodeLayout& layout, const segment::Version& version,
      LogWriter::Extents extents) noexcept;

  // About `bytes` more of the version's rows and strings. Whether they are all there. IO, FULL,
  // CORRUPT.
  [[nodiscard]] Result<bool> advance(std::uint64_t bytes) noexcept;
  // All rows are there. The file then is one of `newest`, which is the version or a later one of
  // the same index. IO, FULL, CORRUPT.
  Status finish(const segment::Version& newest) noexcept;

  // After `finish`: what goes on behind the file, and what it has to know.
  [[nodiscard]] std::unique_ptr<LogWriter> take_writer() noexcept { return std::move(log_); }
  [[nodiscard]] std::uint64_t end() const noexcept { return log_->place().end; }
  [[nodiscard]] std::uint64_t directory() const noexcept { return directory_; }
  [[nodiscard]] std::uint64_t directory_bytes() const noexcept { return directory_bytes_; }
  [[nodiscard]] static constexpr std::uint64_t turn() noexcept { return storage::kMetaSlots; }

 private:
  LogFileMaker(platform::File& file, const segment::Version& version,
               LogWriter::Extents extents) noexcept
      : file_(file), version_(version), extents_(extents) {}

  Status write_metas(const segment::Version& newest) noexcept;
  Status sync_now_and_then() noexcept;

  platform::File& file_;
  const segment::Version& version_;
  LogWriter::Extents extents_;
  std::unique_ptr<LogWriter> log_;
  std::uint32_t number_ = 0;  // of the segment that is next
  std::uint64_t synced_ = 0;  // bytes written before the last sync
  std::uint64_t directory_ = 0;
  std::uint64_t directory_bytes_ = 0;
};

// The whole file of one version at once. I1. IO, FULL, CORRUPT.
Status write_log_file(platform::File& file, const storage::Uuid& uuid, const IndexOptions& options,
                      const quant::CodeLayout& layout, const segment::Version& version) noexcept;

// A uuid that follows from what the version holds, so that equal indexes make equal files. CORRUPT
// where damage was met, FULL.
[[nodiscard]] Result<storage::Uuid> uuid_of(const IndexOptions& options,
                                            const segment::Version& version) noexcept;

// All of a version in the place of the file at `path`; see save_log_file. The caller has the lock
// of that file, if there is one; not `replaces`: IO(EEXIST) where there is one.
Status save_version(platform::FileSystem& files, const char* path, const Core& core,
                    const segment::Version& version, bool replaces = true) noexcept;
// The live rows of the reader's version in the place of the file at `path`, which is replaced all
// at once, or not at all; its uuid is `uuid_of`. BUSY(process): a process has that file for
// writing. IO, FULL, CORRUPT, CLOSED.
Status save_log_file(platform::FileSystem& files, const char* path, ReaderCore& reader) noexcept;

// BUSY with the process that says in the file that it writes to it.
[[nodiscard]] Status busy_with_writer(platform::File& file) noexcept;

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
