// vicinal remove: rows leave an index file by their ids.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/id_list.hpp"
#include "cli/index_file.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"

namespace vicinal::cli {
namespace {

constexpr std::size_t kSliceIds = std::size_t{1} << 16;

struct RemoveOptions {
  IndexFile index;
  std::string ids;
};

Report remove(const RemoveOptions& options) {
  const std::string& path = options.index.path;
  check_output(path);
  Index index = options.index.open_to_write();
  const IdKind kind = index.options().ids;
  const IdList ids = read_id_list(options.ids, kind);
  std::uint64_t removed = 0;
  for (std::size_t at = 0; at < ids.size(); at += kSliceIds) {
    check_interrupted();
    const std::size_t count = std::min(kSliceIds, ids.size() - at);
    auto receipt = kind == IdKind::string
                       ? index.remove(ids.views(at, count))
                       : index.remove(std::span(ids.numbers).subspan(at, count));
    removed += require(path, std::move(receipt)).count;
  }
  if (removed > 0) commit(index, path);
  const Stats stats = stats_of(index, path);

  Report report;
  report.json = {{"removed", removed},
                 {"rows", stats.rows},
                 {"bytes", stats.total_bytes},
                 {"file_bytes", file_bytes(path)}};
  report.text = fmt::format("{}: {} rows removed, {} left\n", path, removed, stats.rows);
  return report;
}

}  // namespace

Run attach_remove(CLI::App& parser) {
  auto options = std::make_shared<RemoveOptions>();
  options->index.attach(parser);
  parser
      .add_option("--ids", options->ids,
                  "Ids of the rows to remove: decimal lines or .u64; strings: lines or .nul")
      ->required()
      ->type_name("FILE");
  parser.footer("Ids that are not present are no error; the count tells.");
  return [options] { return remove(*options); };
}

}  // namespace vicinal::cli
