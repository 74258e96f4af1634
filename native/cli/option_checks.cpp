#include "cli/option_checks.hpp"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "cli/row_reader.hpp"

namespace vicinal::cli {
namespace {

// CLI11's own range check has no name for infinity.
std::string check_certainty(const std::string& text) {
  float value = 0;
  if (!CLI::detail::lexical_cast(text, value) || !(value >= 0)) {
    return fmt::format("{} is not a number of standard deviations, 0 or more", text);
  }
  return {};
}

}  // namespace

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::string() : fmt::format("{} is not a whole number", text);
  };
  return {check, ""};
}

CLI::Option* add_certainty(CLI::App& parser, float& certainty) {
  return parser
      .add_option("--certainty", certainty,
                  "Standard deviations that a row must fall short by to be skipped")
      ->check(CLI::Validator(check_certainty, ""))
      ->capture_default_str();
}

std::string without_folder(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

void add_max_bytes(CLI::App& parser, std::uint64_t& bytes_max) {
  const auto refuse_sign = [](const std::string& text) {
    return text.starts_with('-') ? fmt::format("{} is no size", text) : std::string();
  };
  // The transformation added last is applied first.
  parser.add_option("--max-bytes", bytes_max, "Memory that the index may take, for example 512M")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->transform(CLI::Validator(refuse_sign, ""))
      ->type_name("SIZE");
}

void add_format(CLI::App& parser, const char* of, std::string& format) {
  const std::vector<std::string> formats(std::begin(kVectorFormats), std::end(kVectorFormats));
  parser.add_option("--format", format, fmt::format("Format of {}, if its name does not tell", of))
      ->check(CLI::IsMember(formats));
}

}  // namespace vicinal::cli
