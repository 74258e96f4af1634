// A folder for the files of a benchmark; it is gone afterwards.
//
// Thread safety: one thread.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "cli/failure.hpp"

namespace vicinal::bench {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "vicinal-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw cli::io_failure(name, errno);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace vicinal::bench
