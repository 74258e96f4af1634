#include "search/help_job.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace vicinal::search {
namespace {

// What the results of a job may take at most; chunks grow, and are fewer, until they fit.
constexpr std::size_t kResultBytesMax = std::size_t{4} << 20;

}  // namespace

class HelpJob::Chunks {
 public:
  void add(std::uint32_t chunk) noexcept {
    words_[chunk / 64] |= std::uint64_t{1} << chunk % 64;
    ++count_;
  }
  [[nodiscard]] bool has(std::uint32_t chunk) const noexcept {
    return (words_[chunk / 64] >> chunk % 64 & 1) != 0;
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  std::uint64_t words_[kChunksMax / 64] = {};
  std::uint32_t count_ = 0;
};

bool HelpJob::fill(const Wave& wave, const SearchOptions& options, const WaveMemory& memory,
                   const std::byte* prepared, BlockPosition from,
                   std::uint64_t chunk_blocks) noexcept {
  sync::note_write(this);
  version_ = &wave.shared().version;
  quantiser_ = &wave.shared().quantiser;
  queries_ = wave.scans().size();
  k_ = memory.k;
  exhaustive_ = wave.exhaustive();
  filtered_ = wave.allowed() != nullptr;
  min_score_ = options.min_score;
  after_ = options.after;
  if (!divide(from, chunk_blocks) || !reserve_all(memory)) return false;
  std::memcpy(prepare_.data(), prepared, queries_ * memory.prepare_bytes);
  if (filtered_) std::memcpy(masks_.data(), wave.allowed()->masks, masks_bytes());
  for (std::size_t i = 0; i < queries_; ++i) {
    prepared_[i] = wave.scans()[i]->query().moved(prepared, prepare_.data());
    thresholds_[i].store(wave.scans()[i]->top().threshold(), sync::relaxed);
  }
  for (std::uint32_t c = 0; c < chunks_; ++c) done_[c].store(0, sync::relaxed);
  next_.store(0, sync::relaxed);
  return true;
}

bool HelpJob::divide(BlockPosition from, std::uint64_t size) noexcept {
  std::uint64_t blocks = 0;
  const BlockPosition end = advance(*version_, from, ~std::uint64_t{0}, &blocks);
  for (;; size *= 2) {
    const std::uint64_t chunks = (blocks + size - 1) / size;
    if (chunks < 2) return false;
    chunk_rows_ = size * simd::kBlockRows;
    chunk_places_ = static_cast<std::size_t>(std::min<std::uint64_t>(k_, chunk_rows_));
    const std::size_t bytes = chunk_places_ * (sizeof(std::uint64_t) + sizeof(float));
    if (chunks <= kChunksMax && chunks * queries_ * bytes <= kResultBytesMax) break;
  }
  chunks_ = 0;
  std::uint64_t passed = 0;
  for (BlockPosition at = from; at != end; at = advance(*version_, at, size, &passed)) {
    VICINAL_ASSERT(chunks_ < kChunksMax);
    starts_[chunks_++] = at;
  }
  starts_[chunks_] = end;
  return true;
}

std::size_t HelpJob::masks_bytes() const noexcept {
  if (!filtered_) return 0;
  return std::size_t{version_->segment_end} * kSegmentBlocks * sizeof(std::uint32_t);
}

bool HelpJob::reserve_all(const WaveMemory& memory) noexcept {
  const std::size_t places = std::size_t{chunks_} * queries_;
  Status status = reserve(prepare_, queries_ * memory.prepare_bytes);
  if (status.ok()) status = reserve(masks_, masks_bytes());
  if (status.ok()) status = reserve(results_, places * sizeof(Result));
  if (status.ok()) status = reserve(ids_, places * chunk_places_ * sizeof(std::uint64_t));
  if (status.ok()) status = reserve(scores_, places * chunk_places_ * sizeof(float));
  bytes_.store(prepare_.size() + masks_.size() + results_.size() + ids_.size() + scores_.size(),
               sync::relaxed);
  return status.ok();
}

void HelpJob::work(Wave& wave) noexcept {
  Chunks finished;
  for (std::uint32_t c = claim(); c < chunks_; c = claim()) {
    wave.walk(starts_[c], starts_[c + 1]);
    wave.flush();
    finished.add(c);
    for (std::size_t i = 0; i < queries_; ++i) {
      thresholds_[i].store(wave.scans()[i]->top().threshold(), sync::relaxed);
    }
  }
  // The others are claimed. Each turn takes what is done and does one that is not: while it does,
  // more may be done.
  while (finished.count() < chunks_) {
    std::uint32_t missing = chunks_;
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      if (finished.has(c)) continue;
      if (take(c, wave)) {
        finished.add(c);
      } else {
        missing = std::min(missing, c);
      }
    }
    if (missing == chunks_) continue;
    wave.walk(starts_[missing], starts_[missing + 1]);
    wave.flush();
    finished.add(missing);
  }
}

