// The queries of a wave: their working memory, their scans, and the walk that they share.
//
// Thread safety: belongs to one thread.
// I1: a wave may be walked over any parts of a version, in any order; a row in none of them is not
//     found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "search/block_runs.hpp"
#include "search/buffers.hpp"
#include "search/scan.hpp"

namespace vicinal::search {

// The arrays of a wave, a slice a query.
struct WaveMemory {
  std::size_t k;
  std::size_t prepare_bytes;
  std::size_t top_places;
  std::size_t deferred_places;

  // For the `count` best of at most `eligible` rows.
  WaveMemory(const quant::Quantiser& quantiser, std::size_t count, std::uint64_t eligible,
             bool exhaustive) noexcept
      : k(count),
        prepare_bytes(round_up(quantiser.prepare_scratch_bytes(), simd::kAlignment)),
        top_places(TopRows::places(count)),
        deferred_places(exhaustive ? 0 : Scan::deferred_places(eligible)) {}

  [[nodiscard]] std::size_t query_bytes() const noexcept {
    return prepare_bytes + top_places * sizeof(Hit) + deferred_places * sizeof(DeferredRow) +
           k * (sizeof(std::uint64_t) + sizeof(float));
  }
  [[nodiscard]] Status reserve_for(std::size_t queries, Scratch::Buffers& buffers) const noexcept;
  [[nodiscard]] TopRows top(std::size_t query, float min_score, const std::optional<Hit>& after,
                            Scratch::Buffers& buffers) const noexcept {
    return TopRows({buffers.rows.as<Hit>() + query * top_places, top_places}, k, min_score, after);
  }
  [[nodiscard]] DeferredRows deferred(std::size_t query,
                                      Scratch::Buffers& buffers) const noexcept {
    auto* places = buffers.deferred.as<DeferredRow>() + query * deferred_places;
    return DeferredRows({places, deferred_places});
  }
};

class Wave {
 public:
  // Both outlive the wave; `allowed` null: no filter. `exhaustive`: no row is estimated.
  Wave(const Scan::Shared& shared, const AllowedBlocks* allowed, bool exhaustive) noexcept;
  Wave(const Wave&) = delete;
  Wave& operator=(const Wave&) = delete;
  ~Wave();

  // The next query; kWaveQueriesMax at most.
  void add(const quant::PreparedQuery& query, const TopRows& top, const DeferredRows& deferred,
           Scan::Start start) noexcept;

  // The rows between two positions.
  void walk(BlockPosition from, BlockPosition to) noexcept;
  // The rows of the blocks that the filter lists.
  void walk_listed() noexcept;
  // Brings the scans up to what was walked.
  void flush() noexcept;
  // After the last walk.
  void finish() noexcept;

  [[nodiscard]] std::span<Scan* const> scans() const noexcept { return {scans_, count_}; }
  [[nodiscard]] const AllowedBlocks* allowed() const noexcept { return allowed_; }
  [[nodiscard]] const Scan::Shared& shared() const noexcept { return shared_; }
  [[nodiscard]] bool exhaustive() const noexcept { return exhaustive_; }

 private:
  // A tile of runs is walked once for each four queries of a wave, from the second-level cache.
  static constexpr std::uint32_t kTileRuns = 64;

  template <class Walk>
  void walk_with(Walk walk) noexcept;

  const Scan::Shared& shared_;
  const AllowedBlocks* allowed_;
  bool exhaustive_;
  std::size_t count_ = 0;
  std::size_t estimated_count_ = 0;
  std::size_t scored_count_ = 0;
  Scan* scans_[kWaveQueriesMax] = {};
  Scan* estimated_[kWaveQueriesMax] = {};
  Scan* scored_[kWaveQueriesMax] = {};  // zero queries have no direction and no estimate
  std::uint32_t runs_max_;
  std::uint32_t run_count_ = 0;
  BlockRun runs_[kTileRuns];
  alignas(Scan) std::byte memory_[kWaveQueriesMax * sizeof(Scan)];
};

}  // namespace vicinal::search
