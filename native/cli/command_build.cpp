// vicinal build: a file of vectors becomes an index file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/index_file.hpp"
#include "cli/ingest.hpp"
#include "cli/option_checks.hpp"
#include "cli/output_file.hpp"

namespace vicinal::cli {
namespace {

struct BuildOptions {
  Ingest ingest;
  std::string output;
  std::string metric = "cosine";
  std::string id_kind = "number";
  unsigned bits = 4;
  std::string originals = "none";
  std::string partitions = "auto";
  std::uint64_t seed = 0;
  std::uint64_t bytes_max = 0;
  bool calibrate = false;
};

IndexOptions index_options(const BuildOptions& options, std::uint32_t dim) {
  IndexOptions made;
  made.dim = dim;
  made.bits = static_cast<std::uint8_t>(options.bits);
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    if (options.metric == name_of(metric)) made.metric = metric;
  }
  for (const auto originals : {Originals::none, Originals::float16, Originals::float32}) {
    if (options.originals == name_of(originals)) made.originals = originals;
  }
  made.partitions.mode =
      options.partitions == "none" ? Partitions::Mode::none : Partitions::Mode::automatic;
  made.ids = options.id_kind == "string" ? IdKind::string : IdKind::number;
  made.seed = options.seed;
  made.memory_bytes_max = options.bytes_max;
  return made;
}

Index create(const BuildOptions& options, std::uint32_t dim) {
  return require(options.output, Index::create(index_options(options, dim)));
}

// Files that can be mapped and written on have no place for originals yet.
void write_image(const Index& index, const std::string& path) {
  const std::vector<std::byte> bytes = require(path, index.to_bytes());
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

Report build(const BuildOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  const Format format = options.ingest.checked_format();
  if (options.calibrate && options.ingest.input == "-") {
    throw usage_failure("--calibrate reads the input twice: it cannot be standard input");
  }
  if (options.calibrate && options.metric == "ip") {
    throw usage_failure("--calibrate is for --metric cosine and l2");
  }
  if (options.id_kind == "string" && options.ingest.ids.empty()) {
    throw usage_failure("--id-kind string needs --ids");
  }
  check_output(options.output);
  RowReader rows(options.ingest.input, format);
  Index index = create(options, rows.dim());
  if (options.calibrate) options.ingest.calibrate(index);
  const std::uint64_t count = options.ingest.run(rows, index, 0);
  if (index.options().originals == Originals::none) {
    save(index, options.output);
  } else {
    write_image(index, options.output);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  const Stats stats = stats_of(index, options.output);

  Report report;
  report.json = {{"rows", count},
                 {"dim", rows.dim()},
                 {"bits", options.bits},
                 {"metric", options.metric},
                 {"bytes", stats.total_bytes},
                 {"seconds", taken.count()},
                 {"file_bytes", file_bytes(options.output)},
                 {"threads", options.ingest.threads}};
  report.text = fmt::format(
      "{}: {} rows of {} coordinates at {} bits, {}; {} bytes in memory, {:.2f} s\n",
      options.output, count, rows.dim(), options.bits, options.metric, stats.total_bytes,
      taken.count());
  return report;
}

}  // namespace

Run attach_build(CLI::App& parser) {
  auto options = std::make_shared<BuildOptions>();
  options->ingest.attach(parser);
  parser.add_option("--output", options->output, "The index file to write")
      ->required()
      ->type_name("FILE");
  parser.add_option("--metric", options->metric, "What nearness is")
      ->check(CLI::IsMember({"cosine", "ip", "l2"}))
      ->capture_default_str();
  parser.add_option("--id-kind", options->id_kind, "What names a row; strings come from --ids")
      ->check(CLI::IsMember({"number", "string"}))
      ->capture_default_str();
  parser.add_option("--bits", options->bits, "Bits of a stored coordinate")
      ->check(CLI::IsMember({1u, 2u, 3u, 4u, 8u}))
      ->capture_default_str();
  parser.add_option("--originals", options->originals, "Vectors kept beside the codes")
      ->check(CLI::IsMember({"none", "float16", "float32"}))
      ->capture_default_str();
  parser.add_option("--partitions", options->partitions, "How rows are grouped")
      ->check(CLI::IsMember({"none", "auto"}))
      ->capture_default_str();
  parser.add_option("--seed", options->seed, "Seed of the random rotation")
      ->check(whole_number())
      ->capture_default_str();
  parser.add_flag("--calibrate", options->calibrate,
                  "Measure rows from the centre of the input; cosine and l2 only");
  add_max_bytes(parser, options->bytes_max);
  return [options] { return build(*options); };
}

}  // namespace vicinal::cli
