// Vectors from a file into an index, on several threads.
//
// Thread safety: ingest() runs its own threads; call it from one.
// I1: rows are encoded side by side but enter in the order of the file, so that the index, its file
//     and the error that is reported are the same for any number of threads.
// I2: memory is bounded by threads x slice, whatever the length of the input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/row_reader.hpp"
#include "vicinal/vicinal.hpp"

namespace CLI {
class App;
}

namespace vicinal::cli {

// Threads beyond the library's lanes would only wait.
inline constexpr unsigned kThreadsMax = 64;

// --input, --format, --ids and --threads.
struct Ingest {
  std::string input;
  std::string format;
  std::string ids;
  unsigned threads = 1;

  void attach(CLI::App& parser);
  // Fits the index, which is empty, to rows drawn evenly from the input; reads the whole of it. A
  // failure when the input is a pipe, or too short.
  void calibrate(Index& index) const;
  // A usage failure when the options contradict each other.
  [[nodiscard]] Format checked_format() const;
  // Adds every row; how many. Without an --ids file they are numbered from `first_id`; a usage
  // failure where ids are strings.
  std::uint64_t run(RowReader& rows, Index& index, std::uint64_t first_id) const;
};

}  // namespace vicinal::cli
