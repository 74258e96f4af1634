// Whole files in and out.
//
// Thread safety: any thread; two writers of one path leave one of the two contents.
// I1: write_file leaves the old content or the new one, never a mix, whatever happens.
#pragma once

#include <cstddef>
#include <span>

#include "base/aligned_buffer.hpp"
#include "vicinal/status.hpp"

namespace vicinal::platform {

// Everything in the file. IO(errno): missing, unreadable, a directory; FULL without memory. UNSUPPORTED
// where there are no files.
[[nodiscard]] Result<AlignedBuffer> read_file(const char* path) noexcept;

// A temporary file beside `path`, flushed to the disk, then renamed over it. IO(errno); the temporary
// file is gone then.
Status write_file(const char* path, std::span<const std::byte> bytes) noexcept;

}  // namespace vicinal::platform
