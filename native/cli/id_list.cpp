#include "cli/id_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

#include "cli/byte_source.hpp"
#include "cli/failure.hpp"
#include "cli/output_file.hpp"

namespace vicinal::cli {
namespace {

constexpr std::size_t kShownBytes = 40;

bool is_binary(const std::string& path) { return path.ends_with(".u64"); }

// A line without its end; Windows ends lines with two characters.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::uint64_t> parse_lines(const std::string& name, std::string_view text) {
  std::vector<std::uint64_t> ids;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    std::uint64_t id = 0;
    const char* const end = line.data() + line.size();
    const auto [at, error] = std::from_chars(line.data(), end, id);
    if (error != std::errc() || at != end) {
      throw Failure(Code::bad_id,
                    fmt::format("{}: line {}: \"{}\" is not a whole number below 2^64", name,
                                ids.size() + 1, line.substr(0, kShownBytes)));
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

std::vector<std::uint64_t> read_ids(const std::string& path) {
  ByteSource source(path);
  const std::string text = source.read_text();
  if (!is_binary(path)) return parse_lines(source.name(), text);
  if (text.size() % sizeof(std::uint64_t) != 0) {
    throw Failure(Code::bad_id, fmt::format("{}: {} bytes are not a whole number of 64-bit ids",
                                            path, text.size()));
  }
  std::vector<std::uint64_t> ids(text.size() / sizeof(std::uint64_t));
  if (!ids.empty()) std::memcpy(ids.data(), text.data(), text.size());
  return ids;
}

void write_ids(const std::string& path, const std::vector<std::uint64_t>& ids) {
  OutputFile file(path);
  if (is_binary(path)) {
    file.write(std::as_bytes(std::span(ids)));
  } else {
    fmt::memory_buffer text;
    for (const std::uint64_t id : ids) fmt::format_to(std::back_inserter(text), "{}\n", id);
    file.write(std::as_bytes(std::span(text.data(), text.size())));
  }
  file.commit();
}

}  // namespace vicinal::cli
