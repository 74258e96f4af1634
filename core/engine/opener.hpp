// An index out of a log file: its newest whole version, and what goes on behind it: a writer's
// journal, or the follower of one.
//
// Thread safety: one thread at a time; nobody else knows the index before it is returned.
// I1: bytes are hostile: log_reader.hpp, segment/replay.hpp and the sums of blocks check them. Two
//     segments of one version never share bytes of the file.
// I2: a writer has the file's lock before it reads anything, and the file still has its name then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/core.hpp"
#include "engine/log_applier.hpp"
#include "engine/log_reader.hpp"
#include "platform/file_system.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::engine {

class Opener final : private Core::Restore {
 public:
  struct Options {
    bool read_only = false;
    bool mapped = true;
    bool detached = false;  // nobody writes to the file: as `read_only`, and not mapped
    bool ids = true;       // uses the table of ids; if not, ids are compared with each other
    std::uint64_t memory_bytes_max = 0;
    const IndexOptions* create = nullptr;  // where nothing is there
    bool upgrade = false;          // an image becomes a log first
    bool commit_on_flush = false;  // Journal::State
  };

  // A file of any version. IO, CORRUPT, VERSION, UNSUPPORTED, FULL; BUSY(process): somebody else
  // has it for writing; BAD_OPTION: `create` is for another index than the one that is there.
  [[nodiscard]] static Result<std::shared_ptr<Core>> open(platform::FileSystem& files,
                                                          const char* path,
                                                          const Options& options) noexcept;
  // A file of any version, for itself: a copy in memory (`detached`, or an image's).
  [[nodiscard]] static Result<std::shared_ptr<Core>> load(std::unique_ptr<platform::File> file,
                                                          const Options& options) noexcept;
  // A log file's bytes: an index in memory.
  [[nodiscard]] static Result<std::shared_ptr<Core>> load(
      std::span<const std::byte> bytes, std::uint64_t memory_bytes_max) noexcept;

 private:
  Opener(OpenLog& log, const Options& options) noexcept
      : options_(options), reader_(log.reader), applier_(log.applier) {}

  [[nodiscard]] Result<std::shared_ptr<Core>> run() noexcept;
  Status apply(segment::Replay& replay, segment::Damage& damage) noexcept override;
  Status write_on(Core& core, platform::FileSystem& files, const char* path,
                  std::unique_ptr<platform::File> file) noexcept;

  Options options_;
  LogReader& reader_;
  LogApplier& applier_;
};

// Whether a file is a log or an image. CORRUPT, VERSION, IO.
[[nodiscard]] Result<bool> is_log_file(platform::File& file) noexcept;

}  // namespace vicinal::engine
