// Looking at an index file without using it.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "vicinal/status.hpp"

namespace vicinal {

namespace platform {
class FileSystem;
}  // namespace platform

// What is in an index file besides damage that stops it from being opened.
struct FileReport {
  std::uint64_t bytes = 0;    // of the file
  std::uint64_t records = 0;  // an image is one
  std::uint64_t rows = 0;     // live
  // Behind the last whole commit: what a loss of power, or a writer that was killed, has left. It
  // was never acknowledged as durable, and the next writer cuts it off.
  std::uint64_t torn_bytes = 0;
  std::uint32_t invalid_meta_slots = 0;  // of the two; the next writer mends them
  std::uint64_t stray_byte = 0;  // position of the first byte that ought to be zero; 0: none
  bool ids_damaged = false;      // a table of ids is left out: opening takes longer

  [[nodiscard]] bool clean() const noexcept {
    return torn_bytes == 0 && invalid_meta_slots == 0 && stray_byte == 0 && !ids_damaged;
  }
};
// Reads every byte of an index file and checks all that it says, older commits included. CORRUPT
// where damage would refuse the file or a part of it; VERSION, UNSUPPORTED, IO; FULL where the
// index takes more memory than that (0: no limit). A writer may be at work meanwhile: what it has
// not finished is torn. `files`: null for the operating system's.
[[nodiscard]] Result<FileReport> verify_file(const std::string& path,
                                             std::uint64_t memory_bytes_max = 0,
                                             platform::FileSystem* files = nullptr);

}  // namespace vicinal
