// vicinal verify: reads every byte of an index file and checks what it says.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/index_file.hpp"

namespace vicinal::cli {
namespace {

// What is wrong and costs nothing, a line each.
std::vector<std::string> notes_of(const FileReport& found) {
  std::vector<std::string> notes;
  if (found.torn_bytes != 0) {
    notes.push_back(fmt::format("the last {} bytes are of a commit that was not finished; the next "
                                "writer cuts them off", found.torn_bytes));
  }
  if (found.invalid_meta_slots != 0) {
    notes.push_back(fmt::format("{} of 2 meta slots cannot be read; the next writer mends them",
                                found.invalid_meta_slots));
  }
  if (found.stray_byte != 0) {
    notes.push_back(fmt::format("byte {} is not zero, as it ought to be", found.stray_byte));
  }
  if (found.ids_damaged) notes.emplace_back("a table of ids is damaged; opening does without it");
  return notes;
}

Report verify(const IndexFile& file) {
  const FileReport found = require(file.path, verify_file(file.path, file.bytes_max));
  const auto notes = notes_of(found);
  Report report;
  report.json = {{"ok", true},
                 {"records", found.records},
                 {"bytes", found.bytes},
                 {"rows", found.rows},
                 {"notes", notes}};
  report.text = fmt::format("{}: {} rows in {} bytes, {} records, whole\n", file.path, found.rows,
                            found.bytes, found.records);
  for (const std::string& note : notes) report.text += fmt::format("{}: {}\n", file.path, note);
  return report;
}

}  // namespace

Run attach_verify(CLI::App& parser) {
  auto file = std::make_shared<IndexFile>();
  file->attach(parser);
  return [file] { return verify(*file); };
}

}  // namespace vicinal::cli
