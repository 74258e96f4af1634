// vicinal add: a file of vectors joins an index file, whole or not at all.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <limits>
#include <memory>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/index_file.hpp"
#include "cli/ingest.hpp"
#include "cli/output_file.hpp"

namespace vicinal::cli {
namespace {

struct AddOptions {
  IndexFile index;
  Ingest ingest;
};

// The id after the largest present one.
std::uint64_t next_id(const Index& index, const std::string& path) {
  Reader reader = open_reader(index, path);
  const auto ids = all_ids(reader, index).numbers;
  if (ids.empty()) return 0;
  if (ids.back() == std::numeric_limits<std::uint64_t>::max()) {
    throw Failure(Code::bad_id,
                  fmt::format("{}: no id is left after the largest present one: give --ids", path));
  }
  return ids.back() + 1;
}

Report add(const AddOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  const std::string& path = options.index.path;
  const Format format = options.ingest.checked_format();
  check_output(path);
  Index index = options.index.open_to_write();
  RowReader rows(options.ingest.input, format);
  if (rows.dim() != index.options().dim) {
    throw Failure(Code::dimension, fmt::format("{}: rows of {} coordinates, {} has {}", rows.name(),
                                               rows.dim(), path, index.options().dim));
  }
  const bool numbered = options.ingest.ids.empty() && index.options().ids == IdKind::number;
  const std::uint64_t first = numbered ? next_id(index, path) : 0;
  const std::uint64_t added = options.ingest.run(rows, index, first);
  commit(index, path);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  const Stats stats = stats_of(index, path);

  Report report;
  report.json = {{"added", added},
                 {"rows", stats.rows},
                 {"bytes", stats.total_bytes},
                 {"seconds", taken.count()},
                 {"file_bytes", file_bytes(path)}};
  report.text = fmt::format("{}: {} rows added, {} in all, {:.2f} s\n", path, added, stats.rows,
                            taken.count());
  return report;
}

}  // namespace

Run attach_add(CLI::App& parser) {
  auto options = std::make_shared<AddOptions>();
  options->index.attach(parser);
  options->ingest.attach(parser);
  parser.footer(
      "Without --ids the rows are numbered after the largest id present, unless ids are strings.");
  return [options] { return add(*options); };
}

}  // namespace vicinal::cli
