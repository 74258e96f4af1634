#include "cli/row_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "cli/failure.hpp"
#include "cli/npy_header.hpp"
#include "vicinal/types.hpp"

namespace vicinal::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian");

float float_of_half(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = half >> 10 & 31u;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {  // zero and the numbers below 2^-14
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

Format vector_format(const std::string& path, const std::string& name) {
  const std::size_t dot = path.find_last_of("./");
  const bool has_extension = dot != std::string::npos && path[dot] == '.';
  const std::string wanted =
      !name.empty() ? name : has_extension ? path.substr(dot + 1) : std::string();
  constexpr Format kFormats[] = {Format::fvecs, Format::f16vecs, Format::bvecs, Format::npy};
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    if (wanted == kVectorFormats[i]) return kFormats[i];
  }
  throw usage_failure(
      fmt::format("the format of {} is not known: give --format fvecs, f16vecs, bvecs or npy",
                  path == "-" ? "standard input" : path));
}

RowReader::RowReader(const std::string& path, Format format) : source_(path) {
  switch (format) {
    case Format::fvecs: start_vecs(Element::float32); break;
    case Format::f16vecs: start_vecs(Element::float16); break;
    case Format::bvecs: start_vecs(Element::uint8); break;
    case Format::ivecs: start_vecs(Element::int32); break;
    case Format::npy: start_npy(); break;
  }
}

void RowReader::check_dim(std::uint64_t dim, const char* unit) const {
  if (dim >= 1 && dim <= kDimMax) return;
  throw Failure(Code::dimension,
                fmt::format("{}: row 0 says that it has {} {}; 1 to {} are allowed", source_.name(),
                            dim, unit, kDimMax));
}

void RowReader::start_npy() {
  const NpyHeader header = read_npy_header(source_);
  if (header.type == "<f4") {
    element_ = Element::float32;
  } else if (header.type == "<f2") {
    element_ = Element::float16;
  } else {
    throw Failure(
        Code::unsupported,
        fmt::format("{}: elements of type {}; float32 (<f4) and float16 (<f2) can be read",
                    source_.name(), header.type));
  }
  if (header.fortran_order) {
    throw Failure(Code::unsupported,
                  fmt::format("{}: in Fortran order; C order is needed", source_.name()));
  }
  if (header.rows == 0) {
    throw Failure(Code::dimension, fmt::format("{}: no rows", source_.name()));
  }
  check_dim(header.columns, "coordinates");
  dim_ = static_cast<std::uint32_t>(header.columns);
  data_bytes_ = dim_ * (element_ == Element::float16 ? 2u : 4u);
  rows_total_ = header.rows;
  rows_are_counted_ = true;
}

void RowReader::start_vecs(Element element) {
  element_ = element;
  prefix_bytes_ = sizeof(std::int32_t);
  records_.resize(prefix_bytes_);
  carried_bytes_ = source_.read(records_);
  if (carried_bytes_ == 0) {
    throw Failure(Code::dimension, fmt::format("{}: no rows", source_.name()));
  }
  check_end(carried_bytes_ < prefix_bytes_ ? carried_bytes_ : 0);
  // A negative dimension becomes an absurdly large one.
  const auto dim = load<std::uint32_t>(records_.data());
  check_dim(dim, element_ == Element::int32 ? "neighbours" : "coordinates");
  dim_ = dim;
  const std::size_t width =
      element_ == Element::uint8 ? 1 : element_ == Element::float16 ? 2 : 4;
  data_bytes_ = dim_ * width;
  if (source_.length()) rows_total_ = *source_.length() / row_bytes();
}

// `bytes`: what there is of the next row, at the end of the input.
void RowReader::check_end(std::size_t bytes) const {
  if (bytes == 0) return;
  const std::string of = data_bytes_ == 0 ? "" : fmt::format(" of {}", row_bytes());
  throw Failure(Code::dimension, fmt::format("{}: cut short: row {} has {}{} bytes", source_.name(),
                                             rows_done_, bytes, of));
}

std::size_t RowReader::read_records(std::size_t rows_max) {
  std::size_t wanted = rows_max;
  if (rows_are_counted_) {
    wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(rows_max, *rows_total_ - rows_done_));
  }
  records_.resize(std::max(wanted * row_bytes(), carried_bytes_));
  const std::size_t bytes =
      carried_bytes_ + source_.read(std::span(records_).subspan(carried_bytes_));
  carried_bytes_ = 0;
  const std::size_t rows = bytes / row_bytes();
  for (std::size_t row = 0; row < rows && prefix_bytes_ != 0; ++row) {
    const auto dim = load<std::uint32_t>(records_.data() + row * row_bytes());
    if (dim == dim_) continue;
    throw Failure(Code::dimension,
                  fmt::format("{}: row {} says that it has {} coordinates, row 0 has {}",
                              source_.name(), rows_done_ + row, dim, dim_));
  }
  rows_done_ += rows;
  check_end(bytes - rows * row_bytes());
  if (!rows_are_counted_) return rows;
  if (rows < wanted) {
    throw Failure(Code::dimension, fmt::format("{}: cut short: {} rows of {}", source_.name(),
                                               rows_done_, *rows_total_));
  }
  std::byte beyond[1];
  if (rows_done_ == *rows_total_ && source_.read(beyond) != 0) {
    throw Failure(Code::dimension, fmt::format("{}: goes on after its last row, {}", source_.name(),
                                               rows_done_ - 1));
  }
  return rows;
}

std::size_t RowReader::read(std::size_t rows_max, std::vector<float>& rows) {
  const std::size_t count = read_records(rows_max);
  rows.resize(count * dim_);
  for (std::size_t row = 0; row < count; ++row) {
    const std::byte* from = records_.data() + row * row_bytes() + prefix_bytes_;
    float* to = rows.data() + row * dim_;
    switch (element_) {
      case Element::float32: std::memcpy(to, from, data_bytes_); break;
      case Element::float16:
        for (std::size_t i = 0; i < dim_; ++i) {
          to[i] = float_of_half(load<std::uint16_t>(from + i * 2));
        }
        break;
      case Element::uint8:
        for (std::size_t i = 0; i < dim_; ++i) to[i] = static_cast<float>(from[i]);
        break;
      case Element::int32: throw usage_failure("ivecs holds neighbours, not vectors");
    }
  }
  return count;
}

std::size_t RowReader::read(std::size_t rows_max, std::vector<std::int32_t>& rows) {
  if (element_ != Element::int32) throw usage_failure("neighbours are read from ivecs");
  const std::size_t count = read_records(rows_max);
  rows.resize(count * dim_);
  for (std::size_t row = 0; row < count; ++row) {
    std::memcpy(rows.data() + row * dim_, records_.data() + row * row_bytes() + prefix_bytes_,
                data_bytes_);
  }
  return count;
}

}  // namespace vicinal::cli
