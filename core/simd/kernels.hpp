// The inner loops, one table of function pointers per instruction set, chosen once.
//
// Thread safety: every kernel is a pure function of its arguments; tables are immutable.
// I1: a kernel and its scalar twin give the same bits for the same input, always: integer sums are
//     exact, and floating point uses only + - * / sqrt and conversions in the order written here.
// I2: kernels may read, and ignore, up to kOverread bytes past the arrays they are given; they
//     never write there. Every array that they are given is followed by that much readable memory.
//     (AVX2 and SIMD128 may read three bytes past a plane for the last lanes of its last group;
//     natively the next block's first bytes may be in the writer's hands then. They are masked
//     away.)
// I3: the layouts below are the same on every target and in the file.
//
// Layouts. D is the coded dimension (a multiple of 8), G = D / 4 the number of groups of four
// coordinates, H = G / 2 half of them.
//   Sign plane of a block of 32 rows: G x 16 bytes; byte g*16 + j holds in its low nibble the four
//     sign bits of row j's group g (bit t: coordinate 4g + t is not negative), in its high nibble
//     those of row j + 16.
//   Half-packed nibbles (H bytes): byte i holds group i's nibble low, group i + H's nibble high.
//   Rest row: the b - 1 magnitude bits of each coordinate of one row, as components of 4, 2 and 1
//     bits, the most significant first: b = 2: {1}, 3: {2}, 4: {2, 1}, 8: {4, 2, 1}.
//       4 bits: G bytes (coordinates 4g low, 4g + 1 high), then G bytes (4g + 2 low, 4g + 3 high);
//       2 bits: G bytes, coordinate 4g + t at bit 2t of byte g;
//       1 bit:  H bytes, half-packed nibbles.
//     b = 4: magnitude = 2-bit component * 2 + 1-bit component, and so on downwards.
//   Packed row: half-packed sign nibbles (H bytes), then the rest row: D * b / 8 bytes in all.
//   Code query: chunks of 64 values; chunk c of half h covers groups h*H + 16c .. + 15 (zero beyond
//     the half's end) as value [t * 16 + i] = coordinate 4 * (h*H + 16c + i) + t. Half 0's
//     ceil(H / 16) chunks come first, then half 1's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal::simd {

inline constexpr std::uint32_t kBlockRows = 32;
inline constexpr std::uint32_t kGroupBytes = 16;      // of one group in a block's sign plane
inline constexpr std::uint32_t kGroupCoordinates = 4;
inline constexpr std::uint32_t kChunkGroups = 16;     // of a code query
inline constexpr std::uint32_t kChunkValues = 64;
inline constexpr std::size_t kOverread = 64;
inline constexpr std::size_t kAlignment = 64;
// Four 6-bit table entries fit a byte; 1,040 sums of four fit 16 bits.
inline constexpr std::uint32_t kTableEntryMax = 63;

// A query prepared for the sign plane; bound.hpp holds the formula and its order of operations.
// All but `weight` and `query2` belong to the query scaled to unit length, so that no square of a
// very small or very large length is ever taken.
struct PlaneQuery {
  const std::uint8_t* tables = nullptr;  // G x 16 entries <= 63; zero tables up to a multiple of 4
  std::uint32_t groups = 0;
  float step = 0;       // bound = plane_scale * ((sum * step + base) + cosine2 * slope) * weight
  float base = 0;       // what the tables' sums lack, and the error of a row whose cosine2 is 0
  float slope = 0;      // of the error, not positive: better signs, a smaller error
  float weight = 1;     // cosine 1, ip |q|, l2 2 |q|
  float coded_dim = 0;  // D
  float query2 = 0;     // |q|^2, read for l2 only
  bool l2 = false;      // also for cosine when measured from an origin (quant/prepare.cpp)
};

// Neighbouring blocks of 32 rows, each with its sign plane, its factors, and the mask of the rows
// that count.
struct PlaneBlocks {
  const std::uint8_t* planes = nullptr;  // the first block's; the next ones `plane_bytes` apart
  std::size_t plane_bytes = 0;
  const float* plane_scales = nullptr;
  const float* plane_cosines2 = nullptr;
  const std::uint32_t* lanes = nullptr;
  std::uint32_t count = 0;
};

// One query's scan of such blocks.
struct PlaneScan {
  const PlaneQuery* query = nullptr;
  float threshold = 0;
  float* upper = nullptr;            // out: 32 bounds a block
  std::uint32_t* reached = nullptr;  // out, a mask a block: rows of `lanes` not below the threshold
};
// Queries that one call takes at most.
inline constexpr std::uint32_t kScanQueries = 4;

// A query prepared for whole codes: small integers whose products with the levels sum exactly.
// Up to 4 bits: int8 values in -127..127 (kernels negate them) against levels biased to 0..127
// (127 - level is the mirrored level). 8 bits: int16 values in -2047..2047 against int16 levels.
struct CodeQuery {
  const std::int8_t* values8 = nullptr;    // 2 * half_chunks * 64, bits <= 4
  const std::int16_t* values16 = nullptr;  // the same count, bits == 8
  std::uint32_t groups = 0;
  std::uint32_t half_chunks = 0;           // ceil(H / 16)
  std::int64_t value_sum = 0;              // of values8, for removing the bias
};

