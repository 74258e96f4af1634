#include "support/kernel_check.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <span>

#include "base/random.hpp"
#include "support/kernel_input.hpp"
#include "support/original_check.hpp"

namespace vicinal::test {
namespace {

using simd::kBlockRows;
using simd::Kernels;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kAllBits[] = {1, 2, 3, 4, 8};

enum class PlanePattern { kRandom, kZero, kFull, kDominant, kDenormal, kExact, kAnyBits, kCount };
constexpr const char* kPlanePatternNames[] = {"random",   "zero",     "full",
                                              "dominant", "denormal", "exact",
                                              "any bits"};

// Up to three blocks, and as many queries as one call takes.
struct PlaneInput {
  static constexpr std::uint32_t kBlocksMax = 3;

  PlaneInput(std::uint32_t coded_dim, PlanePattern pattern, SteeredRandom& random)
      : groups(coded_dim / 4),
        blocks(1 + random.below(kBlocksMax)),
        table_bytes((groups + 3) / 4 * 4 * simd::kGroupBytes),
        planes(blocks * groups * simd::kGroupBytes, random, random.below(2) * 32),
        tables(simd::kScanQueries * table_bytes, random),
        plane_scale(blocks * kBlockRows, random),
        plane_cosine2(blocks * kBlockRows, random) {
    if (pattern == PlanePattern::kZero) planes.fill(0);
    if (pattern == PlanePattern::kFull) planes.fill(0xff);
    fill_factors(pattern, random);
    for (std::uint32_t q = 0; q < simd::kScanQueries; ++q) {
      std::uint8_t* own = tables.data() + q * table_bytes;
      fill_tables(own, pattern, random);
      queries[q] = random_query(coded_dim, pattern, random);
      queries[q].tables = own;
      queries[q].groups = groups;
    }
  }

  void fill_tables(std::uint8_t* table, PlanePattern pattern, SteeredRandom& random) const {
    const std::uint32_t dominant = random.below(groups);
    for (std::uint32_t i = 0; i < table_bytes; ++i) {
      std::uint32_t entry = random.below(simd::kTableEntryMax + 1);
      if (pattern == PlanePattern::kFull) entry = simd::kTableEntryMax;
      if (pattern == PlanePattern::kDominant && i / 16 != dominant) entry = 31 + entry % 2;
      table[i] = static_cast<std::uint8_t>(i / 16 < groups ? entry : 0);
    }
  }

  [[nodiscard]] simd::PlaneQuery random_query(std::uint32_t coded_dim, PlanePattern pattern,
                                              SteeredRandom& random) const {
    simd::PlaneQuery query;
    query.step = pattern == PlanePattern::kDenormal ? 1e-42f : 0.013f + 0.01f * random_unit(random);
    query.base = -20.0f * query.step * static_cast<float>(groups) * std::fabs(random_unit(random));
    query.slope = pattern == PlanePattern::kExact ? 0.0f : -2.5f;
    query.weight = random.below(2) == 0 ? 1.0f : 3.7f * random_unit(random);
    query.coded_dim = static_cast<float>(coded_dim);
    query.query2 = std::fabs(random_unit(random));
    query.l2 = random.below(2) == 0;
    if (pattern == PlanePattern::kAnyBits) {
      for (float* member : {&query.step, &query.base, &query.slope, &query.weight,
                            &query.query2}) {
        *member = any_float(random);
      }
    }
    return query;
  }

  void fill_factors(PlanePattern pattern, SteeredRandom& random) {
    for (std::uint32_t row = 0; row < blocks * kBlockRows; ++row) {
      plane_scale[row] = std::fabs(random_unit(random));
      plane_cosine2[row] = std::fabs(random_unit(random));
      if (row % 8 == 3) plane_scale[row] = 0.0f;
      if (row % 8 == 5) plane_cosine2[row] = 1.0f;
      if (pattern == PlanePattern::kDenormal) plane_scale[row] *= 1e-40f;
      if (pattern != PlanePattern::kAnyBits) continue;
      // Factors come from files; a bound that is not a number must not hide a row.
      plane_scale[row] = any_float(random);
      plane_cosine2[row] = any_float(random);
    }
  }

