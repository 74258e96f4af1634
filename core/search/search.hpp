// The exact-order flat search of one version: sign planes for all rows, whole codes for the few
// whose bound reaches the k-th score.
//
// Thread safety: a Scratch belongs to one thread at a time; versions and the quantiser are
// immutable.
// I1: a row's ranking score is min(code score, upper bound); a row is skipped only if its upper
//     bound is below the k-th ranking score. So the result is the top k by (score descending, id
//     ascending) of all rows' ranking scores: the order of segments and blocks, batches and helpers
//     cannot matter.
//     With re-ranking that is how candidates are found, and rerank.hpp says how they are ranked.
// I2: after a search with the same or larger k and filter, a search allocates nothing.
// I3: nothing here waits, locks, or writes to memory that another thread writes, but for the bits
//     of blocks of a file that are used for the first time (segment_checks.hpp).
// I4: a damaged block of a file is left out, and said to segment::Damage: what was found is to be
//     thrown away then. The owner of the index looks at it after each call.
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

// Queries that share one walk over the rows, at most.
inline constexpr std::size_t kWaveQueriesMax = 16;

// What a search found, best first. The spans lie in the scratch: valid until its next use.
struct Found {
  std::span<const std::uint64_t> ids;  // or handles (segment/strings.hpp)
  std::span<const float> scores;
  std::uint64_t rows_estimated = 0;  // rows whose sign plane was read
  std::uint64_t rows_scored = 0;     // rows scored by their whole code
  bool reranked = false;             // the scores are exact (rerank.hpp)
  // Of rows with strings, once they are named (row_names.hpp): the i-th lies in `text` from
  // text_offsets[i] to text_offsets[i + 1].
  const char* text = nullptr;
  const std::uint64_t* text_offsets = nullptr;
};

class HelpPool;
class IdFilter;

// Buffers of one reader, grown by need and kept.
class Scratch {
 public:
  // `help`: whom long searches may ask for help, or null. FULL without memory.
  [[nodiscard]] static Result<std::unique_ptr<Scratch>> create(const quant::Quantiser& quantiser,
                                                               HelpPool* help = nullptr);
  ~Scratch();

  struct Buffers;  // buffers.hpp
  [[nodiscard]] Buffers& buffers() noexcept { return *buffers_; }

 private:
  friend Status search_wave(const segment::Version&, const quant::Quantiser&,
                            std::span<const float>, std::size_t, const SearchOptions&,
                            IdFilter*, Scratch&, std::span<Found>) noexcept;
  friend Status decode_row(const segment::Version&, const quant::Quantiser&, segment::Slot,
                           Scratch&, float*);
  Scratch(std::unique_ptr<Buffers> buffers, HelpPool* help);
  std::unique_ptr<Buffers> buffers_;
  HelpPool* help_;
};

// `query`: dim floats. `filter` may be null; else it takes the place of options.filter, of whose
// index the version is one; string_after is the caller's to resolve, and so is options.rerank: none
// is 0 here, and more than 0 needs originals. Errors, nothing found:
// DIMENSION(found, expected), NOT_FINITE(0, coordinate), BAD_OPTION(name) for a certainty or
// min_score that is NaN, a negative certainty, or an `after` that is NaN or together with rerank;
// then WOULD_BLOCK(the version's sequence, the wanted one) when the version is older than
// min_sequence; FULL when the scratch cannot grow. k = 0 or no row: found nothing. k above the live
// rows: all.
[[nodiscard]] Status search(const segment::Version& version, const quant::Quantiser& quantiser,
                            std::span<const float> query, const SearchOptions& options,
                            IdFilter* filter, Scratch& scratch, Found* found) noexcept;

// How many queries of a batch to give to one search_wave, so that its working memory stays bounded.
[[nodiscard]] std::size_t wave_queries(const segment::Version& version,
                                       const quant::Quantiser& quantiser,
                                       const SearchOptions& options) noexcept;

// As `search` for each of found.size() queries (1 to kWaveQueriesMax, dim floats each, one after
// the other): the same bits, but a block's sign plane is loaded once for all of them. NOT_FINITE
// names the query, counted from `first`; after an error nothing is found for any.
[[nodiscard]] Status search_wave(const segment::Version& version,
                                 const quant::Quantiser& quantiser,
                                 std::span<const float> queries, std::size_t first,
                                 const SearchOptions& options, IdFilter* filter,
                                 Scratch& scratch, std::span<Found> found) noexcept;

// A live row as it was given, where originals are kept, else the vector that its code stands for,
// into dim floats. CORRUPT: its block is damaged. FULL.
[[nodiscard]] Status decode_row(const segment::Version& version, const quant::Quantiser& quantiser,
                                segment::Slot slot, Scratch& scratch, float* vector);

}  // namespace vicinal::search
