// Rows of numbers from fvecs, f16vecs, bvecs, ivecs and npy files, a slice at a time.
//
// Thread safety: one thread at a time.
// I1: input is hostile: no length taken from it is used before it is within its bounds, and memory
//     is bounded by the slice asked for.
// I2: every row has dim() coordinates; a row that is cut short or of another length is a DIMENSION
//     failure that names the row, counted from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/byte_source.hpp"

namespace vicinal::cli {

enum class Format : std::uint8_t { fvecs, f16vecs, bvecs, ivecs, npy };

// The names that --format takes for vectors; ivecs holds neighbours, not vectors.
inline constexpr const char* kVectorFormats[] = {"fvecs", "f16vecs", "bvecs", "npy"};

// The format of a file of vectors: `name` if it is not empty, else by the path's extension. A usage
// failure when neither tells.
[[nodiscard]] Format vector_format(const std::string& path, const std::string& name);

class RowReader {
 public:
  // Reads as far as the first row's length. DIMENSION without any row or with an absurd dimension.
  RowReader(const std::string& path, Format format);

  [[nodiscard]] std::uint32_t dim() const noexcept { return dim_; }
  [[nodiscard]] const std::string& name() const noexcept { return source_.name(); }
  // Rows handed out so far: the number of the next row.
  [[nodiscard]] std::uint64_t rows_done() const noexcept { return rows_done_; }
  // Where the length of the input is known.
  [[nodiscard]] std::optional<std::uint64_t> rows_total() const noexcept { return rows_total_; }

  // At most `rows_max` rows of floats in place of what `rows` held; how many, 0 at the end.
  [[nodiscard]] std::size_t read(std::size_t rows_max, std::vector<float>& rows);
  // The same for ivecs.
  [[nodiscard]] std::size_t read(std::size_t rows_max, std::vector<std::int32_t>& rows);

 private:
  enum class Element : std::uint8_t { float32, float16, uint8, int32 };

  void start_npy();
  void start_vecs(Element element);
  void check_dim(std::uint64_t dim, const char* unit) const;
  [[nodiscard]] std::size_t row_bytes() const noexcept { return prefix_bytes_ + data_bytes_; }
  // Fills records_ with whole, checked rows.
  [[nodiscard]] std::size_t read_records(std::size_t rows_max);
  void check_end(std::size_t bytes) const;

  ByteSource source_;
  Element element_ = Element::float32;
  std::uint32_t dim_ = 0;
  std::size_t prefix_bytes_ = 0;  // in front of each row: its dimension
  std::size_t data_bytes_ = 0;    // of a row without its prefix
  std::uint64_t rows_done_ = 0;
  std::optional<std::uint64_t> rows_total_;
  bool rows_are_counted_ = false;  // rows_total_ is what the input says, not its length
  std::vector<std::byte> records_;
  std::size_t carried_bytes_ = 0;  // at the front of records_: read to learn the dimension
};

}  // namespace vicinal::cli