  std::uint32_t groups;
  std::uint32_t blocks;
  std::uint32_t table_bytes;
  GuardedArray<std::uint8_t> planes;
  GuardedArray<std::uint8_t> tables;
  GuardedArray<float> plane_scale;
  GuardedArray<float> plane_cosine2;
  simd::PlaneQuery queries[simd::kScanQueries];
};

struct PlaneOutput {
  static constexpr std::uint32_t kRowsMax = PlaneInput::kBlocksMax * kBlockRows;
  float upper[simd::kScanQueries][kRowsMax];
  std::uint32_t reached[simd::kScanQueries][PlaneInput::kBlocksMax];

  // Scans for the first `queries` queries, all with one threshold and one mask.
  void scan(const Kernels& kernels, const PlaneInput& input, std::uint32_t queries,
            std::uint32_t mask, float threshold) {
    std::uint32_t lanes[PlaneInput::kBlocksMax];
    for (std::uint32_t block = 0; block < input.blocks; ++block) lanes[block] = mask ^ block;
    simd::PlaneScan scans[simd::kScanQueries];
    for (std::uint32_t q = 0; q < queries; ++q) {
      scans[q] = {&input.queries[q], threshold, upper[q], reached[q]};
    }
    const simd::PlaneBlocks blocks{input.planes.data(),
                                   std::size_t{input.groups} * simd::kGroupBytes,
                                   input.plane_scale.data(),
                                   input.plane_cosine2.data(),
                                   lanes,
                                   input.blocks};
    kernels.plane_scan(blocks, scans, queries);
  }
};

// One call of both kernels; fills `difference` where they part.
[[nodiscard]] bool same_plane_scan(const Kernels& reference, const Kernels& candidate,
                                   const PlaneInput& input, std::uint32_t queries,
                                   std::uint32_t mask, float threshold, PlaneOutput* expected,
                                   KernelDifference* difference) {
  PlaneOutput actual;
  expected->scan(reference, input, queries, mask, threshold);
  actual.scan(candidate, input, queries, mask, threshold);
  for (std::uint32_t q = 0; q < queries; ++q) {
    difference->lane = q;
    for (std::uint32_t row = 0; row < input.blocks * kBlockRows; ++row) {
      difference->index = row;
      // Which of two that are not numbers comes out is the compiler's choice.
      if (std::isnan(expected->upper[q][row]) && std::isnan(actual.upper[q][row])) continue;
      difference->expected = raw_bits(expected->upper[q][row]);
      difference->actual = raw_bits(actual.upper[q][row]);
      if (difference->expected != difference->actual) return false;
    }
    for (std::uint32_t block = 0; block < input.blocks; ++block) {
      difference->index = input.blocks * kBlockRows + block;  // the mask of a block's rows
      difference->expected = expected->reached[q][block];
      difference->actual = actual.reached[q][block];
      if (difference->expected != difference->actual) return false;
    }
  }
  return true;
}

[[nodiscard]] bool same_plane_scans(const Kernels& reference, const Kernels& candidate,
                                    const PlaneInput& input, std::uint32_t ties,
                                    SteeredRandom& random, KernelDifference* difference) {
  constexpr std::uint32_t kEveryLane = 0xffffffffu;
  PlaneOutput output;
  for (std::uint32_t queries = 1; queries <= simd::kScanQueries; ++queries) {
    for (const float threshold : {-kInfinity, 0.0f, kInfinity}) {
      if (!same_plane_scan(reference, candidate, input, queries, kEveryLane, threshold, &output,
                           difference)) {
        return false;
      }
    }
  }
  const PlaneOutput every = output;
  for (std::uint32_t i = 0; i < ties; ++i) {
    const std::uint32_t row = random.below(input.blocks * kBlockRows);
    // A tie: a row's own bound as the threshold; then its neighbours, and a single lane.
    const std::uint32_t queries = 1 + random.below(simd::kScanQueries);
    const float tie = every.upper[queries - 1][row];
    const float above = std::nextafterf(tie, kInfinity);
    const auto lanes = static_cast<std::uint32_t>(random.next());
    const std::uint32_t lane = 1u << row % kBlockRows;
    if (!same_plane_scan(reference, candidate, input, queries, kEveryLane, tie, &output,
                         difference) ||
        !same_plane_scan(reference, candidate, input, queries, lanes, above, &output,
                         difference) ||
        !same_plane_scan(reference, candidate, input, queries, lane, tie, &output, difference)) {
      return false;
    }
  }
  return true;
}

enum class CodePattern { kRandom, kZero, kFull, kDominant, kExtreme, kNegative, kCount };
constexpr const char* kCodePatternNames[] = {"random",   "zero",    "full",
                                             "dominant", "extreme", "negative"};

struct CodeInput {
  CodeInput(std::uint32_t coded_dim, CodePattern pattern, SteeredRandom& random)
      : groups(coded_dim / 4),
        half_chunks(static_cast<std::uint32_t>(divide_up(groups / 2, simd::kChunkGroups))),
        plane(groups * simd::kGroupBytes, random, random.below(2) * 32),
        values8(2 * half_chunks * simd::kChunkValues, random),
        values16(2 * half_chunks * simd::kChunkValues, random) {
    if (pattern == CodePattern::kZero) plane.fill(0);
    if (pattern == CodePattern::kFull || pattern == CodePattern::kExtreme) plane.fill(0xff);
    values8.fill(0);
    values16.fill(0);
    const std::uint32_t dominant = random.below(coded_dim);
    for (std::uint32_t j = 0; j < coded_dim; ++j) {
      std::int32_t wide = random_between(random, -2047, 2047);
      std::int32_t narrow = random_between(random, -127, 127);
      if (pattern == CodePattern::kDominant) wide = narrow = j == dominant ? 127 : wide % 3;
      if (pattern == CodePattern::kExtreme) wide = 2047, narrow = 127;
      if (pattern == CodePattern::kNegative) wide = -2047, narrow = -127;
      const std::uint32_t half = j / 4 / (groups / 2);
      const std::uint32_t index = j / 4 % (groups / 2);
      const std::uint32_t at = (half * half_chunks + index / simd::kChunkGroups) *
                                   simd::kChunkValues +
                               j % 4 * simd::kChunkGroups + index % simd::kChunkGroups;
      values8[at] = static_cast<std::int8_t>(narrow);
      values16[at] = static_cast<std::int16_t>(wide);
      value_sum += narrow;
    }
  }

