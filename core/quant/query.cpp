#include "quant/query.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace vicinal::quant {
namespace {

constexpr std::uint32_t kLanes = 8;

[[nodiscard]] float magnitude(float value) noexcept { return value < 0 ? -value : value; }
[[nodiscard]] float larger(float a, float b) noexcept { return a < b ? b : a; }

// Lanes l and l + 4, + 2, + 1.
template <class Join>
[[nodiscard]] float join_lanes(float* lanes, Join join) noexcept {
  for (std::uint32_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::uint32_t l = 0; l < width; ++l) lanes[l] = join(lanes[l], lanes[l + width]);
  }
  return lanes[0];
}

[[nodiscard]] float group_range(const float* group) noexcept {
  return 2 * ((magnitude(group[0]) + magnitude(group[1])) +
              (magnitude(group[2]) + magnitude(group[3])));
}

[[nodiscard]] float largest_range(const float* query, std::uint32_t groups) noexcept {
  float lanes[kLanes] = {};
  const std::uint32_t whole = groups / kLanes * kLanes;
  for (std::uint32_t g = 0; g < whole; g += kLanes) {
    for (std::uint32_t l = 0; l < kLanes; ++l) {
      lanes[l] = larger(lanes[l], group_range(query + std::size_t{g + l} * 4));
    }
  }
  for (std::uint32_t g = whole; g < groups; ++g) {
    lanes[0] = larger(lanes[0], group_range(query + std::size_t{g} * 4));
  }
  return join_lanes(lanes, larger);
}

[[nodiscard]] std::uint32_t reversed_bytes(std::uint32_t word) noexcept {
  return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

[[nodiscard]] float sum_of_squares(float* values, std::uint32_t count) noexcept {
  const std::uint32_t padded = (count + kLanes - 1) / kLanes * kLanes;
  for (std::uint32_t i = count; i < padded; ++i) values[i] = 0;
  float lanes[kLanes] = {};
  for (std::uint32_t i = 0; i < padded; i += kLanes) {
    for (std::uint32_t l = 0; l < kLanes; ++l) lanes[l] += values[i + l] * values[i + l];
  }
  return join_lanes(lanes, [](float a, float b) { return a + b; });
}

// Rounds one group's eight sums with a negative coordinate 3; the other eight mirror them.
struct EntryRounder {
  float inverse;  // 1 / step
  float step;
  float half;     // E / 2
  float residual = 0;

  [[nodiscard]] std::uint32_t entry(float sum) noexcept {
    // Never negative: sum / step >= -(E + 0.5) / 2, so truncation rounds down.
    const std::int32_t rounded = static_cast<std::int32_t>(sum * inverse + (half + 0.5f));
    const float left = sum - (static_cast<float>(rounded) - half) * step;
    residual = larger(residual, magnitude(left));
    return static_cast<std::uint32_t>(rounded);
  }
};

}  // namespace

PlaneTables build_plane_tables(const float* query, std::uint32_t groups, std::uint32_t* tables,
                               float* residuals) noexcept {
  const float range_max = largest_range(query, groups);
  VICINAL_ASSERT(range_max > 0);
  const float step = range_max / static_cast<float>(simd::kTableEntryMax);
  const float inverse = 1 / step;
  std::int32_t steps_sum = 0;
  for (std::uint32_t g = 0; g < groups; ++g) {
    const float* q = query + std::size_t{g} * 4;
    const auto steps = static_cast<std::int32_t>(group_range(q) * inverse + 0.5f);
    EntryRounder rounder{inverse, step, static_cast<float>(steps) * 0.5f};
    // Bit t of an entry's index set: + q_t.
    const float low0 = -q[0] - q[1];
    const float low1 = q[0] - q[1];
    const float low2 = q[1] - q[0];
    const float low3 = q[0] + q[1];
    const float high0 = -q[2] - q[3];
    const float high1 = q[2] - q[3];
    const std::uint32_t word0 = rounder.entry(low0 + high0) | rounder.entry(low1 + high0) << 8 |
                                rounder.entry(low2 + high0) << 16 |
                                rounder.entry(low3 + high0) << 24;
    const std::uint32_t word1 = rounder.entry(low0 + high1) | rounder.entry(low1 + high1) << 8 |
                                rounder.entry(low2 + high1) << 16 |
                                rounder.entry(low3 + high1) << 24;
    const std::uint32_t all = static_cast<std::uint32_t>(steps) * 0x01010101u;
    std::uint32_t* table = tables + std::size_t{g} * 4;
    table[0] = word0;
    table[1] = word1;
    table[2] = reversed_bytes(all - word1);
    table[3] = reversed_bytes(all - word0);
    residuals[g] = rounder.residual;
    steps_sum += steps;
  }
  PlaneTables result;
  result.step = step;
  result.base = -(step * 0.5f) * static_cast<float>(steps_sum);
  result.residual2 = sum_of_squares(residuals, groups);
  return result;
}

float largest_magnitude(const float* query, std::uint32_t coded_dim) noexcept {
  VICINAL_ASSERT(coded_dim % kLanes == 0);
  float lanes[kLanes] = {};
  for (std::uint32_t j = 0; j < coded_dim; j += kLanes) {
    for (std::uint32_t l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], magnitude(query[j + l]));
  }
  return join_lanes(lanes, larger);
}

template <class Integer>
std::int64_t build_code_query(const float* query, const CodeLayout& layout, float factor,
                              Integer* values) noexcept {
  const std::uint32_t half = layout.groups / 2;
  const std::uint32_t half_chunks = (half + simd::kChunkGroups - 1) / simd::kChunkGroups;
  std::memset(values, 0, sizeof(Integer) * 2 * half_chunks * simd::kChunkValues);
  std::int32_t sum = 0;  // 16,384 values of at most 2,047 fit
  for (std::uint32_t h = 0; h < 2; ++h) {
    for (std::uint32_t c = 0; c < half_chunks; ++c) {
      const std::uint32_t left = half - c * simd::kChunkGroups;
      const std::uint32_t count = left < simd::kChunkGroups ? left : simd::kChunkGroups;
      const float* from = query + (std::size_t{h} * half + c * simd::kChunkGroups) * 4;
      Integer* to = values + (std::size_t{h} * half_chunks + c) * simd::kChunkValues;
      for (std::uint32_t t = 0; t < simd::kGroupCoordinates; ++t) {
        for (std::uint32_t i = 0; i < count; ++i) {
          const float scaled = from[i * 4 + t] * factor;
          const auto value = static_cast<std::int32_t>(scaled + (scaled < 0 ? -0.5f : 0.5f));
          to[t * simd::kChunkGroups + i] = static_cast<Integer>(value);
          sum += value;
        }
      }
    }
  }
  return sum;
}

template std::int64_t build_code_query(const float*, const CodeLayout&, float,
                                       std::int8_t*) noexcept;
template std::int64_t build_code_query(const float*, const CodeLayout&, float,
                                       std::int16_t*) noexcept;

}  // namespace vicinal::quant
