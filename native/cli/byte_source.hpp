// Bytes of a file, a pipe or standard input, in order.
//
// Thread safety: one thread at a time.
// I1: a read fills what it is given unless the input ends there.
// I2: waiting for input ends with the ABORTED failure when a signal comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vicinal::cli {

class ByteSource {
 public:
  // "-" is standard input. IO for what is missing, unreadable or a directory.
  explicit ByteSource(const std::string& path);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  // How many bytes came; fewer than asked for only at the end.
  [[nodiscard]] std::size_t read(std::span<std::byte> into);
  // Everything that is left.
  [[nodiscard]] std::string read_text();

  // For messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Where the length is known beforehand: regular files.
  [[nodiscard]] std::optional<std::uint64_t> length() const noexcept { return length_; }

 private:
  std::string name_;
  int descriptor_ = -1;
  std::optional<std::uint64_t> length_;
};

}  // namespace vicinal::cli
