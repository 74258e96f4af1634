#include "support/recorded_files.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vicinal::test {

using platform::Access;
using platform::File;
using platform::Mapping;
using platform::TemporaryFile;
using Kind = FileOperation::Kind;

class RecordedFile final : public File {
 public:
  RecordedFile(RecordedFiles& files, std::uint32_t number, std::unique_ptr<File> file)
      : files_(files), number_(number), file_(std::move(file)) {}

  Result<std::uint64_t> size() noexcept override { return file_->size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept override {
    const Status begun = files_.begin({Kind::read, number_, offset, {}});
    return begun.ok() ? file_->read_at(offset, bytes) : begun;
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept override {
    if (const auto call = std::exchange(files_.before_write_, nullptr)) call();
    const Status begun =
        files_.begin({Kind::write, number_, offset, {bytes.begin(), bytes.end()}});
    if (begun.ok()) return file_->write_at(offset, bytes);
    (void)file_->write_at(offset, bytes.first(bytes.size() / 2));
    return begun;
  }
  Status sync() noexcept override {
    // The temporary files are on a disk that loses no power: only the record counts.
    return files_.begin({Kind::sync, number_, 0, {}});
  }
  Status truncate(std::uint64_t bytes) noexcept override {
    const Status begun = files_.begin({Kind::truncate, number_, bytes, {}});
    return begun.ok() ? file_->truncate(bytes) : begun;
  }
  Result<void*> map(std::uint64_t offset, std::size_t bytes, Mapping mapping) noexcept override {
    const Status begun = files_.begin({Kind::map, number_, offset, {}});
    if (!begun.ok()) return begun;
    return file_->map(offset, bytes, mapping);
  }
  Status map_over(void* memory, std::uint64_t offset, std::size_t bytes,
                  Mapping mapping) noexcept override {
    const Status begun = files_.begin({Kind::map, number_, offset, {}});
    return begun.ok() ? file_->map_over(memory, offset, bytes, mapping) : begun;
  }
  Status lock() noexcept override { return file_->lock(); }
  Result<bool> is_at(const char* path) noexcept override { return file_->is_at(path); }

 private:
  RecordedFiles& files_;
  std::uint32_t number_;
  std::unique_ptr<File> file_;
};

void RecordedFiles::fail(std::uint64_t first, std::uint64_t last, int error) noexcept {
  counted_ = 0;
  failed_ = 0;
  fail_first_ = first;
  fail_last_ = last;
  error_ = error;
}

void RecordedFiles::fail_only(Kind kind) noexcept {
  any_kind_ = false;
  only_ = kind;
}

Status RecordedFiles::begin(FileOperation operation) noexcept {
  const std::lock_guard lock(mutex_);
  if (any_kind_ || operation.kind == only_) {
    ++counted_;
    if (fail_first_ != 0 && counted_ >= fail_first_ && counted_ <= fail_last_) {
      ++failed_;
      return Status(Code::io, static_cast<std::uint64_t>(error_));
    }
  }
  operations_.push_back(std::move(operation));
  return {};
}

std::uint64_t RecordedFiles::count(Kind kind) const noexcept {
  return static_cast<std::uint64_t>(
      std::count_if(operations_.begin(), operations_.end(),
                    [kind](const FileOperation& one) { return one.kind == kind; }));
}

std::uint64_t RecordedFiles::bytes_written() const noexcept {
  std::uint64_t bytes = 0;
  for (const FileOperation& one : operations_) bytes += one.bytes.size();
  return bytes;
}

std::unique_ptr<File> RecordedFiles::wrap(std::unique_ptr<File> file) {
  return std::make_unique<RecordedFile>(*this, files_++, std::move(file));
}

Result<std::unique_ptr<File>> RecordedFiles::open(const char* path, Access access) noexcept {
  const Status begun = begin({Kind::open, files_, 0, {}});
  if (!begun.ok()) return begun;
  auto file = platform::system_files().open(path, access);
  if (!file.ok()) return file;
  return wrap(std::move(file).value());
}

Result<TemporaryFile> RecordedFiles::create_beside(const char* path) noexcept {
  const Status begun = begin({Kind::create, files_, 0, {}});
  if (!begun.ok()) return begun;
  auto temporary = platform::system_files().create_beside(path);
  if (!temporary.ok()) return temporary;
  temporaries_[temporary->name.get()] = files_;
  temporary->file = wrap(std::move(temporary->file));
  return temporary;
}

FileOperation RecordedFiles::renaming(const TemporaryFile& temporary) {
  return {Kind::rename, temporaries_[temporary.name.get()], 0, {}};
}

Status RecordedFiles::rename_over(TemporaryFile& temporary) noexcept {
  const Status begun = begin(renaming(temporary));
  if (begun.ok()) return platform::system_files().rename_over(temporary);
  platform::system_files().discard(temporary);
  return begun;
}

Status RecordedFiles::rename_new(TemporaryFile& temporary) noexcept {
  const Status begun = begin(renaming(temporary));
  if (begun.ok()) return platform::system_files().rename_new(temporary);
  platform::system_files().discard(temporary);
  return begun;
}

void RecordedFiles::discard(TemporaryFile& temporary) noexcept {
  platform::system_files().discard(temporary);
}

namespace {

constexpr std::size_t kSectorBytes = 512;

void apply(std::vector<std::byte>& disk, const FileOperation& one, std::size_t from,
           std::size_t bytes) {
  if (disk.size() < one.offset + from + bytes) disk.resize(one.offset + from + bytes);
  if (bytes == 0) return;
  std::memcpy(disk.data() + one.offset + from, one.bytes.data() + from, bytes);
}

void apply_sectors(std::vector<std::byte>& disk, const FileOperation& one, Random& random) {
  for (std::size_t from = 0; from < one.bytes.size();) {
    const std::size_t in_sector = kSectorBytes - (one.offset + from) % kSectorBytes;
    const std::size_t bytes = std::min(in_sector, one.bytes.size() - from);
    if (random.below(2) == 0) apply(disk, one, from, bytes);
    from += bytes;
  }
}

}  // namespace

std::uint32_t named_file(const std::vector<FileOperation>& operations, std::size_t count,
                         std::uint32_t first) {
  std::uint32_t named = first;
  for (std::size_t i = 0; i < count; ++i) {
    if (operations[i].kind == Kind::rename) named = operations[i].file;
  }
  return named;
}

std::vector<std::byte> after_power_loss(std::vector<std::byte> before,
                                        const std::vector<FileOperation>& operations,
                                        std::uint32_t file, std::size_t count, Survival survival,
                                        Random& random) {
  std::size_t synced = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (operations[i].file == file && operations[i].kind == Kind::sync) synced = i;
  }
  std::vector<std::byte>& disk = before;
  for (std::size_t i = 0; i < count; ++i) {
    const FileOperation& one = operations[i];
    if (one.file != file || (one.kind != Kind::write && one.kind != Kind::truncate)) continue;
    const bool certain = i < synced || survival == Survival::all;
    if (!certain && survival == Survival::synced) continue;
    if (!certain && survival == Survival::sectors && one.kind == Kind::write) {
      apply_sectors(disk, one, random);
      continue;
    }
    if (!certain && random.below(2) == 0) continue;
    if (one.kind == Kind::truncate) {
      disk.resize(one.offset);
    } else {
      apply(disk, one, 0, one.bytes.size());
    }
  }
  return std::move(disk);
}

}  // namespace vicinal::test