  [[nodiscard]] simd::CodeQuery query() const {
    simd::CodeQuery result;
    result.values8 = values8.data();
    result.values16 = values16.data();
    result.groups = groups;
    result.half_chunks = half_chunks;
    result.value_sum = value_sum;
    return result;
  }

  std::uint32_t groups;
  std::uint32_t half_chunks;
  GuardedArray<std::uint8_t> plane;
  GuardedArray<std::int8_t> values8;
  GuardedArray<std::int16_t> values16;
  std::int64_t value_sum = 0;
};

// Levels are random rather than ascending: no kernel may depend on more than the header says.
[[nodiscard]] simd::Levels random_levels(std::uint32_t bits, CodePattern pattern,
                                         SteeredRandom& random) {
  simd::Levels levels;
  levels.bits = bits;
  const std::uint32_t count = 1u << (bits - 1);
  const bool extreme = pattern == CodePattern::kExtreme || pattern == CodePattern::kNegative;
  for (std::uint32_t m = 0; m < count && m < 16; ++m) {
    levels.biased[m] = static_cast<std::uint8_t>(extreme ? 127 : random_between(random, 64, 127));
  }
  for (std::uint32_t m = 0; m < count; ++m) {
    std::int32_t wide = random_between(random, 1, 8191);
    if (m % 5 == 2) wide = (wide & ~255) + 256 > 8191 ? 256 : (wide & ~255) + 256;
    levels.wide[m] = static_cast<std::int16_t>(extreme ? 8191 : wide);
  }
  return levels;
}

[[nodiscard]] bool same_code_dots(const Kernels& reference, const Kernels& candidate,
                                  const CodeInput& input, std::uint32_t bits, CodePattern pattern,
                                  SteeredRandom& random, KernelDifference* difference) {
  const simd::Levels levels = random_levels(bits, pattern, random);
  GuardedArray<std::uint8_t> rest(std::size_t{input.groups} * (bits - 1) / 2, random);
  if (pattern == CodePattern::kZero) rest.fill(0);
  if (pattern == CodePattern::kFull) rest.fill(0xff);
  const simd::CodeQuery query = input.query();
  const std::uint32_t index = simd::bits_index(bits);
  difference->bits = bits;
  const bool every_lane = input.groups <= 512;
  for (std::uint32_t lane = 0; lane < kBlockRows; lane += every_lane ? 1 : 5) {
    const std::int64_t expected =
        reference.code_dot[index](input.plane.data(), lane, rest.data(), query, levels);
    const std::int64_t actual =
        candidate.code_dot[index](input.plane.data(), lane, rest.data(), query, levels);
    difference->lane = lane;
    difference->expected = static_cast<std::uint64_t>(expected);
    difference->actual = static_cast<std::uint64_t>(actual);
    if (expected != actual) return false;
  }
  return true;
}

[[nodiscard]] bool same_code_dots_of_block(const Kernels& reference, const Kernels& candidate,
                                           const CodeInput& input, std::uint32_t bits,
                                           CodePattern pattern, SteeredRandom& random,
                                           KernelDifference* difference) {
  const simd::Levels levels = random_levels(bits, pattern, random);
  const std::size_t rest_bytes = std::size_t{input.groups} * (bits - 1) / 2;
  GuardedArray<std::uint8_t> rests(kBlockRows * rest_bytes, random);
  if (pattern == CodePattern::kZero) rests.fill(0);
  if (pattern == CodePattern::kFull) rests.fill(0xff);
  const simd::CodeQuery query = input.query();
  const std::uint32_t index = simd::bits_index(bits);
  difference->bits = bits;
  for (const std::uint32_t lanes :
       {0xffffffffu, 0x11111111u << random.below(4), 1u << random.below(32), 0u}) {
    std::int64_t expected[kBlockRows];
    std::int64_t actual[kBlockRows];
    for (std::uint32_t lane = 0; lane < kBlockRows; ++lane) expected[lane] = actual[lane] = lane;
    reference.code_dots[index](input.plane.data(), lanes, rests.data(), rest_bytes, query, levels,
                               expected);
    candidate.code_dots[index](input.plane.data(), lanes, rests.data(), rest_bytes, query, levels,
                               actual);
    for (std::uint32_t lane = 0; lane < kBlockRows; ++lane) {
      difference->lane = lane;
      difference->expected = static_cast<std::uint64_t>(expected[lane]);
      difference->actual = static_cast<std::uint64_t>(actual[lane]);
      if (expected[lane] != actual[lane]) return false;
    }
  }
  return true;
}

enum class VectorPattern { kRandom, kZeros, kDominant, kDenormal, kLarge, kTies, kCount };
constexpr const char* kVectorPatternNames[] = {"random",   "signed zeros", "dominant",
                                               "denormal", "large",        "ties"};

void fill_vector(GuardedArray<float>& vector, VectorPattern pattern, const simd::Levels* levels,
                 SteeredRandom& random) {
  const auto count = static_cast<std::uint32_t>(vector.size());
  const std::uint32_t dominant = random.below(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const float unit = random_unit(random);
    float value = unit / std::sqrt(static_cast<float>(count));
    if (pattern == VectorPattern::kZeros) value = random.below(2) == 0 ? 0.0f : -0.0f;
    if (pattern == VectorPattern::kDominant) value = i == dominant ? -1.0f : 1e-6f * unit;
    if (pattern == VectorPattern::kDenormal) value = unit * 1e-39f;
    if (pattern == VectorPattern::kLarge) value = unit * 1e30f;
    if (pattern == VectorPattern::kTies && levels != nullptr && levels->bits > 1) {
      value = levels->thresholds[random.below((1u << (levels->bits - 1)) - 1)];
      if (random.below(2) == 0) value = -value;
      if (random.below(2) == 0) value = std::nextafterf(value, 0.0f);
    }
    vector[i] = value;
  }
}

void set_thresholds(simd::Levels& levels, std::uint32_t coded_dim, SteeredRandom& random) {
  const std::uint32_t count = (1u << (levels.bits - 1)) - 1;
  const float width = 1.0f / std::sqrt(static_cast<float>(coded_dim));
  for (float& threshold : levels.thresholds) threshold = kInfinity;
  float last = 0;
  for (std::uint32_t m = 0; m < count; ++m) {
    last += width * (1.25f + random_unit(random)) / static_cast<float>(count);
    levels.thresholds[m] = last;
  }
}

[[nodiscard]] bool same_quantise(const Kernels& reference, const Kernels& candidate,
                                 const GuardedArray<float>& vector, const simd::Levels& levels,
                                 SteeredRandom& random, KernelDifference* difference) {
  const auto coded_dim = static_cast<std::uint32_t>(vector.size());
  GuardedArray<std::uint8_t> expected(coded_dim, random);
  GuardedArray<std::uint8_t> actual(coded_dim, random);
  // Beyond the codes nothing may be written.
  std::memcpy(actual.data() + coded_dim, expected.data() + coded_dim, simd::kOverread);
  const simd::QuantiseSums a =
      reference.quantise(vector.data(), coded_dim, levels, expected.data());
  const simd::QuantiseSums b = candidate.quantise(vector.data(), coded_dim, levels, actual.data());
  for (std::uint32_t j = 0; j < coded_dim + simd::kOverread; ++j) {
    if (expected[j] == actual[j]) continue;
    difference->index = j;
    difference->expected = expected[j];
    difference->actual = actual[j];
    return false;
  }
  const float expected_sums[] = {a.absolute, a.level, a.square};
  const float actual_sums[] = {b.absolute, b.level, b.square};
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (raw_bits(expected_sums[i]) == raw_bits(actual_sums[i])) continue;
    difference->index = coded_dim + i;  // which of the sums
    difference->expected = raw_bits(expected_sums[i]);
    difference->actual = raw_bits(actual_sums[i]);
    return false;
  }
  return true;
}

using BitsList = std::span<const std::uint32_t>;

[[nodiscard]] KernelDifference start(const char* kernel, const char* input, std::uint32_t length) {
  KernelDifference difference;
  difference.kernel = kernel;
  difference.input = input;
  difference.coded_dim = length;
  return difference;
}

// One kernel on one input of a pattern, all of it drawn from `random`.

[[nodiscard]] KernelDifference plane_scan_on(const Kernels& reference, const Kernels& candidate,
                                             std::uint32_t coded_dim, PlanePattern pattern,
                                             std::uint32_t ties, SteeredRandom& random) {
  auto difference =
      start("plane_scan", kPlanePatternNames[static_cast<int>(pattern)], coded_dim);
  const PlaneInput input(coded_dim, pattern, random);
  difference.found = !same_plane_scans(reference, candidate, input, ties, random, &difference);
  return difference;
}

[[nodiscard]] KernelDifference code_dot_on(const Kernels& reference, const Kernels& candidate,
                                           std::uint32_t coded_dim, CodePattern pattern,
                                           BitsList list, SteeredRandom& random) {
  auto difference = start("code_dot", kCodePatternNames[static_cast<int>(pattern)], coded_dim);
  const CodeInput input(coded_dim, pattern, random);
  for (std::size_t i = 0; i < list.size() && !difference.found; ++i) {
    difference.found =
        !same_code_dots(reference, candidate, input, list[i], pattern, random, &difference);
  }
  return difference;
}

[[nodiscard]] KernelDifference code_dots_on(const Kernels& reference, const Kernels& candidate,
                                            std::uint32_t coded_dim, CodePattern pattern,
                                            BitsList list, SteeredRandom& random) {
  auto difference = start("code_dots", kCodePatternNames[static_cast<int>(pattern)], coded_dim);
  if (coded_dim > 1024 && pattern != CodePattern::kExtreme) return difference;  // slow reference
  const CodeInput input(coded_dim, pattern, random);
  for (std::size_t i = 0; i < list.size() && !difference.found; ++i) {
    difference.found = !same_code_dots_of_block(reference, candidate, input, list[i], pattern,
                                                random, &difference);
  }
  return difference;
}

[[nodiscard]] KernelDifference fwht_on(const Kernels& reference, const Kernels& candidate,
                                       std::uint32_t length, VectorPattern pattern,
                                       SteeredRandom& random) {
  auto difference = start("fwht", kVectorPatternNames[static_cast<int>(pattern)], length);
  GuardedArray<float> expected(length, random);
  GuardedArray<float> actual(length, random);
  fill_vector(expected, pattern, nullptr, random);
  std::memcpy(actual.data(), expected.data(), length * sizeof(float) + simd::kOverread);
  const float scale = 1.0f / std::sqrt(static_cast<float>(length));
  reference.fwht(expected.data(), length, scale);
  candidate.fwht(actual.data(), length, scale);
  for (std::uint32_t j = 0; j < length + simd::kOverread / sizeof(float); ++j) {
    difference.index = j;
    difference.expected = raw_bits(expected[j]);
    difference.actual = raw_bits(actual[j]);
    difference.found = difference.expected != difference.actual;
    if (difference.found) break;
  }
  return difference;
}

[[nodiscard]] KernelDifference quantise_on(const Kernels& reference, const Kernels& candidate,
                                           std::uint32_t coded_dim, VectorPattern pattern,
                                           BitsList list, SteeredRandom& random) {
  auto difference = start("quantise", kVectorPatternNames[static_cast<int>(pattern)], coded_dim);
  for (std::size_t i = 0; i < list.size() && !difference.found; ++i) {
    simd::Levels levels = random_levels(list[i], CodePattern::kRandom, random);
    set_thresholds(levels, coded_dim, random);
    GuardedArray<float> vector(coded_dim, random);
    fill_vector(vector, pattern, &levels, random);
    difference.bits = list[i];
    difference.found = !same_quantise(reference, candidate, vector, levels, random, &difference);
  }
  return difference;
}

// Every pattern, each with a generator of its own.
template <class Pattern, class Check>
[[nodiscard]] KernelDifference every_pattern(std::uint64_t seed, Pattern end, Check check) {
  KernelDifference difference;
  for (int i = 0; i < static_cast<int>(end) && !difference.found; ++i) {
    SteeredRandom random(mix64(seed + static_cast<std::uint64_t>(i)));
    difference = check(static_cast<Pattern>(i), random);
    difference.seed = seed;
  }
  return difference;
}

template <class Pattern>
[[nodiscard]] Pattern draw(Pattern end, SteeredRandom& random) {
  return static_cast<Pattern>(random.below(static_cast<std::uint64_t>(end)));
}

}  // namespace

