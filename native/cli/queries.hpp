// The queries of search and recall, and the options of how to look.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/index_file.hpp"
#include "vicinal/vicinal.hpp"

namespace CLI {
class App;
}

namespace vicinal::cli {

// --index, --max-bytes, --queries, --format, -k, --certainty, --exhaustive and --rerank.
struct Queries {
  IndexFile index;
  std::string path;
  std::string format;
  std::size_t k = 10;
  std::optional<std::size_t> rerank;
  float certainty = 3.0f;
  bool exhaustive = false;

  void attach(CLI::App& parser, std::size_t k_min);
  // Whole queries, row by row. DIMENSION when they are not of the index's dimension.
  [[nodiscard]] std::vector<float> read(std::uint32_t dim) const;
  // BAD_OPTION where the index cannot do what is asked for.
  [[nodiscard]] SearchOptions search_options(const IndexOptions& of) const;
};

// One search; a failure names the query's row.
[[nodiscard]] Hits search_one(Reader& reader, std::span<const float> query, std::size_t row,
                              const SearchOptions& options, const std::string& name);

}  // namespace vicinal::cli
