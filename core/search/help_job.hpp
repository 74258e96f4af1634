// The rest of a search as chunks of blocks that its owner and helpers claim one after the other.
//
// Thread safety: fill, and what it says is the owner's, by the owner of the job
// (sync/help_jobs.hpp); help by helpers that are in it.
//   chunk c is claimed     next += 1, relaxed: c is then one thread's, whose alone its result is
//   a helper has done it   done[c] = 1, release [chunk-done], behind what it found
//   the owner takes it     done[c], acquire [chunk-done]; what is not done, it does itself
// The owner reads results until it closes the job, a late helper writes into its own chunk until it
// leaves: only then may somebody else fill the job anew.
// I1: what a helper finds in a chunk is the chunk's best k of at least the threshold that the owner
//     had when it looked: joined in any order with the owner's rows they give the best k of all.
// I2: nothing of the owner's is read after it has closed the job: the queries and the filter's
//     masks are copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.hpp"
#include "search/block_runs.hpp"
#include "search/search.hpp"
#include "search/wave.hpp"
#include "sync/atomic.hpp"

namespace vicinal::search {

inline constexpr std::uint32_t kChunksMax = 256;

class HelpJob {
 public:
  HelpJob() = default;
  HelpJob(const HelpJob&) = delete;
  HelpJob& operator=(const HelpJob&) = delete;

  // The owner's, before the job is opened: the blocks of the wave's version from `from` on.
  // `prepared`: where the queries' arrays lie, `memory.prepare_bytes` each. False where there would
  // be too little to share, or no memory. A chunk has `chunk_blocks` blocks, or twice, four times
  // as many where that would be too many chunks.
  [[nodiscard]] bool fill(const Wave& wave, const SearchOptions& options, const WaveMemory& memory,
                          const std::byte* prepared, BlockPosition from,
                          std::uint64_t chunk_blocks) noexcept;
  // The owner's, once it is open: works until nothing is left, whatever the helpers do.
  void work(Wave& wave) noexcept;

  // A helper's that is in it: works until no chunk is left. How many it has done.
  std::uint32_t help(Scratch::Buffers& buffers) noexcept;

  // Of all fills.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return bytes_.load(sync::relaxed); }

 private:
  friend struct HelpJobSteps;  // tests take some of a helper's steps

  struct Result {
    std::uint64_t rows_estimated;
    std::uint64_t rows_scored;
    std::uint32_t count;
  };
  class Chunks;  // a set of them

  [[nodiscard]] bool divide(BlockPosition from, std::uint64_t size) noexcept;
  [[nodiscard]] bool reserve_all(const WaveMemory& memory) noexcept;
  [[nodiscard]] std::size_t masks_bytes() const noexcept;
  [[nodiscard]] std::uint32_t claim() noexcept { return next_.fetch_add(1, sync::relaxed); }
  void help_with(std::uint32_t chunk, const WaveMemory& memory,
                 Scratch::Buffers& buffers) noexcept;
  [[nodiscard]] bool take(std::uint32_t chunk, Wave& wave) noexcept;
  [[nodiscard]] std::size_t place(std::uint32_t chunk, std::size_t query) const noexcept {
    return std::size_t{chunk} * queries_ + query;
  }

  // What is to be done.
  const segment::Version* version_ = nullptr;
  const quant::Quantiser* quantiser_ = nullptr;
  quant::PreparedQuery prepared_[kWaveQueriesMax];
  std::size_t queries_ = 0;
  std::size_t k_ = 0;
  bool exhaustive_ = false;
  bool filtered_ = false;
  float min_score_ = 0;
  std::optional<Hit> after_;
  std::uint32_t chunks_ = 0;
  std::uint64_t chunk_rows_ = 0;  // at most
  BlockPosition starts_[kChunksMax + 1];
  AlignedBuffer prepare_;  // the queries' arrays
  AlignedBuffer masks_;    // the filter's, as AllowedBlocks
  // What helpers found: Result, and chunk_places_ ids and scores, by place().
  std::size_t chunk_places_ = 0;
  AlignedBuffer results_;
  AlignedBuffer ids_;
  AlignedBuffer scores_;
  sync::Atomic<std::uint64_t> bytes_;

  alignas(128) sync::Atomic<float> thresholds_[kWaveQueriesMax];  // the owner's, raised as it works
  alignas(128) sync::Atomic<std::uint32_t> next_;
  alignas(128) sync::Atomic<std::uint32_t> done_[kChunksMax];
};

}  // namespace vicinal::search
