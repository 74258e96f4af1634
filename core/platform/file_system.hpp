// Open files as objects, and the names that lead to them: what an index in a file needs of the
// system, behind an interface so that tests can record it and make it fail.
//
// Thread safety: read_at, write_at, map and unmap_file from any thread; everything else of a file
// by one thread at a time. A FileSystem from any thread.
// I1: a call has done all that it was asked for or answers with why not; after a failed write or
//     sync nobody knows what is on the disk.
// I2: a lock is of the open file, not of the process, and ends with it, however it ends.
// I3: what was written is seen through every mapping of the file at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "vicinal/status.hpp"

namespace vicinal::platform {

// Mappings begin at multiples of this, and files grow by it where they are mapped.
inline constexpr std::size_t kMapBytes = 4096;

enum class Access : std::uint8_t { read, write };

enum class Mapping : std::uint8_t {
  read,           // stores are faults
  private_write,  // stores stay in this mapping
  shared_write,   // stores are the file's; the file must be open for writing
};

class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;  // closes it, and gives its lock back

  [[nodiscard]] virtual Result<std::uint64_t> size() noexcept = 0;
  // All of `bytes`; IO(EIO) where the file ends before.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept = 0;
  // The file grows as it must; what was never written reads as zeros.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept = 0;
  // What was written, and the length, are on the disk.
  virtual Status sync() noexcept = 0;
  virtual Status truncate(std::uint64_t bytes) noexcept = 0;
  // `offset` a multiple of kMapBytes. The range may lie behind the end of the file: touching it
  // there is fatal until the file has grown. Lives until unmap_file, also without the file.
  // UNSUPPORTED where files cannot be mapped.
  [[nodiscard]] virtual Result<void*> map(std::uint64_t offset, std::size_t bytes,
                                          Mapping mapping) noexcept = 0;
  // The same in place of another file's mapping of that length, at its address: who reads there
  // meanwhile reads the one or the other. On an error it is what it was.
  virtual Status map_over(void*, std::uint64_t, std::size_t, Mapping) noexcept {
    return Status(Code::unsupported);
  }
  // I2. BUSY: another open file has it. Where the file is read only, too.
  virtual Status lock() noexcept = 0;
  // Whether `path` leads to this file.
  [[nodiscard]] virtual Result<bool> is_at(const char* path) noexcept = 0;
};

void unmap_file(void* memory, std::size_t bytes) noexcept;
// Whole pages of a private mapping show the file again, as it is now, and what was stored to them
// is gone. Who reads there meanwhile reads the one or the other. False: they are as they were.
bool forget_stores(void* memory, std::size_t bytes) noexcept;

// A name beside the one that it is to get.
struct TemporaryFile {
  std::unique_ptr<File> file;
  std::unique_ptr<char[]> name;    // its own
  std::unique_ptr<char[]> target;  // what it will be called: links are followed
};

class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  // IO(errno): missing, not allowed, a directory (EISDIR), not a regular file (EINVAL). FULL.
  // UNSUPPORTED where there are no files.
  [[nodiscard]] virtual Result<std::unique_ptr<File>> open(const char* path,
                                                           Access access) noexcept = 0;
  // The name of an existing file, whatever folder the process is in later. IO, FULL.
  [[nodiscard]] virtual Result<std::unique_ptr<char[]>> full_name(const char* path) noexcept = 0;
  // A new file beside `path`, open for writing, with the permissions of the one it will replace. An
  // older one of a process that is not there, and that nobody has written to for an hour, goes.
  [[nodiscard]] virtual Result<TemporaryFile> create_beside(const char* path) noexcept = 0;
  // Gives the temporary file, which was synced, its name, in place of what has it, and flushes the
  // directory. On an error the temporary file is gone, and the name is what it was, or new but not
  // certain to survive a loss of power.
  virtual Status rename_over(TemporaryFile& temporary) noexcept = 0;
  // The same where nothing has the name yet, else IO(EEXIST).
  virtual Status rename_new(TemporaryFile& temporary) noexcept = 0;
  // Gives it up.
  virtual void discard(TemporaryFile& temporary) noexcept = 0;
};

// The operating system's; one that answers UNSUPPORTED where there is none.
[[nodiscard]] FileSystem& system_files() noexcept;

// Bytes that nobody has drawn before, for names of files.
void draw_random(std::span<std::byte> bytes) noexcept;

// Which process this is, for those who are told that it has the lock; 0 where nobody can tell.
[[nodiscard]] std::uint64_t process_id() noexcept;

}  // namespace vicinal::platform