std::string describe(const KernelDifference& difference) {
  if (!difference.found) return "no difference";
  char text[256];
  std::snprintf(text, sizeof text,
                "%s, input %s, seed %" PRIu64 ": length %u, bits %u, lane %u, output %u: expected "
                "%016" PRIx64 ", got %016" PRIx64,
                difference.kernel, difference.input, difference.seed, difference.coded_dim,
                difference.bits, difference.lane, difference.index, difference.expected,
                difference.actual);
  return text;
}

KernelDifference check_plane_scan(const Kernels& reference, const Kernels& candidate,
                                  std::uint32_t coded_dim, std::uint64_t seed) {
  return every_pattern(seed, PlanePattern::kCount, [&](PlanePattern pattern, auto& random) {
    return plane_scan_on(reference, candidate, coded_dim, pattern, 8, random);
  });
}

KernelDifference check_code_dot(const Kernels& reference, const Kernels& candidate,
                                std::uint32_t coded_dim, std::uint64_t seed) {
  return every_pattern(seed, CodePattern::kCount, [&](CodePattern pattern, auto& random) {
    return code_dot_on(reference, candidate, coded_dim, pattern, kAllBits, random);
  });
}

KernelDifference check_code_dots(const Kernels& reference, const Kernels& candidate,
                                 std::uint32_t coded_dim, std::uint64_t seed) {
  return every_pattern(seed, CodePattern::kCount, [&](CodePattern pattern, auto& random) {
    return code_dots_on(reference, candidate, coded_dim, pattern, kAllBits, random);
  });
}

