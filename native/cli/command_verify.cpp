// vicinal verify: reads every byte of an index file and checks what it says.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/index_file.hpp"

namespace vicinal::cli {
namespace {

// A file of this version is one sealed record, and opening checks all of it: the checksum of every
// byte, every length, each row's factors, and that no id is there twice.
constexpr std::uint64_t kRecords = 1;

Report verify(const IndexFile& file) {
  const Index index = file.open_to_read();
  const std::uint64_t rows = stats_of(index, file.path).rows;
  const std::uint64_t bytes = file_bytes(file.path);
  Report report;
  report.json = {{"ok", true}, {"records", kRecords}, {"bytes", bytes}, {"rows", rows}};
  report.text = fmt::format("{}: {} rows in {} bytes, whole\n", file.path, rows, bytes);
  return report;
}

}  // namespace

Run attach_verify(CLI::App& parser) {
  auto file = std::make_shared<IndexFile>();
  file->attach(parser);
  return [file] { return verify(*file); };
}

}  // namespace vicinal::cli