// Levels of the positive half, ascending by magnitude index; the negative half mirrors it.
struct Levels {
  // Biased levels 64..127 by magnitude index, zero padded. signed level = 2 * biased - 127.
  alignas(16) std::uint8_t biased[16] = {};
  // Signed levels 1..8191 by magnitude index; only bits == 8 reads it.
  alignas(64) std::int16_t wide[128] = {};
  // thresholds[m]: magnitudes above it have an index greater than m; in units of a unit vector's
  // coordinate. 2^(b-1) - 1 entries are used; the rest is +infinity.
  alignas(64) float thresholds[128] = {};
  std::uint32_t bits = 0;
};

// What `quantise` returns beside the codes: sums that become the row's factors.
struct QuantiseSums {
  float absolute = 0;  // sum of |u_j|
  float level = 0;     // sum of u_j * signed level_j
  float square = 0;    // sum of level_j^2, exact up to 4 bits
};

// Sums over the coordinates of a query and an original row.
struct OriginalSums {
  double dot = 0;     // of q_j * x_j
  double square = 0;  // of x_j * x_j
};

struct Kernels {
  const char* name;

  // Upper bounds of the blocks' rows for 1 to kScanQueries queries of the same dimension, each with
  // a result of its own that does not depend on the others. What of a block no query changes is
  // read and unpacked once for all of them.
  void (*plane_scan)(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries);

  // The exact sum over coordinates of query value * signed level of one row: its signs from lane
  // `lane` of its block's plane, its magnitudes from its rest row. One entry per bits: see index.
  using CodeDot = std::int64_t (*)(const std::uint8_t* plane, std::uint32_t lane,
                                   const std::uint8_t* rest, const CodeQuery& query,
                                   const Levels& levels);
  CodeDot code_dot[5];  // bits 1, 2, 3, 4, 8: see bits_index

  // dots[lane] = code_dot of each row set in `lanes`; row j's rest row is at rests + j *
  // rest_bytes. For searches that score whole blocks: a plane's signs are brought into order once.
  using CodeDots = void (*)(const std::uint8_t* plane, std::uint32_t lanes,
                            const std::uint8_t* rests, std::size_t rest_bytes,
                            const CodeQuery& query, const Levels& levels, std::int64_t* dots);
  CodeDots code_dots[5];

  // In place fast Walsh-Hadamard transform of n (a power of two >= 8) floats, then each times
  // `scale`. Butterflies (a, b) -> (a + b, a - b) at distances 1, 2, 4, ... n/2, in that order.
  void (*fwht)(float* x, std::uint32_t n, float scale);

  // codes[j] = sign << (bits - 1) | magnitude index, for D coordinates of a rotated unit vector;
  // sign = !(u_j < 0), index = number of thresholds < |u_j|. Sums in 16 float lanes (lane j % 16,
  // ascending j; 8 trailing coordinates use lanes 0..7), then lanes l and l + 8, + 4, + 2, + 1.
  QuantiseSums (*quantise)(const float* u, std::uint32_t coded_dim, const Levels& levels,
                           std::uint8_t* codes);

  // Sums over `dim` coordinates of a query and a row as its caller gave it, of halves (half.hpp) or
  // of floats: see original_index. In 16 lanes of doubles (lane j % 16, ascending j), then lanes l
  // and l + 8, + 4, + 2, + 1. A product of two floats is exact in a double. Nothing behind the row
  // is read, nor behind the query: the writer may be filling the next row.
  using OriginalDots = OriginalSums (*)(const float* query, const void* row, std::uint32_t dim);
  OriginalDots original_dots[2];
  // The same of (q_j - x_j)^2: the difference is rounded to a double, then its square.
  using OriginalDistance = double (*)(const float* query, const void* row, std::uint32_t dim);
  OriginalDistance original_distance[2];

  // From so many rows of a block on, code_dots takes less than as many code_dot; above 32: never.
  std::uint32_t dense_rows = kBlockRows + 1;
};

// Index of `bits` (1, 2, 3, 4 or 8) in Kernels::code_dot.
[[nodiscard]] constexpr std::uint32_t bits_index(std::uint32_t bits) noexcept {
  return bits == 8 ? 4 : bits - 1;
}

// Index of a coordinate's size in Kernels::original_dots.
[[nodiscard]] constexpr std::uint32_t original_index(std::size_t coordinate_bytes) noexcept {
  return coordinate_bytes == sizeof(float) ? 1 : 0;
}

// The table by name ("scalar", "avx2", "avx512", "wasm", ...), or null when this build or this
// machine lacks it.
[[nodiscard]] const Kernels* find_kernels(const char* name) noexcept;

// The fastest table that this machine runs. Never null.
[[nodiscard]] const Kernels& best_kernels() noexcept;

// Names of all tables that this build holds and this machine runs, "scalar" first; null ends it.
[[nodiscard]] const char* const* available_kernels() noexcept;

}  // namespace vicinal::simd
