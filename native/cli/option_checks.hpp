// Checks and options that several commands share.
//
// Thread safety: one thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace vicinal::cli {

// Decimal digits only: the parser itself reads -1 as the largest unsigned number.
[[nodiscard]] CLI::Validator whole_number();

// --certainty, infinity included.
CLI::Option* add_certainty(CLI::App& parser, float& certainty);

// A path for people who are not on this machine: the file's name.
[[nodiscard]] std::string without_folder(const std::string& path);

// --max-bytes, with suffixes.
void add_max_bytes(CLI::App& parser, std::uint64_t& bytes_max);

// --format, for the vectors that `of` names.
void add_format(CLI::App& parser, const char* of, std::string& format);

}  // namespace vicinal::cli
