// vicinal bench NAME: runs one of the benchmarks of native/bench and reports what it measured.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "bench/bench.hpp"
#include "bench/environment.hpp"
#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/index_file.hpp"
#include "cli/option_checks.hpp"
#include "cli/output_file.hpp"
#include "vicinal/types.hpp"

namespace vicinal::cli {
namespace {

using bench::Field;
using Json = nlohmann::ordered_json;

constexpr std::uint32_t kClustersMax = 1'000'000;
constexpr double kNoiseMax = 1000;
constexpr std::size_t kCallersMax = 256;
constexpr double kSecondsMin = 0.001;
constexpr double kSecondsMax = 3600;

struct Chosen {
  const bench::Bench* bench = nullptr;
  bench::Options options;
  std::string command;
  std::string output;
};

Json json_of(const bench::Value& value) {
  switch (value.kind) {
    case bench::Value::Kind::none: break;
    case bench::Value::Kind::whole: return value.whole;
    case bench::Value::Kind::real: return value.real;
    case bench::Value::Kind::flag: return value.flag;
    case bench::Value::Kind::text: return value.text;
  }
  return nullptr;
}

Json json_of(const bench::Row& row) {
  Json object = Json::object();
  for (const Field& field : row) {
    object[field.name] = json_of(field.value);
  }
  return object;
}

std::string describe_data(const bench::Options& options) {
  if (!options.data.empty()) {
    return fmt::format("{} rows, {} queries", without_folder(options.data),
                       without_folder(options.queries));
  }
  return fmt::format("mixture of {} clusters, noise {}", options.clusters, options.noise);
}

void write_json(const std::string& path, const Json& json) {
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  OutputFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

Report run(const Chosen& chosen) {
  const bench::Options& options = chosen.options;
  if (!chosen.output.empty()) check_output(chosen.output);
  bench::Row env = bench::environment();
  env.push_back({"data", describe_data(options)});
  env.push_back({"seed", options.data.empty() ? options.seed : 0});
  env.push_back({"command", chosen.command});
  const std::vector<bench::Row> rows = chosen.bench->run(options);

  Report report;
  report.json = {{"bench", chosen.bench->name}, {"env", json_of(env)}, {"rows", Json::array()}};
  for (const bench::Row& row : rows) report.json["rows"].push_back(json_of(row));
  for (const Field& field : env) {
    report.text += fmt::format("{:<9} {}\n", field.name, bench::text_of(field.value));
  }
  report.text += "\n" + bench::table_of(rows);
  if (!chosen.output.empty()) write_json(chosen.output, report.json);
  return report;
}

// The command line again, with what was given and without folders, which mean nothing elsewhere.
std::string command_of(const CLI::App& parser, const char* name) {
  std::string command = fmt::format("vicinal bench {}", name);
  for (const CLI::Option* option : parser.get_options()) {
    const std::string option_name = option->get_name();
    if (option->count() == 0 || option_name == "--json" || option_name == "--output") continue;
    const bool is_file = option->get_type_name() == "FILE";
    std::string values;
    for (const std::string& value : option->results()) {
      values += (values.empty() ? " " : ",") + (is_file ? without_folder(value) : value);
    }
    command += " " + option_name + values;
  }
  return command;
}

template <class T>
std::string short_list(const std::vector<T>& values) {
  constexpr std::size_t kShown = 4;
  if (values.size() > kShown) return fmt::format("{},...,{}", values.front(), values.back());
  return fmt::format("{}", fmt::join(values, ","));
}

// One or several numbers, with commas between them.
template <class T>
CLI::Option* add_list(CLI::App& parser, const char* name, std::vector<T>& values, T most,
                      const char* what) {
  return parser.add_option(name, values, what)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(T{1}, most).description(""))
      ->check(whole_number())
      ->type_name("LIST")
      ->default_str(short_list(values));
}

void attach_mixture(CLI::App& parser, bench::Options& options) {
  CLI::Option* data = parser.add_option("--data", options.data,
                                        "Rows: fvecs, f16vecs, bvecs or npy; else a mixture")
                          ->type_name("FILE");
  CLI::Option* queries =
      parser.add_option("--queries", options.queries, "Queries for --data")->type_name("FILE");
  data->needs(queries);
  queries->needs(data);
  parser.add_option("--truth", options.truth,
                    "ivecs: the neighbours of each query; else they are computed")
      ->needs(data)
      ->type_name("FILE");
  parser.add_option("--clusters", options.clusters, "Clusters of the mixture")
      ->check(CLI::Range(1u, kClustersMax).description(""))
      ->check(whole_number())
      ->excludes(data)
      ->capture_default_str();
  parser.add_option("--noise", options.noise,
                    "Standard deviation about a centre, in that of the centres")
      ->check(CLI::Range(0.0, kNoiseMax).description(""))
      ->excludes(data)
      ->capture_default_str();
  parser.add_option("--seed", options.seed, "Seed of the mixture, and of what is drawn from it")
      ->check(whole_number())
      ->capture_default_str();
  constexpr std::uint64_t kRowsMax = std::uint64_t{1} << 31;
  add_list(parser, "--n", options.n, kRowsMax, "Rows of the index")
      ->excludes(parser.get_option("--truth"));
  add_list(parser, "--dim", options.dim, kDimMax, "Coordinates of the mixture")->excludes(data);
}

void attach_options(CLI::App& parser, Chosen& chosen) {
  bench::Options& options = chosen.options;
  attach_mixture(parser, options);
  add_list(parser, "--bits", options.bits, 8u, "Bits of a stored coordinate")
      ->check(CLI::IsMember({1u, 2u, 3u, 4u, 8u}).description(""));
  constexpr std::size_t kNeighboursMax = std::numeric_limits<std::int32_t>::max();
  add_list(parser, "--k,-k", options.k, kNeighboursMax, "Neighbours to find for each query");
  if (!options.threads.empty()) {
    add_list(parser, "--threads", options.threads, kCallersMax, "Callers at a time");
  }
  if (options.originals) {
    parser.add_option_function<std::string>(
              "--originals",
              [&options](const std::string& name) {
                for (const auto kind : {Originals::none, Originals::float16, Originals::float32}) {
                  if (name == name_of(kind)) options.originals = kind;
                }
              },
              "Rows kept beside the codes: one more mode, which ranks by them")
        ->check(CLI::IsMember({"none", "float16", "float32"}));
  }
  parser.add_option("--seconds", options.seconds, "Time for a measured row, at least")
      ->check(CLI::Range(kSecondsMin, kSecondsMax).description(""))
      ->capture_default_str();
  add_certainty(parser, options.certainty);
  parser.add_option("--output", chosen.output, "Write the JSON object to this file as well")
      ->type_name("FILE");
}

void attach_one(CLI::App& parser, const bench::Bench& bench,
                const std::shared_ptr<Chosen>& running) {
  CLI::App* one = parser.add_subcommand(bench.name, bench.summary);
  auto chosen = std::make_shared<Chosen>();
  chosen->bench = &bench;
  chosen->options = bench.defaults();
  attach_options(*one, *chosen);
  one->footer(bench.notes);
  one->callback([one, chosen, running] {
    chosen->options.n_is_given = one->count("--n") > 0;
    chosen->options.dim_is_given = one->count("--dim") > 0;
    chosen->options.k_is_given = one->count("--k") > 0;
    chosen->command = command_of(*one, chosen->bench->name);
    *running = *chosen;
  });
}

}  // namespace

Run attach_bench(CLI::App& parser) {
  parser.require_subcommand(1);
  auto running = std::make_shared<Chosen>();
  for (const bench::Bench& bench : bench::benches()) attach_one(parser, bench, running);
  return [running] { return run(*running); };
}

}  // namespace vicinal::cli
