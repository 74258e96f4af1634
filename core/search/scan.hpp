// One search over one version: the walk over blocks, the skip test, and the scores of what is left.
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
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/quantiser.hpp"
#include "search/allowed_rows.hpp"
#include "search/deferred_rows.hpp"
#include "search/search.hpp"
#include "search/top_rows.hpp"
#include "segment/version.hpp"

namespace vicinal::search {

class Scan {
 public:
  // `search` behind its checks of the options.
  [[nodiscard]] static Status search(const segment::Version& version,
                                     const quant::Quantiser& quantiser,
                                     std::span<const float> query, const SearchOptions& options,
                                     Scratch& scratch, Found* found) noexcept;

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

  Scan(const segment::Version& version, const quant::Quantiser& quantiser,
       const quant::PreparedQuery& query, TopRows& top, DeferredRows& deferred, std::size_t k,
       std::uint64_t eligible, std::uint8_t* rest_copy) noexcept;

  [[nodiscard]] static std::size_t deferred_places(std::uint64_t eligible) noexcept;
  void run(const AllowedRows* allowed, bool exhaustive) noexcept;
  // Calls visit(view, block, lanes) for every block with a lane that is live and allowed.
  template <class Visit>
  void visit_blocks(const AllowedRows* allowed, Visit visit) noexcept;
  void scan_plane(const segment::SegmentView& view, std::uint32_t block,
                  std::uint32_t lanes) noexcept;
  void score_all(const segment::SegmentView& view, std::uint32_t block,
                 std::uint32_t lanes) noexcept;

  void settle_seen() noexcept;
  void make_room() noexcept;
  void hold(std::size_t count) noexcept;
  void settle(std::size_t count) noexcept;
  void score_deferred(std::span<const DeferredRow> rows) noexcept;
  void wait_for(const segment::SegmentView& view, std::uint32_t row, const std::uint8_t* plane,
                float upper) noexcept;
  void score_waiting() noexcept;
  void touch_waiting() const noexcept;
  [[nodiscard]] float code_score(const segment::SegmentView& view, const std::uint8_t* plane,
                                 std::uint32_t row) const noexcept;
  [[nodiscard]] const std::uint8_t* rest_row(const segment::SegmentView& view,
                                             std::uint32_t row) const noexcept;

  const segment::Version& version_;
  const quant::PreparedQuery& query_;
  const simd::Kernels& kernels_;
  const simd::Levels& levels_;
  simd::Kernels::CodeDot code_dot_;
  std::size_t rest_bytes_;
  std::uint8_t* rest_copy_;     // of one rest row and the overread
  TopRows& top_;
  DeferredRows& deferred_;
  std::size_t k_;
  std::uint64_t eligible_;      // rows that may be found
  std::uint64_t settle_next_;   // once so many rows are estimated
  float level_;                 // a guess at the final threshold: rows below it are deferred
  std::uint64_t rows_estimated_ = 0;
  std::uint64_t rows_scored_ = 0;
  std::uint32_t waiting_count_ = 0;
  Waiting waiting_[kWaitingMax];
};

}  // namespace vicinal::search
