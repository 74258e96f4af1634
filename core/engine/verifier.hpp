// Every byte of an index file, looked at.
//
// Thread safety: one thread at a time.
// I1: what opening would refuse or meet later is an error here; what it passes over, and the next
//     writer mends, is reported.
// I2: not looked at: bytes that mean nothing, which are those of an extent's blocks that no commit
//     has made whole; and of the live page all that a writer says there.
#pragma once

#include <cstdint>

#include "platform/file_system.hpp"
#include "vicinal/file_report.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// See vicinal::verify_file.
[[nodiscard]] Result<FileReport> verify_file(platform::FileSystem& files, const char* path,
                                             std::uint64_t memory_bytes_max) noexcept;

}  // namespace vicinal::engine
