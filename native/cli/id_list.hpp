// Files of ids: one decimal a line, or little-endian 64-bit words if the name ends in .u64. Of ids
// that are strings: one a line, or each with a zero byte behind it if the name ends in .nul.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vicinal/vicinal.hpp"

namespace vicinal::cli {

// BAD_ID naming the line, or the length of a .u64 file that is no multiple of 8; IO. "-" reads
// decimal ids from standard input.
[[nodiscard]] std::vector<std::uint64_t> read_ids(const std::string& path);

// The same formats; replaces the file in one step. IO.
void write_ids(const std::string& path, const std::vector<std::uint64_t>& ids);
// The same of strings, as they are; a line's end may be that of Windows. BAD_ID naming the one that
// is longer than the index takes. IO.
[[nodiscard]] std::vector<std::string> read_texts(const std::string& path);
// BAD_ID naming one that has an end of line, or a zero byte, in it, which the file cannot hold. IO.
void write_texts(const std::string& path, const std::vector<std::string>& texts);

// Ids of either kind, all of one.
struct IdList {
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> texts;

  [[nodiscard]] std::size_t size() const { return numbers.size() + texts.size(); }
  // Of a part, for as long as this list is there and stays as it is.
  [[nodiscard]] std::vector<std::string_view> views(std::size_t first, std::size_t count) const;
  // Those of a part of another list.
  void assign(const IdList& from, std::size_t first, std::size_t count);
};
[[nodiscard]] IdList read_id_list(const std::string& path, IdKind kind);

}  // namespace vicinal::cli