KernelDifference check_fwht(const Kernels& reference, const Kernels& candidate,
                            std::uint32_t length, std::uint64_t seed) {
  return every_pattern(seed, VectorPattern::kTies, [&](VectorPattern pattern, auto& random) {
    return fwht_on(reference, candidate, length, pattern, random);
  });
}

KernelDifference check_quantise(const Kernels& reference, const Kernels& candidate,
                                std::uint32_t coded_dim, std::uint64_t seed) {
  return every_pattern(seed, VectorPattern::kCount, [&](VectorPattern pattern, auto& random) {
    return quantise_on(reference, candidate, coded_dim, pattern, kAllBits, random);
  });
}

KernelDifference check_drawn_kernel(const Kernels& reference, const Kernels& candidate,
                                    SteeredRandom& random) {
  const std::uint32_t kernel = random.below(6);
  // Mostly so few groups that chosen bytes can fill them; now and then up to the limit.
  const std::uint32_t coded_dim = 8 * (1 + random.below(random.below(16) == 0 ? 2048 : 32));
  const BitsList bits(kAllBits + random.below(std::size(kAllBits)), 1);
  if (kernel == 0) {
    const auto pattern = draw(PlanePattern::kCount, random);
    return plane_scan_on(reference, candidate, coded_dim, pattern, 1, random);
  }
  if (kernel <= 2) {
    const auto pattern = draw(CodePattern::kCount, random);
    return kernel == 1 ? code_dot_on(reference, candidate, coded_dim, pattern, bits, random)
                       : code_dots_on(reference, candidate, coded_dim, pattern, bits, random);
  }
  if (kernel == 5) return check_drawn_originals(reference, candidate, coded_dim, random);
  if (kernel == 3) {
    const auto pattern = draw(VectorPattern::kTies, random);
    return fwht_on(reference, candidate, 8u << random.below(12), pattern, random);
  }
  const auto pattern = draw(VectorPattern::kCount, random);
  return quantise_on(reference, candidate, coded_dim, pattern, bits, random);
}

