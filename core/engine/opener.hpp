// An index out of a log file: its newest whole version, and, for a writer, the journal that goes on
// behind it.
//
// Thread safety: one thread at a time; nobody else knows the index before it is returned.
// I1: bytes are hostile: log_reader.hpp, segment/replay.hpp and the sums of blocks check them. Two
//     segments of one version never share bytes of the file.
// I2: a mapped segment's mapping lives as long as the segment. It is private: unfinished blocks are
//     put into it, and a page that was stored to shows no more what others write to the file.
// I3: a writer has the file's lock before it reads anything, and the file still has its name then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/core.hpp"
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
    std::uint64_t memory_bytes_max = 0;
    const IndexOptions* create = nullptr;  // where nothing is there
  };

  // A file of any version. IO, CORRUPT, VERSION, UNSUPPORTED, FULL; BUSY(process): somebody else
  // has it for writing; BAD_OPTION: `create` is for another index than the one that is there.
  [[nodiscard]] static Result<std::shared_ptr<Core>> open(platform::FileSystem& files,
                                                          const char* path,
                                                          const Options& options) noexcept;
  // A log file's bytes: an index in memory.
  [[nodiscard]] static Result<std::shared_ptr<Core>> load(
      std::span<const std::byte> bytes, std::uint64_t memory_bytes_max) noexcept;

 private:
  Opener(platform::File& file, const Options& options) noexcept
      : file_(file), options_(options), reader_(file) {}

  [[nodiscard]] Result<std::shared_ptr<Core>> run() noexcept;
  Status apply(segment::Replay& replay, segment::Damage& damage) noexcept override;
  Status apply_record(segment::Replay& replay, segment::Damage& damage,
                      const storage::CommitView& view) noexcept;
  Status attach(segment::Replay& replay, segment::Damage& damage,
                const storage::OpenedSegment& opened) noexcept;
  [[nodiscard]] Result<segment::Segment*> map(const storage::Extent& extent,
                                              segment::Damage& damage) noexcept;
  [[nodiscard]] Result<segment::Segment*> read(const storage::Extent& extent,
                                               std::uint32_t rows) noexcept;
  // I1.
  Status check_extents() noexcept;
  Status write_on(Core& core, std::unique_ptr<platform::File> file) noexcept;

  platform::File& file_;
  Options options_;
  LogReader reader_;
  bool calibrated_ = false;
};

}  // namespace vicinal::engine
