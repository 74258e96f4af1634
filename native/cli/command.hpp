// What the program's subcommands have in common: each adds its options to a parser, and returns
// what runs once they are parsed.
//
// Thread safety: one thread at a time.
// I1: a command prints nothing; what it found is its Report, so that --json is one object always.
//
// A command that groups others (such as one that runs benchmarks by name) adds a subcommand for
// each of them to its own parser and returns what runs the chosen one.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace vicinal::cli {

struct Report {
  nlohmann::ordered_json json;
  std::string text;  // for people; with its last line ended
};

using Run = std::function<Report()>;

struct Command {
  const char* name;
  const char* summary;
  Run (*attach)(CLI::App& parser);
};

// In the order of the help text.
[[nodiscard]] std::span<const Command> commands() noexcept;

}  // namespace vicinal::cli
