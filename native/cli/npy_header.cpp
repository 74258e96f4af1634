#include "cli/npy_header.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/failure.hpp"

namespace vicinal::cli {
namespace {

constexpr std::size_t kHeaderBytesMax = std::size_t{64} << 10;
constexpr std::string_view kMagic("\x93NUMPY", 6);

[[nodiscard]] Failure malformed(const ByteSource& source, std::string_view what) {
  return {Code::unsupported, fmt::format("{}: not a usable npy file: {}", source.name(), what)};
}

std::string read_exactly(ByteSource& source, std::size_t bytes) {
  std::string text(bytes, '\0');
  if (source.read(std::as_writable_bytes(std::span(text))) != bytes) {
    throw malformed(source, "it ends within its header");
  }
  return text;
}

std::size_t little_endian(std::string_view bytes) noexcept {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

// What follows `'key':` in the dictionary, blanks skipped.
std::optional<std::string_view> value_of(std::string_view dictionary, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{}{}{}", quote, key, quote);
    const std::size_t at = dictionary.find(quoted);
    if (at == std::string_view::npos) continue;
    const std::size_t value = dictionary.find_first_not_of(" :", at + quoted.size());
    if (value == std::string_view::npos) return std::nullopt;
    return dictionary.substr(value);
  }
  return std::nullopt;
}

// "(2, 3)" and the like.
std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return std::nullopt;
  std::vector<std::uint64_t> shape;
  const char* at = text.data() + 1;
  const char* const last = text.data() + end;
  for (;;) {
    while (at != last && (*at == ' ' || *at == ',')) ++at;
    if (at == last) return shape;
    std::uint64_t length = 0;
    const auto [next, error] = std::from_chars(at, last, length);
    if (error != std::errc()) return std::nullopt;
    shape.push_back(length);
    at = next;
  }
}

}  // namespace

NpyHeader read_npy_header(ByteSource& source) {
  const std::string start = read_exactly(source, kMagic.size() + 2);
  if (std::string_view(start).substr(0, kMagic.size()) != kMagic) {
    throw malformed(source, "it does not start as one");
  }
  const auto version = static_cast<unsigned char>(start[kMagic.size()]);
  if (version < 1 || version > 3) throw malformed(source, fmt::format("version {}", version));
  const std::size_t length = little_endian(read_exactly(source, version == 1 ? 2 : 4));
  if (length > kHeaderBytesMax) throw malformed(source, fmt::format("{} bytes of header", length));
  const std::string dictionary = read_exactly(source, length);

  const auto type = value_of(dictionary, "descr");
  const auto order = value_of(dictionary, "fortran_order");
  const auto shape_text = value_of(dictionary, "shape");
  if (!type || !order || !shape_text) throw malformed(source, "a part of its header is missing");
  if (type->empty() || ((*type)[0] != '\'' && (*type)[0] != '"')) {
    throw malformed(source, "its elements are records");
  }
  const std::size_t type_end = type->find((*type)[0], 1);
  const auto shape = parse_shape(*shape_text);
  if (type_end == std::string_view::npos || !shape) {
    throw malformed(source, "its header cannot be read");
  }
  if (shape->size() != 2) {
    throw malformed(source, fmt::format("{} dimensions, where rows x coordinates are needed",
                                        shape->size()));
  }
  return {std::string(type->substr(1, type_end - 1)), order->starts_with("True"), (*shape)[0],
          (*shape)[1]};
}

}  // namespace vicinal::cli
