// Index files on the command line: their options, opening, saving, listing.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/id_list.hpp"
#include "vicinal/vicinal.hpp"

namespace CLI {
class App;
}

namespace vicinal::cli {

[[nodiscard]] const char* name_of(Metric metric) noexcept;
[[nodiscard]] const char* name_of(Originals originals) noexcept;

// --index and --max-bytes.
struct IndexFile {
  std::string path;
  std::uint64_t bytes_max = 0;

  void attach(CLI::App& parser);
  [[nodiscard]] Index open_to_read() const;
  // BUSY where another process writes to the file. What is written is in it after `commit`.
  [[nodiscard]] Index open_to_write() const;
};

// Puts all that was written to an index opened by open_to_write into its file, unless a signal came
// before; one that comes later waits until it is there.
void commit(Index& index, const std::string& path);
// Saves unless a signal came before; a signal that comes later waits until the file is whole.
void save(const Index& index, const std::string& path);

[[nodiscard]] Reader open_reader(const Index& index, const std::string& path);
[[nodiscard]] Stats stats_of(const Index& index, const std::string& path);

// Every id of the reader's version, ascending, strings by their bytes. Use a snapshot where
// rows may change meanwhile.
[[nodiscard]] IdList all_ids(Reader& reader, const Index& index);

// `file_bytes` of an index file, for reports. 0 when it has gone.
[[nodiscard]] std::uint64_t file_bytes(const std::string& path) noexcept;

}  // namespace vicinal::cli
