// vicinal export: the vectors that an index stands for, by ascending id.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <memory>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/id_list.hpp"
#include "cli/index_file.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/terminal.hpp"

namespace vicinal::cli {
namespace {

struct ExportOptions {
  IndexFile index;
  std::string output;
  std::string output_ids;
};

Report export_rows(const ExportOptions& options) {
  if (!options.output.ends_with(".fvecs")) {
    throw usage_failure(fmt::format("--output {}: the name must end in .fvecs", options.output));
  }
  check_output(options.output);
  if (!options.output_ids.empty()) check_output(options.output_ids);
  const Index index = options.index.open_to_read();
  Reader reader = open_reader(index, options.index.path);
  const IdList ids = all_ids(reader, index);
  const bool strings = index.options().ids == IdKind::string;

  OutputFile file(options.output);
  const std::uint32_t dim = index.options().dim;
  std::vector<float> row(std::size_t{1} + dim);
  row[0] = std::bit_cast<float>(dim);  // the row's prefix
  Progress progress("rows", ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check_interrupted();
    const auto to = std::span(row).subspan(1);
    require(options.index.path, strings ? reader.get_into(ids.texts[i], to)
                                        : reader.get_into(ids.numbers[i], to));
    file.write(std::as_bytes(std::span(row)));
    progress.show(i + 1);
  }
  if (!options.output_ids.empty()) {
    if (strings) {
      write_texts(options.output_ids, ids.texts);
    } else {
      write_ids(options.output_ids, ids.numbers);
    }
  }
  file.commit();

  Report report;
  report.json = {{"rows", ids.size()}, {"dim", dim}, {"file_bytes", file_bytes(options.output)}};
  report.text = fmt::format("{}: {} rows of {} coordinates\n", options.output, ids.size(), dim);
  return report;
}

}  // namespace

Run attach_export(CLI::App& parser) {
  auto options = std::make_shared<ExportOptions>();
  options->index.attach(parser);
  parser.add_option("--output", options->output, "The fvecs file to write")
      ->required()
      ->type_name("FILE");
  parser.add_option("--output-ids", options->output_ids,
                    "Write the ids beside: decimal lines or .u64; strings: lines or .nul")
      ->type_name("FILE");
  parser.footer(
      "Rows come by ascending id, strings by their bytes. Without stored originals they are what\n"
      "the codes stand for: close to the vectors that were added, and of unit length for cosine.");
  return [options] { return export_rows(*options); };
}

}  // namespace vicinal::cli
