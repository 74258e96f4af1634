// The list of subcommands. Each is defined in command_NAME.cpp.
#include "cli/command.hpp"

namespace vicinal::cli {

Run attach_build(CLI::App& parser);
Run attach_search(CLI::App& parser);
Run attach_recall(CLI::App& parser);
Run attach_add(CLI::App& parser);
Run attach_remove(CLI::App& parser);
Run attach_compact(CLI::App& parser);
Run attach_info(CLI::App& parser);
Run attach_verify(CLI::App& parser);
Run attach_export(CLI::App& parser);
Run attach_bench(CLI::App& parser);

std::span<const Command> commands() noexcept {
  static constexpr Command kCommands[] = {
      {"build", "Make an index file from a file of vectors", attach_build},
      {"search", "Find the nearest rows of each query", attach_search},
      {"recall", "Measure how many of the true neighbours a search finds", attach_recall},
      {"add", "Add the vectors of a file to an index file", attach_add},
      {"remove", "Remove rows from an index file by id", attach_remove},
      {"compact", "Write an index file anew, without what removed rows left", attach_compact},
      {"info", "Tell what an index file holds and what it costs in memory", attach_info},
      {"verify", "Read and check every byte of an index file", attach_verify},
      {"export", "Write the vectors that an index file stands for", attach_export},
      {"bench", "Measure what searches and writes cost on this machine", attach_bench},
  };
  return kCommands;
}

}  // namespace vicinal::cli
