#include "cli/index_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/option_checks.hpp"

namespace vicinal::cli {
namespace {

Index open_index(const IndexFile& file, bool read_only) {
  OpenOptions options;
  options.read_only = read_only;
  options.upgrade = !read_only;
  options.commit_on_flush = true;  // a command's changes are in the file all at once, or not at all
  options.memory_bytes_max = file.bytes_max;
  return require(file.path, Index::open(file.path, options));
}

}  // namespace

const char* name_of(Metric metric) noexcept {
  switch (metric) {
    case Metric::cosine: return "cosine";
    case Metric::ip: return "ip";
    case Metric::l2: return "l2";
  }
  return "unknown";
}

const char* name_of(Originals originals) noexcept {
  switch (originals) {
    case Originals::none: return "none";
    case Originals::float16: return "float16";
    case Originals::float32: return "float32";
  }
  return "unknown";
}

void IndexFile::attach(CLI::App& parser) {
  parser.add_option("--index", path, "The index file")->required()->type_name("FILE");
  add_max_bytes(parser, bytes_max);
}

Index IndexFile::open_to_read() const { return open_index(*this, true); }
Index IndexFile::open_to_write() const { return open_index(*this, false); }

void commit(Index& index, const std::string& path) {
  check_interrupted();
  (void)require(path, index.flush());
}

void save(const Index& index, const std::string& path) {
  check_interrupted();
  require(path, index.save(path));
}

Reader open_reader(const Index& index, const std::string& path) {
  Reader reader = index.reader();
  require(path, reader.status());
  return reader;
}

Stats stats_of(const Index& index, const std::string& path) {
  return require(path, index.try_stats());
}

IdList all_ids(Reader& reader, const Index& index) {
  // A search that asks for every row finds every row, whatever it looks for.
  SearchOptions options;
  options.k = reader.size();
  options.exhaustive = true;
  const std::vector<float> anything(index.options().dim, 0.0f);
  const Hits hits = require("the index", reader.search(anything, options));
  IdList ids;
  ids.numbers.assign(hits.ids().begin(), hits.ids().end());
  std::sort(ids.numbers.begin(), ids.numbers.end());
  for (std::size_t i = 0; i < hits.string_ids().size(); ++i) {
    ids.texts.emplace_back(hits.string_ids()[i]);
  }
  std::sort(ids.texts.begin(), ids.texts.end());
  return ids;
}

std::uint64_t file_bytes(const std::string& path) noexcept {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

}  // namespace vicinal::cli
