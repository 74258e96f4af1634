// vicinal info: what an index file holds and what it costs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/index_file.hpp"

namespace vicinal::cli {
namespace {

Report info(const IndexFile& file) {
  const Index index = file.open_to_read();
  const Stats stats = stats_of(index, file.path);
  const auto bytes = static_cast<double>(stats.total_bytes);
  const double bytes_per_row = stats.rows == 0 ? 0 : bytes / static_cast<double>(stats.rows);
  Report report;
  report.json = {{"rows", stats.rows},
                 {"dead", stats.dead},
                 {"dim", stats.dim},
                 {"bits", stats.bits},
                 {"metric", name_of(stats.metric)},
                 {"originals", name_of(index.options().originals)},
                 {"ids", index.options().ids == IdKind::string ? "string" : "number"},
                 {"sequence", stats.sequence},
                 {"bytes", stats.total_bytes},
                 {"bytes_per_row", bytes_per_row},
                 {"kernel", stats.kernel},
                 {"seed", index.options().seed},
                 {"calibrated", stats.calibrated},
                 {"file_bytes", file_bytes(file.path)},
                 {"bytes_by_part",
                  {{"segments", stats.segment_bytes},
                   {"originals", stats.original_bytes},
                   {"id_table", stats.id_table_bytes},
                   {"strings", stats.string_bytes},
                   {"versions", stats.version_bytes},
                   {"retired", stats.retired_bytes},
                   {"shared", stats.shared_bytes}}}};
  report.text = fmt::format(
      "rows           {}\ndead           {}\ndim            {}\nbits           {}\n"
      "metric         {}\noriginals      {}\nids            {}\ncalibrated     {}\n"
      "sequence       {}\n"
      "bytes          {}\n"
      "bytes per row  {:.1f}\nfile bytes     {}\nkernel         {}\n",
      stats.rows, stats.dead, stats.dim, stats.bits, name_of(stats.metric),
      name_of(index.options().originals),
      index.options().ids == IdKind::string ? "strings" : "numbers",
      stats.calibrated ? "yes" : "no", stats.sequence,
      stats.total_bytes, bytes_per_row, file_bytes(file.path), stats.kernel);
  return report;
}

}  // namespace

Run attach_info(CLI::App& parser) {
  auto file = std::make_shared<IndexFile>();
  file->attach(parser);
  return [file] { return info(*file); };
}

}  // namespace vicinal::cli