bool HelpJob::take(std::uint32_t chunk, Wave& wave) noexcept {
  if (done_[chunk].load(sync::acquire) == 0) return false;  // [chunk-done]
  sync::note_read(&done_[chunk]);
  for (std::size_t i = 0; i < queries_; ++i) {
    const Result& result = results_.as<Result>()[place(chunk, i)];
    const std::size_t at = place(chunk, i) * chunk_places_;
    wave.scans()[i]->take_found({ids_.as<std::uint64_t>() + at, result.count},
                                scores_.as<float>() + at, result.rows_estimated,
                                result.rows_scored);
  }
  return true;
}

std::uint32_t HelpJob::help(Scratch::Buffers& buffers) noexcept {
  sync::note_read(this);
  const std::uint64_t eligible = std::min(chunk_rows_, version_->live_rows);
  const auto k = static_cast<std::size_t>(std::min<std::uint64_t>(k_, eligible));
  const WaveMemory memory(*quantiser_, k, eligible, exhaustive_);
  if (!memory.reserve_for(queries_, buffers).ok()) return 0;
  std::uint32_t count = 0;
  for (std::uint32_t c = claim(); c < chunks_; c = claim()) {
    sync::note_write(&done_[c]);  // for the chunk's result
    help_with(c, memory, buffers);
    done_[c].store(1, sync::release);  // [chunk-done]
    ++count;
  }
  return count;
}

void HelpJob::help_with(std::uint32_t chunk, const WaveMemory& memory,
                        Scratch::Buffers& buffers) noexcept {
  const std::uint64_t eligible = std::min(chunk_rows_, version_->live_rows);
  const Scan::Shared shared{*version_, *quantiser_, memory.k, eligible,
                            buffers.rest.as<std::uint8_t>()};
  const AllowedBlocks masks{masks_.as<std::uint32_t>(), {}};
  Wave wave(shared, filtered_ ? &masks : nullptr, exhaustive_);
  for (std::size_t i = 0; i < queries_; ++i) {
    const float threshold = std::max(min_score_, thresholds_[i].load(sync::relaxed));
    // Without k rows so far the best bounds of the chunk tell which rows to score.
    const bool known = threshold != -std::numeric_limits<float>::infinity();
    wave.add(prepared_[i], memory.top(i, threshold, after_, buffers), memory.deferred(i, buffers),
             known ? Scan::Start::later_rows : Scan::Start::first_rows);
  }
  wave.walk(starts_[chunk], starts_[chunk + 1]);
  wave.finish();
  for (std::size_t i = 0; i < queries_; ++i) {
    Scan& scan = *wave.scans()[i];
    const std::size_t at = place(chunk, i) * chunk_places_;
    Result& result = results_.as<Result>()[place(chunk, i)];
    result.rows_estimated = scan.rows_estimated();
    result.rows_scored = scan.rows_scored();
    result.count = static_cast<std::uint32_t>(
        scan.top().finish(ids_.as<std::uint64_t>() + at, scores_.as<float>() + at));
  }
}

}  // namespace vicinal::search
