// The command line tool: parses, runs one command, prints its report or its failure, and exits.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& json) {
  // Paths may hold any bytes; JSON may not.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct Parsed {
  bool json = false;
  std::string notice;  // what --help or --version says, for people
  Json notice_json;
  Run run;
};

// The parsers from the program's own to that of the command named, of which `bench` has more.
std::vector<const CLI::App*> chosen(const CLI::App& app) {
  std::vector<const CLI::App*> path{&app};
  while (!path.back()->get_subcommands().empty()) {
    path.push_back(path.back()->get_subcommands().front());
  }
  return path;
}

std::string help_of(const CLI::App& app) {
  std::string before;
  const auto path = chosen(app);
  for (const CLI::App* parser : std::span(path).first(path.size() - 1)) {
    before += (before.empty() ? "" : " ") + parser->get_name();
  }
  return path.back()->help(before);
}

// The parser's sentences, and where to read on. An unknown command is named first: what follows it
// would otherwise be complained about one by one.
Failure refused(const CLI::App& app, const CLI::ParseError& error,
                const std::vector<std::string>& arguments) {
  const auto path = chosen(app);
  std::string name;
  for (const CLI::App* parser : path) name += parser->get_name() + " ";
  std::string what = error.what();
  const std::size_t next = path.size() - 1;
  const bool has_more = !path.back()->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (has_more && next < arguments.size() && !arguments[next].starts_with('-')) {
    what = fmt::format("there is no {} {}", next == 0 ? "command" : path.back()->get_name(),
                       arguments[next]);
  }
  return usage_failure(fmt::format("{} (see {}--help)", what, name));
}

Parsed parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app("Nearest-neighbour search over compressed vectors.", "vicinal");
  app.set_version_flag("--version", std::string("vicinal " VICINAL_VERSION));
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.add_flag("--json", parsed.json, "Print one JSON object");
  for (const Command& command : commands()) {
    CLI::App* parser = app.add_subcommand(command.name, command.summary);
    const Run run = command.attach(*parser);
    parser->add_flag("--json", parsed.json, "Print one JSON object");
    for (CLI::App* inner : parser->get_subcommands({})) {
      inner->add_flag("--json", parsed.json, "Print one JSON object");
    }
    parser->callback([&parsed, run] { parsed.run = run; });
  }
  // Last, so that the commands do not inherit it.
  app.footer(
      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 index damaged or of another version,\n"
      "130 interrupted. \"vicinal COMMAND --help\" tells a command's options.");
  try {
    // The parser takes its arguments from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForVersion&) {
    parsed.notice = "vicinal " VICINAL_VERSION "\n";
    parsed.notice_json = {{"version", VICINAL_VERSION}};
  } catch (const CLI::Success&) {
    parsed.notice = help_of(app);
    parsed.notice_json = {{"help", parsed.notice}};
  } catch (const CLI::ParseError& error) {
    throw refused(app, error, arguments);
  }
  return parsed;
}

void print(bool json, const Json& object, const std::string& text) {
  write_output(json ? line_of(object) : text);
}

Exit report_failure(bool json, const Failure& failure) {
  try {
    if (json) {
      write_output(line_of({{"error",
                             {{"code", code_name(failure.code())}, {"message", failure.what()}}}}));
      return failure.exit();
    }
  } catch (const Failure&) {
    // Standard output itself is what failed: people can still be told.
  } catch (const OutputClosed&) {
    return failure.exit();
  }
  write_error(failure.what());
  return failure.exit();
}

Exit run(const std::vector<std::string>& arguments) {
  // Asked before parsing, so that a line that cannot be parsed is answered in JSON too.
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  try {
    claim_standard_streams();
    catch_interrupts();
    const Parsed parsed = parse(arguments);
    if (!parsed.run) {
      print(json, parsed.notice_json, parsed.notice);
    } else {
      const Report report = parsed.run();
      print(json, report.json, report.text);
    }
    return Exit::ok;
  } catch (const OutputClosed&) {
    return Exit::ok;
  } catch (const Failure& failure) {
    return report_failure(json, failure);
  } catch (const std::bad_alloc&) {
    return report_failure(json, Failure(Code::full, "there is not enough memory"));
  } catch (const std::exception& error) {
    return report_failure(json, Failure(Code::io, error.what()));
  }
}

}  // namespace
}  // namespace vicinal::cli

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  return static_cast<int>(vicinal::cli::run(arguments));
}
