#include "search/wave.hpp"

#include <algorithm>
#include <new>

namespace vicinal::search {
namespace {

constexpr std::size_t kTileBytes = std::size_t{256} << 10;

}  // namespace

Status WaveMemory::reserve_for(std::size_t queries, Scratch::Buffers& buffers) const noexcept {
  Status status = reserve(buffers.prepare, queries * prepare_bytes);
  if (status.ok()) status = reserve(buffers.rows, queries * top_places * sizeof(Hit));
  if (status.ok()) status = reserve(buffers.ids, queries * k * sizeof(std::uint64_t));
  if (status.ok()) status = reserve(buffers.scores, queries * k * sizeof(float));
  if (status.ok()) {
    status = reserve(buffers.deferred, queries * deferred_places * sizeof(DeferredRow));
  }
  return status;
}

Wave::Wave(const Scan::Shared& shared, const AllowedBlocks* allowed, bool exhaustive) noexcept
    : shared_(shared), allowed_(allowed), exhaustive_(exhaustive) {
  const std::size_t run_bytes = kRunBlocks * shared.quantiser.layout().plane_block_bytes;
  runs_max_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(kTileBytes / run_bytes, 1,
                                                                 kTileRuns));
}

Wave::~Wave() {
  for (std::size_t i = 0; i < count_; ++i) scans_[i]->~Scan();
}

void Wave::add(const quant::PreparedQuery& query, const TopRows& top, const DeferredRows& deferred,
               Scan::Start start) noexcept {
  VICINAL_ASSERT(count_ < kWaveQueriesMax);
  Scan* scan = new (memory_ + count_ * sizeof(Scan)) Scan(shared_, query, top, deferred, start);
  scans_[count_++] = scan;
  if (exhaustive_ || query.zero) {
    scored_[scored_count_++] = scan;
  } else {
    estimated_[estimated_count_++] = scan;
  }
}

template <class Walk>
void Wave::walk_with(Walk walk) noexcept {
  if (estimated_count_ == 1) {  // without the copy of a tile
    walk([&](const BlockRun& run) { Scan::estimate(run, estimated_, 1); });
  } else if (estimated_count_ > 1) {
    walk([&](const BlockRun& run) {
      runs_[run_count_++] = run;
      if (run_count_ == runs_max_) flush();
    });
  }
  if (scored_count_ != 0) {
    walk([&](const BlockRun& run) {
      for (std::size_t i = 0; i < scored_count_; ++i) scored_[i]->score_run(run);
    });
  }
}

void Wave::walk(BlockPosition from, BlockPosition to) noexcept {
  walk_with([&](auto visit) { visit_runs(shared_.version, allowed_, from, to, visit); });
}

void Wave::walk_listed() noexcept {
  VICINAL_ASSERT(allowed_ != nullptr);
  walk_with([&](auto visit) { visit_listed(shared_.version, *allowed_, visit); });
}

void Wave::flush() noexcept {
  for (std::size_t at = 0; at < estimated_count_; at += simd::kScanQueries) {
    const std::size_t count = std::min<std::size_t>(simd::kScanQueries, estimated_count_ - at);
    for (std::uint32_t i = 0; i < run_count_; ++i) {
      Scan::estimate(runs_[i], estimated_ + at, static_cast<std::uint32_t>(count));
    }
  }
  run_count_ = 0;
}

void Wave::finish() noexcept {
  flush();
  for (std::size_t i = 0; i < estimated_count_; ++i) estimated_[i]->finish();
}

}  // namespace vicinal::search
