// vicinal compact: an index file is written anew without what is dead in it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/index_file.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"

namespace vicinal::cli {
namespace {

Report compact(const IndexFile& file) {
  const std::string& path = file.path;
  check_output(path);
  Index index = file.open_to_write();
  check_interrupted();
  const std::uint64_t dropped = require(path, index.compact()).count;
  const Stats stats = stats_of(index, path);

  Report report;
  report.json = {{"dropped", dropped},
                 {"rows", stats.rows},
                 {"dead", stats.dead},
                 {"bytes", stats.total_bytes},
                 {"file_bytes", file_bytes(path)}};
  report.text = fmt::format("{}: {} rows, {} dead rows dropped\n", path, stats.rows, dropped);
  return report;
}

}  // namespace

Run attach_compact(CLI::App& parser) {
  auto file = std::make_shared<IndexFile>();
  file->attach(parser);
  return [file] { return compact(*file); };
}

}  // namespace vicinal::cli
