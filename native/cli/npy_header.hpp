// The header of a NumPy .npy file, versions 1.0 to 3.0.
//
// Thread safety: pure functions over a source of one's own.
// I1: a header is hostile until checked: its length is bounded before it is read, and its numbers
//     are returned only when they fit.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/byte_source.hpp"

namespace vicinal::cli {

struct NpyHeader {
  std::string type;  // for example "<f4"
  bool fortran_order = false;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

// Reads up to the first byte of data. UNSUPPORTED for anything but a two-dimensional array.
[[nodiscard]] NpyHeader read_npy_header(ByteSource& source);

}  // namespace vicinal::cli