KernelDifference check_kernels(const Kernels& reference, const Kernels& candidate,
                               std::uint64_t seed) {
  constexpr std::uint32_t kEdges[] = {8,   16,  24,  32,  40,  56,   64,   72,   96,   104,  120,
                                      128, 136, 384, 512, 768, 1016, 1032, 1536, 4160, 4168, 16384};
  constexpr std::uint32_t kRandomDims = 24;
  SteeredRandom random(seed);
  KernelDifference difference;
  const auto differs = [&](const KernelDifference& found) {
    difference = found;
    return found.found;
  };
  for (std::uint32_t i = 0; i < std::size(kEdges) + kRandomDims; ++i) {
    const std::uint32_t dim =
        i < std::size(kEdges) ? kEdges[i] : 8 * (1 + random.below(2000 / 8));
    if (differs(check_plane_scan(reference, candidate, dim, random.next())) ||
        differs(check_code_dot(reference, candidate, dim, random.next())) ||
        differs(check_code_dots(reference, candidate, dim, random.next())) ||
        differs(check_quantise(reference, candidate, dim, random.next())) ||
        differs(check_originals(reference, candidate, dim, random.next()))) {
      return difference;
    }
  }
  for (std::uint32_t length = 8; length <= 16384; length *= 2) {
    if (differs(check_fwht(reference, candidate, length, random.next()))) return difference;
  }
  return difference;
}

}  // namespace vicinal::test
