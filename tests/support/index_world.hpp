// Seeded vectors and short ways to an index, for tests of the public surface.
//
// Thread safety: pure functions, and values.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::test {

// Coordinates in [-1, 1), the same for the same key.
[[nodiscard]] inline std::vector<float> vector_of(std::uint64_t key, std::uint32_t dim) {
  Random random(mix64(key + 17));
  std::vector<float> vector(dim);
  for (float& x : vector) x = static_cast<float>(random.below(1u << 16)) / 32768.0f - 1.0f;
  return vector;
}

// One row for each id, all of one revision.
[[nodiscard]] inline std::vector<float> rows_of(std::span<const std::uint64_t> ids,
                                                std::uint32_t dim, std::uint64_t revision = 0) {
  std::vector<float> rows;
  rows.reserve(ids.size() * dim);
  for (const std::uint64_t id : ids) {
    const std::vector<float> vector = vector_of(id * 1000003 + revision, dim);
    rows.insert(rows.end(), vector.begin(), vector.end());
  }
  return rows;
}

[[nodiscard]] inline std::vector<std::uint64_t> ids_from(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// The options of a small index.
[[nodiscard]] inline IndexOptions small_options(std::uint32_t dim, Metric metric = Metric::cosine,
                                                std::uint8_t bits = 4) {
  IndexOptions options;
  options.dim = dim;
  options.metric = metric;
  options.bits = bits;
  return options;
}

[[nodiscard]] inline std::vector<Hit> copy_of(const Hits& hits) {
  std::vector<Hit> copy;
  for (const Hit hit : hits) copy.push_back(hit);
  return copy;
}

[[nodiscard]] inline bool equal_hits(std::span<const Hit> a, std::span<const Hit> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // By bits would tell 0 from -0; both compare equal and neither is NaN.
    if (a[i].id != b[i].id || !(a[i].score == b[i].score)) return false;
  }
  return true;
}

}  // namespace vicinal::test
