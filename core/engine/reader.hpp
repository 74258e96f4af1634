// A reader: one slot, one scratch, and the newest version or a fixed one.
//
// Thread safety: one thread at a time; snapshots of a reader are readers of their own and may go to
// other threads.
// I1: a live reader pins a version for the time of one call; a snapshot holds its pin until the
//     last snapshot of that pin is gone.
// I2: a pin is never copied to another slot: a scan could read the new slot before the copy and the
//     old one after its end. Snapshots of snapshots share the pin instead.
// I3: a warm search allocates nothing, locks nothing and stores to its own slot's line alone.
// I4: no answer leaves a damaged block out: every call that reads rows looks for damage when it is
//     through with them, and before, so that none is answered once damage was met (core.hpp I9).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "engine/core.hpp"
#include "search/row_names.hpp"
#include "search/search.hpp"

namespace vicinal::engine {

// Of an index that keeps originals, so many times k rows are ranked again unless the caller says
// else; docs/decisions.md has the figures.
inline constexpr std::size_t kRerankFactor = 4;

class ReaderCore {
 public:
  // BUSY without a free slot, CLOSED, FULL.
  [[nodiscard]] static Result<std::unique_ptr<ReaderCore>> open(
      std::shared_ptr<Core> core) noexcept;
  ReaderCore(const ReaderCore&) = delete;
  ReaderCore& operator=(const ReaderCore&) = delete;
  ~ReaderCore();

  // For a reader whose user died in the middle of a call, with proof of that death and in its
  // place. Its slot and its share of the index are given back, its scratch is lost: nobody knows in
  // which state it is.
  static void abandon(std::unique_ptr<ReaderCore> reader, sync::Afterwards after) noexcept;

  // A reader of this reader's version as it is now, fixed.
  [[nodiscard]] Result<std::unique_ptr<ReaderCore>> snapshot() noexcept;

  // See search::search; CLOSED after the index was closed. `found` lies in this reader's scratch.
  // `filter`: see search::search; one of this index, or null.
  Status search(std::span<const float> query, const SearchOptions& options,
                search::IdFilter* filter, search::Found* found, std::uint64_t* sequence) noexcept;
  // Several queries (count * dim floats) on one version; visit(index, Found) for each, in order. An
  // error names the query; those before it may have been visited.
  template <class Visit>
  Status search_each(std::span<const float> queries, const SearchOptions& given,
                     search::IdFilter* filter, Visit visit, std::uint64_t* sequence) noexcept {
    const Entry entry(*this, given.min_sequence);
    if (!entry.status().ok()) return entry.status();
    if (const Status damaged = core_->damaged(); !damaged.ok()) return damaged;
    const auto resolved = options_for(entry.version(), given);
    if (!resolved.ok()) return resolved.status();
    const SearchOptions& options = *resolved;
    const std::size_t dim = core_->options().dim;
    if (queries.size() % dim != 0) return Status(Code::dimension, queries.size() % dim, dim);
    *sequence = entry.version().sequence;
    const std::size_t count = queries.size() / dim;
    if (count == 0 && *sequence < options.min_sequence) {  // no query asks
      return Status(Code::would_block, *sequence, options.min_sequence);
    }
    std::size_t wave = search::wave_queries(entry.version(), core_->quantiser(), options);
    search::Found found[search::kWaveQueriesMax];
    for (std::size_t first = 0; first < count;) {
      const std::size_t some = std::min(wave, count - first);
      const Status status = unless_damaged(
          search::search_wave(entry.version(), core_->quantiser(),
                              queries.subspan(first * dim, some * dim), first, options,
                              filter, *scratch_, {found, some}));
      if (status.code() == Code::full && some > 1) {  // fewer at once need less memory
        wave = some / 2;
        continue;
      }
      if (!status.ok()) return status;
      for (std::size_t i = 0; i < some; ++i) {
        if (Status named = search::name_rows(entry.version(), *scratch_, &found[i]);
            !named.ok()) {
          return named;
        }
        visit(first + i, found[i]);
      }
      first += some;
    }
    return {};
  }
  // Of an id of the index's kind, else BAD_ID. CORRUPT once damage was met in a file.
  Status has(std::uint64_t id, bool* found, std::uint64_t* sequence) noexcept;
  Status has(std::string_view id, bool* found, std::uint64_t* sequence) noexcept;
  // `vector`: dim floats, written when found.
  Status get(std::uint64_t id, float* vector, bool* found, std::uint64_t* sequence) noexcept;
  Status get(std::string_view id, float* vector, bool* found, std::uint64_t* sequence) noexcept;
  Status count(std::uint64_t* rows, std::uint64_t* sequence) noexcept;

  [[nodiscard]] Core& core() noexcept { return *core_; }
  [[nodiscard]] const std::shared_ptr<Core>& shared_core() const noexcept { return core_; }

  // A reader's version for the time of one call.
  class Entry {
   public:
    // Of a file that another process writes: its newest version (Core::follow).
    explicit Entry(ReaderCore& reader, std::uint64_t sequence_wanted = 0) noexcept;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] const segment::Version& version() const noexcept { return *version_; }

   private:
    ReaderCore& reader_;
    Status status_;
    const segment::Version* version_ = nullptr;
  };

 private:
  // A slot that stays in one version until it is destroyed, by whichever thread.
  struct FixedPin {
    FixedPin(std::shared_ptr<Core> owner, std::uint32_t number) noexcept;
    FixedPin(const FixedPin&) = delete;
    FixedPin& operator=(const FixedPin&) = delete;
    ~FixedPin();
    std::shared_ptr<Core> core;
    std::uint32_t slot;
    const segment::Version* version;
  };

  // Before a search: BAD_ID where options name ids of the other kind, BAD_OPTION(rerank) where
  // there are no originals; and the options with `rerank` decided and the row of string_after found
  // in this version.
  [[nodiscard]] Result<SearchOptions> options_for(const segment::Version& version,
                                                  const SearchOptions& options) const noexcept;
  Status look_up(const Entry& entry, segment::Slot slot, float* vector, bool* found,
                 std::uint64_t* sequence) noexcept;
  ReaderCore(std::shared_ptr<Core> core, std::unique_ptr<search::Scratch> scratch) noexcept;
  // What a call that has read rows answers (I4).
  [[nodiscard]] Status unless_damaged(const Status& status) const noexcept {
    return core_->damage().any() ? core_->damaged() : status;
  }

  std::shared_ptr<Core> core_;
  std::unique_ptr<search::Scratch> scratch_;
  sync::ReaderSlot* slot_ = nullptr;  // a live reader's
  std::uint32_t slot_number_ = 0;
  std::shared_ptr<FixedPin> fixed_;   // a snapshot's
};

}  // namespace vicinal::engine
