// Seeded vectors, scratch memory and vector files for tests.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/random.hpp"

namespace vicinal::test {

// Rows of equal length, one after the other.
struct VectorSet {
  std::uint32_t dim = 0;
  std::vector<float> values;

  [[nodiscard]] std::size_t rows() const noexcept { return dim == 0 ? 0 : values.size() / dim; }
  [[nodiscard]] const float* row(std::size_t i) const noexcept { return values.data() + i * dim; }
};

// About normal with variance 1: the sum of twelve uniform numbers, less six. No libm, so that
// golden inputs are equal everywhere.
[[nodiscard]] inline float random_normal(Random& random) noexcept {
  std::int64_t sum = 0;
  for (int i = 0; i < 12; ++i) sum += static_cast<std::int64_t>(random.next() >> 44);
  return static_cast<float>(sum - 6 * (std::int64_t{1} << 20)) / static_cast<float>(1 << 20);
}

[[nodiscard]] inline VectorSet random_vectors(std::uint32_t dim, std::size_t rows,
                                              std::uint64_t seed) {
  Random random(seed);
  VectorSet set{dim, std::vector<float>(rows * dim)};
  for (float& value : set.values) value = random_normal(random);
  return set;
}

[[nodiscard]] inline AlignedBuffer scratch_buffer(std::size_t bytes) {
  return std::move(AlignedBuffer::create(bytes)).value();
}

// An .fvecs file: per row an int32 length, then that many float32, little-endian. Empty when it
// cannot be read.
[[nodiscard]] VectorSet read_fvecs(const std::string& path);

// An .ivecs file, flattened: `width` gets the length of a row.
[[nodiscard]] std::vector<std::int32_t> read_ivecs(const std::string& path, std::size_t* width);

}  // namespace vicinal::test
