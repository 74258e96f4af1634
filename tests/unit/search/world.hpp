// Seeded rows, a version of them, and searches of it, for the search tests.
//
// Thread safety: belongs to one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oracle.hpp"
#include "quant/quantiser.hpp"
#include "search/search.hpp"
#include "support/version_fixture.hpp"

namespace vicinal::test {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Shape {
  std::uint32_t dim = 8;
  Metric metric = Metric::cosine;
  std::uint32_t bits = 4;
};

[[nodiscard]] std::string name_of(const Shape& shape);

[[nodiscard]] std::unique_ptr<quant::Quantiser> make_quantiser(const Shape& shape,
                                                               const char* kernels = "scalar");

// Coordinates of about the size 1 around one of a few centres; rows of different lengths.
[[nodiscard]] std::vector<std::vector<float>> make_vectors(std::uint64_t seed, std::uint32_t count,
                                                           std::uint32_t dim);

// Ids are a permutation-like hash of the row's index, so that id order is not row order.
[[nodiscard]] std::vector<EncodedRow> encode_rows(const quant::Quantiser& quantiser,
                                                  std::span<const std::vector<float>> vectors);

// Copies of what was found.
struct Hits {
  std::vector<Hit> hits;
  std::uint64_t rows_estimated = 0;
  std::uint64_t rows_scored = 0;
};

// Searches with a fresh scratch or the given one; expects success.
[[nodiscard]] Hits search_hits(const segment::Version& version, const quant::Quantiser& quantiser,
                               std::span<const float> query, const SearchOptions& options,
                               search::Scratch* scratch = nullptr);

// Equal ids and equal bits of scores.
[[nodiscard]] testing::AssertionResult same_hits(std::span<const Hit> found,
                                                 std::span<const Hit> expected);

// One version with everything that varies: rows, dead ones, tails.
struct World {
  World(const Shape& shape, std::uint64_t seed, std::uint32_t count,
        std::uint32_t rows_per_segment = segment::kSegmentRowsMax, std::uint32_t dead_of_16 = 3);

  [[nodiscard]] std::vector<Hit> expected(std::span<const float> query,
                                          const SearchOptions& options) const;
  [[nodiscard]] Hits found(std::span<const float> query, const SearchOptions& options,
                           search::Scratch* scratch = nullptr) const;
  [[nodiscard]] std::vector<std::uint64_t> live_ids() const;

  Shape shape;
  std::unique_ptr<quant::Quantiser> quantiser;
  std::vector<std::vector<float>> vectors;
  std::vector<EncodedRow> rows;
  std::unique_ptr<VersionFixture> fixture;
};

}  // namespace vicinal::test
