// A file that appears whole or not at all.
//
// Thread safety: one thread at a time.
// I1: until commit() the old content stands; destroyed without one, nothing is left behind.
// I2: what is not a regular file (a pipe, /dev/null) is written directly.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vicinal::cli {

// IO when `path` is a directory, or its folder is missing or cannot be written to: found before the
// work, not after it.
void check_output(const std::string& path);

class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  void flush();

  std::string path_;
  std::string temporary_;  // empty: written directly
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

}  // namespace vicinal::cli
