#include "cli/id_list.hpp"

#include <fmt/format.h>

#include <algorithm>
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
char end_of_text(const std::string& path) { return path.ends_with(".nul") ? '\0' : '\n'; }

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

std::vector<std::string> read_texts(const std::string& path) {
  ByteSource source(path);
  const std::string all = source.read_text();
  std::string_view text = all;
  const char end = end_of_text(path);
  std::vector<std::string> texts;
  while (!text.empty()) {
    if (end == '\n') {
      texts.emplace_back(next_line(text));
    } else {
      texts.emplace_back(text.substr(0, text.find(end)));
      text.remove_prefix(std::min(text.size(), texts.back().size() + 1));
    }
    if (texts.back().size() <= kStringBytesMax) continue;
    throw Failure(Code::bad_id, fmt::format("{}: id {} has {} bytes, more than {}", source.name(),
                                            texts.size(), texts.back().size(), kStringBytesMax));
  }
  return texts;
}

void write_texts(const std::string& path, const std::vector<std::string>& texts) {
  const char end = end_of_text(path);
  OutputFile file(path);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    // A line that ends in a carriage return would be read without it.
    const bool whole =
        text.find(end) == std::string::npos && !(end == '\n' && text.ends_with('\r'));
    if (!whole) {
      throw Failure(Code::bad_id, fmt::format("{}: id {} has {} in it{}", path, i + 1,
                                              end == '\0' ? "a zero byte" : "an end of line",
                                              end == '\0' ? "" : "; write to a .nul file"));
    }
    const std::string line = text + end;
    file.write(std::as_bytes(std::span(line.data(), line.size())));
  }
  file.commit();
}

std::vector<std::string_view> IdList::views(std::size_t first, std::size_t count) const {
  const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

void IdList::assign(const IdList& from, std::size_t first, std::size_t count) {
  const auto part = [&](auto& to, const auto& all) {
    if (all.empty()) return to.clear();
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    to.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  part(numbers, from.numbers);
  part(texts, from.texts);
}

IdList read_id_list(const std::string& path, IdKind kind) {
  IdList list;
  if (kind == IdKind::string) {
    list.texts = read_texts(path);
  } else {
    list.numbers = read_ids(path);
  }
  return list;
}

}  // namespace vicinal::cli
