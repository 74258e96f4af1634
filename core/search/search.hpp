// The exact-order flat search of one version: sign planes for all rows, whole codes for the few
// whose bound reaches the k-th score.
//
// Thread safety: a Scratch belongs to one thread at a time; versions and the quantiser are
// immutable.
// I1: a row's ranking score is min(code score, upper bound); a row is skipped only if its upper
//     bound is below the k-th ranking score. So the result is the top k by (score descending, id
//     ascending) of all rows' ranking scores: the order of segments and blocks, batches and helpers
//     cannot matter.
// I2: after a search with the same or larger k and filter, a search allocates nothing.
// I3: nothing here waits, locks, or writes to memory that another thread writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "quant/quantiser.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::search {

// Above this many standard deviations a search is exhaustive.
inline constexpr float kCertaintyMax = 64.0f;

// Buffers of one reader, grown by need and kept.
class Scratch {
 public:
  // FULL without memory.
  [[nodiscard]] static Result<std::unique_ptr<Scratch>> create(const quant::Quantiser& quantiser);
  ~Scratch();

 private:
  friend class Scan;
  friend Status decode_row(const segment::Version&, const quant::Quantiser&, segment::Slot,
                           Scratch&, float*);
  struct Buffers;
  explicit Scratch(std::unique_ptr<Buffers> buffers);
  std::unique_ptr<Buffers> buffers_;
};

// What a search found, best first. The spans lie in the scratch: valid until its next use.
struct Found {
  std::span<const std::uint64_t> ids;
  std::span<const float> scores;
  std::uint64_t rows_estimated = 0;  // rows whose sign plane was read
  std::uint64_t rows_scored = 0;     // rows scored by their whole code
};

// `query`: dim floats. Errors, nothing found: DIMENSION(found, expected), NOT_FINITE(0,
// coordinate), BAD_OPTION(name) for a certainty or min_score that is NaN, a negative certainty, or
// an `after` that is NaN; FULL when the scratch cannot grow. k = 0 or no row: found nothing. k
// above the live rows: all.
[[nodiscard]] Status search(const segment::Version& version, const quant::Quantiser& quantiser,
                            std::span<const float> query, const SearchOptions& options,
                            Scratch& scratch, Found* found) noexcept;

// The vector that a live row stands for, into dim floats.
[[nodiscard]] Status decode_row(const segment::Version& version, const quant::Quantiser& quantiser,
                                segment::Slot slot, Scratch& scratch, float* vector);

}  // namespace vicinal::search
