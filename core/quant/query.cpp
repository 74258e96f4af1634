#include "quant/query.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "quant/lanes.hpp"

namespace vicinal::quant {
namespace {

// Coordinate t of four neighbouring groups in coordinates[t].
struct FourGroups {
  Float4 coordinates[4];

  explicit FourGroups(const float* query) noexcept
      : coordinates{load4(query), load4(query + 4), load4(query + 8), load4(query + 12)} {
    transpose4(coordinates);
  }

  [[nodiscard]] Float4 range() const noexcept {
    const Float4* q = coordinates;
    return 2.0f * ((magnitude(q[0]) + magnitude(q[1])) + (magnitude(q[2]) + magnitude(q[3])));
  }
};

// Rounds sums of four groups to their entries and remembers the largest residual of each group.
struct EntryRounder {
  Float4 inverse;  // 1 / step
  Float4 step;
  Float4 half;     // E / 2
  Float4 residual = {};

  [[nodiscard]] Word4 entry(Float4 sum) noexcept {
    // Never negative: sum / step >= -(E + 0.5) / 2, so truncation rounds down.
    const Int4 rounded = truncated(sum * inverse + (half + 0.5f));
    const Float4 left = sum - (as_floats(rounded) - half) * step;
    residual = larger(residual, magnitude(left));
    return reinterpret_cast<Word4>(rounded);
  }

  // Entries of the four sums low + high, as the bytes of one word.
  [[nodiscard]] Word4 word(const Float4 (&low)[4], Float4 high) noexcept {
    return (entry(low[0] + high) | entry(low[1] + high) << 8) |
           (entry(low[2] + high) << 16 | entry(low[3] + high) << 24);
  }
};

// To the nearest integer, halves away from zero.
[[nodiscard]] Int4 rounded_away(Float4 value) noexcept {
  const Word4 sign = reinterpret_cast<Word4>(value) & 0x80000000u;
  return truncated(value + reinterpret_cast<Float4>(reinterpret_cast<Word4>(all4(0.5f)) | sign));
}

[[nodiscard]] Word4 reversed_bytes(Word4 word) noexcept {
  return (word >> 24 | (word >> 8 & 0xff00u)) | ((word << 8 & 0xff0000u) | word << 24);
}

[[nodiscard]] float largest_range(const float* query, std::uint32_t groups) noexcept {
  Float4 largest = {};
  for (std::uint32_t g = 0; g < groups; g += 4) {
    largest = larger(largest, FourGroups(query + std::size_t{g} * 4).range());
  }
  return largest4(largest);
}

}  // namespace

PlaneTables build_plane_tables(const float* query, std::uint32_t groups,
                               std::uint32_t* tables) noexcept {
  const std::uint32_t padded = table_groups(groups);
  const float range_max = largest_range(query, padded);
  VICINAL_ASSERT(range_max > 0);
  const float step = range_max / static_cast<float>(simd::kTableEntryMax);
  const Float4 inverse = all4(1 / step);
  Int4 steps_sum = {};
  Float4 residual2 = {};
  for (std::uint32_t g = 0; g < padded; g += 4) {
    const FourGroups four(query + std::size_t{g} * 4);
    const Float4* q = four.coordinates;
    const Int4 steps = truncated(four.range() * inverse + 0.5f);
    EntryRounder rounder{inverse, all4(step), as_floats(steps) * 0.5f};
    // Bit t of an entry's index set: + q_t. The eight entries with - q_3; the others mirror them.
    const Float4 low[4] = {-q[0] - q[1], q[0] - q[1], q[1] - q[0], q[0] + q[1]};
    const Word4 first = rounder.word(low, -q[2] - q[3]);
    const Word4 second = rounder.word(low, q[2] - q[3]);
    const Word4 all = reinterpret_cast<Word4>(steps) * 0x01010101u;
    Word4 words[4] = {first, second, reversed_bytes(all - second), reversed_bytes(all - first)};
    transpose4(words);
    std::memcpy(tables + std::size_t{g} * 4, words, sizeof words);
    steps_sum += steps;
    residual2 += rounder.residual * rounder.residual;
  }
  PlaneTables result;
  result.step = step;
  result.base = -(step * 0.5f) *
                static_cast<float>(steps_sum[0] + steps_sum[1] + steps_sum[2] + steps_sum[3]);
  result.residual2 = sum4(residual2);
  return result;
}

float largest_magnitude(const float* query, std::uint32_t coded_dim) noexcept {
  VICINAL_ASSERT(coded_dim % 8 == 0);
  Float4 even = {};
  Float4 odd = {};
  for (std::uint32_t j = 0; j < coded_dim; j += 8) {
    even = larger(even, magnitude(load4(query + j)));
    odd = larger(odd, magnitude(load4(query + j + 4)));
  }
  return largest4(larger(even, odd));
}

template <class Integer>
std::int64_t build_code_query(const float* query, const CodeLayout& layout, float factor,
                              Integer* values) noexcept {
  const std::uint32_t half = layout.groups / 2;
  const std::uint32_t half_chunks = layout.half_chunks();
  std::memset(values, 0, sizeof(Integer) * 2 * half_chunks * simd::kChunkValues);
  Int4 sum = {};  // 16,384 values of at most 2,047 fit
  for (std::uint32_t h = 0; h < 2; ++h) {
    for (std::uint32_t i = 0; i < half; i += 4) {
      const FourGroups four(query + (std::size_t{h} * half + i) * 4);
      const Int4 keep = first_lanes(half - i);  // beyond the half's end lie the other's groups
      Integer* to = values +
                    (std::size_t{h} * half_chunks + i / simd::kChunkGroups) * simd::kChunkValues +
                    i % simd::kChunkGroups;
      for (std::uint32_t t = 0; t < simd::kGroupCoordinates; ++t) {
        const Int4 value = rounded_away(four.coordinates[t] * factor) & keep;
        store4(to + t * simd::kChunkGroups, value);
        sum += value;
      }
    }
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template std::int64_t build_code_query(const float*, const CodeLayout&, float,
                                       std::int8_t*) noexcept;
template std::int64_t build_code_query(const float*, const CodeLayout&, float,
                                       std::int16_t*) noexcept;

}  // namespace vicinal::quant
