// Whole files in and out.
//
// Thread safety: any thread; two writers of one path leave one of the two contents.
// I1: write_file leaves the old content or the new one, never a mix, whatever happens; after it
//     returned OK the new one also survives a loss of power.
// I2: no memory is asked for before the file's length is known to be within `bytes_max`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.hpp"
#include "vicinal/status.hpp"

namespace vicinal::platform {

// Everything in the file. IO(errno): missing, unreadable, not a regular file (EISDIR for a
// directory), shortened while it was read. FULL(length, bytes_max): longer than that; FULL(length,
// 0): without memory. UNSUPPORTED where there are no files.
[[nodiscard]] Result<AlignedBuffer> read_file(
    const char* path, std::uint64_t bytes_max = ~std::uint64_t{0}) noexcept;

// A temporary file beside `path`, flushed to the disk, then renamed over it, and the directory
// flushed. A file that is replaced keeps its permissions, a symbolic link its place. IO(errno); the
// temporary file is gone then. UNSUPPORTED where there are no files.
Status write_file(const char* path, std::span<const std::byte> bytes) noexcept;

}  // namespace vicinal::platform
