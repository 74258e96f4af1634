// Files of ids: one decimal a line, or little-endian 64-bit words if the name ends in .u64.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vicinal::cli {

// BAD_ID naming the line, or the length of a .u64 file that is no multiple of 8; IO. "-" reads
// decimal ids from standard input.
[[nodiscard]] std::vector<std::uint64_t> read_ids(const std::string& path);

// The same formats; replaces the file in one step. IO.
void write_ids(const std::string& path, const std::vector<std::uint64_t>& ids);

}  // namespace vicinal::cli
