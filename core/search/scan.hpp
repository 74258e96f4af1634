// One query's share of a search: the skip test, and the scores of the rows that it leaves.
//
// Thread safety: belongs to one thread.
// I1: search.hpp I1. With `exhaustive` a row's ranking score is its code score and no plane is
//     scanned.
// I2: rows are scored best bound first as far as that pays: which rows are scored, and when,
//     changes the work, never the result (I1).
// I3: no score and no bound is NaN. A row's factors are finite and not negative and their products
//     with a query of any valid length stay finite (kMagnitudeLimit), except that a bound of an
//     `ip` or `l2` row may overflow to +infinity, which keeps the row; nothing that could be
//     infinite is multiplied by 0 or subtracted from another such value.
// I4: rests and ids of a block in a file are compared with their sums before they are used, planes
//     and factors by who visits it (block_runs.hpp I3). Rows of a damaged block are left out, and
//     whoever asked learns of it (segment_checks.hpp I3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/quantiser.hpp"
#include "search/block_runs.hpp"
#include "search/deferred_rows.hpp"
#include "search/search.hpp"
#include "search/top_rows.hpp"
#include "segment/version.hpp"

namespace vicinal::search {

class Scan {
 public:
  // What the queries of a search have in common.
  struct Shared {
    const segment::Version& version;
    const quant::Quantiser& quantiser;
    std::size_t k;                // not above `eligible`
    std::uint64_t eligible;       // rows that may be found, at most
    std::uint8_t* rest_copy;      // of one rest row and the overread
  };

  // Where a scan begins: at a version's first rows, or behind others, whose k-th score is already
  // the threshold of `top`: then nothing is deferred.
  enum class Start : std::uint8_t { first_rows, later_rows };

  Scan(const Shared& shared, const quant::PreparedQuery& query, const TopRows& top,
       const DeferredRows& deferred, Start start) noexcept;

  // Places for deferred rows that a scan needs.
  [[nodiscard]] static std::size_t deferred_places(std::uint64_t eligible) noexcept;

  // Estimates the rows of a run for up to simd::kScanQueries scans of one search.
  static void estimate(const BlockRun& run, Scan* const* scans, std::uint32_t count) noexcept;
  // Scores all rows of a run by their whole codes.
  void score_run(const BlockRun& run) noexcept;
  // After the last run: scores what is still deferred and may be found.
  void finish() noexcept;
  // Takes over what another scan of the same search found in other rows, and its counts.
  void take_found(std::span<const std::uint64_t> ids, const float* scores,
                  std::uint64_t rows_estimated, std::uint64_t rows_scored) noexcept;

  [[nodiscard]] TopRows& top() noexcept { return top_; }
  [[nodiscard]] const quant::PreparedQuery& query() const noexcept { return query_; }
  [[nodiscard]] bool zero_query() const noexcept { return query_.zero; }
  [[nodiscard]] std::uint64_t rows_estimated() const noexcept { return rows_estimated_; }
  [[nodiscard]] std::uint64_t rows_scored() const noexcept { return rows_scored_; }

 private:
  // Rows wait here while they are fetched. A dozen hides the latency of the memory; more would be
  // tested against an older threshold.
  static constexpr std::uint32_t kWaitingMax = 12;
  struct Waiting {
    const segment::SegmentView* view;
    const std::uint8_t* plane;
    std::uint32_t row;
    float upper;
  };

  void take(const BlockRun& run, const float* upper, const std::uint32_t* reached) noexcept;
  void take_block(const segment::SegmentView& view, std::uint32_t block, std::uint32_t rows,
                  const float* upper) noexcept;
  // Scores the block's rows now; `upper` null: without a bound.
  void score_lanes(const segment::SegmentView& view, std::uint32_t block, std::uint32_t lanes,
                   const float* upper) noexcept;
  void settle_seen() noexcept;
  void make_room() noexcept;
  void hold(std::size_t count) noexcept;
  void settle(std::size_t count) noexcept;
  void score_deferred(std::span<const DeferredRow> rows) noexcept;
  void wait_for(const segment::SegmentView& view, std::uint32_t row, const std::uint8_t* plane,
                float upper) noexcept;
  void score_waiting() noexcept;
  void touch_waiting() const noexcept;
  [[nodiscard]] float score_of(std::int64_t dot, const segment::Segment& segment,
                               std::uint32_t row) const noexcept;
  [[nodiscard]] float code_score(const segment::SegmentView& view, const std::uint8_t* plane,
                                 std::uint32_t row) const noexcept;
  [[nodiscard]] const std::uint8_t* rest_row(const segment::SegmentView& view,
                                             std::uint32_t row) const noexcept;

  const Shared& shared_;
  const quant::PreparedQuery query_;
  const simd::Kernels& kernels_;
  const simd::Levels& levels_;
  std::uint32_t bits_index_;
  std::size_t rest_bytes_;
  TopRows top_;
  DeferredRows deferred_;
  std::uint64_t settle_next_;   // once so many rows are estimated
  float level_;                 // a guess at the final threshold: rows below it are deferred
  std::uint64_t rows_estimated_ = 0;
  std::uint64_t rows_scored_ = 0;
  std::uint32_t waiting_count_ = 0;
  Waiting waiting_[kWaitingMax];
};

}  // namespace vicinal::search
