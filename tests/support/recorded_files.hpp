// The operating system's files with a record of what was asked of them, in which a chosen operation
// fails; and what a disk may hold after a loss of power at any moment of such a record.
//
// Thread safety: as the files beneath it; the record may be looked at while nobody works.
// I1: stores through mappings are not recorded: the only shared ones are those of the live page,
//     which nothing trusts.
// I2: what was written is on the disk for certain once the next sync of that file is over; before
//     that, any of its sectors may be or not, each on its own. A new length may be or not, too.
// I3: a name is on the disk when the call that gave it is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "platform/file_system.hpp"

namespace vicinal::test {

struct FileOperation {
  enum class Kind : std::uint8_t { open, create, read, write, sync, truncate, map, rename };
  Kind kind = Kind::open;
  std::uint32_t file = 0;  // numbered by their opening; rename: the one that gets the name
  std::uint64_t offset = 0;  // truncate: the new length
  std::vector<std::byte> bytes;  // of a write
};

class RecordedFiles final : public platform::FileSystem {
 public:
  // Operations number `first` (from 1) to `last` from now on answer IO(error); a write that fails
  // may have written its first half.
  void fail(std::uint64_t first, std::uint64_t last, int error) noexcept;
  // How many have failed since.
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }
  // Which kinds count and fail; all of them at first.
  void fail_only(FileOperation::Kind kind) noexcept;

  // Called once, before the next write, by the thread that writes.
  void before_next_write(std::function<void()> call) { before_write_ = std::move(call); }

  [[nodiscard]] const std::vector<FileOperation>& operations() const noexcept {
    return operations_;
  }
  [[nodiscard]] std::uint64_t count(FileOperation::Kind kind) const noexcept;
  [[nodiscard]] std::uint64_t bytes_written() const noexcept;
  void forget() noexcept { operations_.clear(); }

  Result<std::unique_ptr<platform::File>> open(const char* path,
                                               platform::Access access) noexcept override;
  Result<std::unique_ptr<char[]>> full_name(const char* path) noexcept override {
    return platform::system_files().full_name(path);
  }
  Result<platform::TemporaryFile> create_beside(const char* path) noexcept override;
  Status rename_over(platform::TemporaryFile& temporary) noexcept override;
  Status rename_new(platform::TemporaryFile& temporary) noexcept override;
  void discard(platform::TemporaryFile& temporary) noexcept override;

 private:
  friend class RecordedFile;
  [[nodiscard]] std::unique_ptr<platform::File> wrap(std::unique_ptr<platform::File> file);
  [[nodiscard]] FileOperation renaming(const platform::TemporaryFile& temporary);
  // Whether this one shall fail; if not, it is recorded.
  [[nodiscard]] Status begin(FileOperation operation) noexcept;

  std::mutex mutex_;
  std::function<void()> before_write_;
  std::vector<FileOperation> operations_;
  std::map<std::string, std::uint32_t> temporaries_;  // numbers by their names
  std::uint32_t files_ = 0;
  std::uint64_t counted_ = 0;
  std::uint64_t fail_first_ = 0;
  std::uint64_t fail_last_ = 0;
  std::uint64_t failed_ = 0;
  int error_ = 0;
  bool any_kind_ = true;
  FileOperation::Kind only_ = FileOperation::Kind::open;
};

// The file that has the name behind the first `count` operations, where it was `first` before.
[[nodiscard]] std::uint32_t named_file(const std::vector<FileOperation>& operations,
                                       std::size_t count, std::uint32_t first);

// What remains of one file that was `before` when the record began and lost power behind its first
// `count` operations.
enum class Survival : std::uint8_t {
  all,       // everything that was written
  synced,    // nothing that was not synced
  any,       // any writes of those that were not synced, each whole or not at all
  sectors,   // any sectors of them, and any length
};
[[nodiscard]] std::vector<std::byte> after_power_loss(std::vector<std::byte> before,
                                                      const std::vector<FileOperation>& operations,
                                                      std::uint32_t file, std::size_t count,
                                                      Survival survival, Random& random);

}  // namespace vicinal::test
