// A file on paper: what a journal would write of an index's versions and what whoever opens the
// file would read back, with plain containers in place of bytes.
//
// Thread safety: belongs to one thread; segments that stand on a mapping may be read by any.
// I1: extents hold whole blocks only, with their sums; all else of them is garbage on purpose.
// I2: a mapping is private to its reader, as a MAP_PRIVATE one is: what a writer puts into an
//     extent later does not show in it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "segment/block_sums.hpp"
#include "segment/builder.hpp"
#include "segment/replay.hpp"
#include "segment/version_diff.hpp"
#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"

namespace vicinal::test {

struct PaperExtent {
  std::uint32_t number = 0;
  std::uint32_t capacity = 0;
  std::uint64_t position = 0;  // of the slab
  AlignedBuffer slab;
  std::vector<storage::BlockSums> sums;
};

struct PaperCommit {
  struct Opened {
    std::uint32_t extent;  // its place in the file
  };
  struct Grown {
    std::uint32_t number;
    std::uint32_t rows_before;
    std::uint32_t rows;
    std::uint32_t unfinished = 0;
    std::vector<std::byte> ids, factors, packed;
  };
  struct Page {
    std::uint32_t number;
    std::uint32_t page;
    std::uint32_t words[segment::kLivePageBlocks];
  };
  std::uint64_t sequence = 0;
  std::uint64_t live_rows = 0;
  std::uint64_t dead_rows = 0;
  std::uint64_t rows_dropped = 0;
  std::vector<std::uint32_t> dropped;
  std::vector<Opened> opened;
  std::vector<Grown> grown;
  std::vector<segment::Slot> dead;
  std::vector<Page> pages;
  std::uint64_t calibration = 0;
  std::vector<float> origin;  // where it is new
};

class PaperFile {
 public:
  static constexpr std::uint64_t kUuidHead = 0x0123456789abcdef;

  explicit PaperFile(const quant::CodeLayout& layout) : layout_(layout) {}

  // The difference of two versions as one commit. `trimmed`: opened segments get no more room in
  // the file than their rows need.
  PaperCommit log(const segment::Version* older, const segment::Version& newer,
                  std::uint32_t page_from = segment::VersionDiff::kPageSlots,
                  bool trimmed = false);
  [[nodiscard]] std::vector<std::unique_ptr<PaperExtent>>& extents() { return extents_; }
  [[nodiscard]] const quant::CodeLayout& layout() const { return layout_; }

 private:
  [[nodiscard]] std::uint32_t open(const segment::SegmentView& view, std::uint32_t capacity);
  void store_blocks(const segment::SegmentView& view, std::uint32_t rows_before,
                    PaperExtent& extent);
  [[nodiscard]] PaperCommit::Grown grown(const segment::SegmentView& view,
                                         std::uint32_t rows_before) const;

  quant::CodeLayout layout_;
  segment::VersionDiff diff_;
  std::uint64_t end_ = 16384;
  std::vector<std::unique_ptr<PaperExtent>> extents_;
  std::vector<std::uint32_t> extent_of_;  // by segment number: the newest
};

// Whoever opens the file: what it does in a transaction of a builder.
class PaperReader {
 public:
  PaperReader(PaperFile& file, Metric metric, segment::VersionBuilder& builder,
              segment::Damage& damage)
      : file_(file), metric_(metric), builder_(builder), damage_(damage),
        replay_(builder, metric) {}
  PaperReader(const PaperReader&) = delete;
  PaperReader& operator=(const PaperReader&) = delete;
  ~PaperReader();  // after all that stands on its mappings

  [[nodiscard]] Status replay(const PaperCommit& commit);
  [[nodiscard]] Status enter_hints();
  // All of the commits, and hints where they are wanted.
  [[nodiscard]] Status replay_all(const std::vector<PaperCommit>& commits);
  [[nodiscard]] segment::Replay& replayer() { return replay_; }
  // Slabs that segments stand on.
  [[nodiscard]] std::uint64_t mapped() const { return mapped_; }

 private:
  struct Mapping;
  [[nodiscard]] Status map(const PaperExtent& extent);
  [[nodiscard]] Status show(const PaperCommit::Grown& grown);

  PaperFile& file_;
  Metric metric_;
  segment::VersionBuilder& builder_;
  segment::Damage& damage_;
  segment::Replay replay_;
  std::uint64_t mapped_ = 0;
  std::vector<std::uint32_t> extent_of_;  // by segment number
  std::vector<std::uint32_t> hinted_;     // rows whose hints were entered, by segment number
};

// An index that is opened.
class PaperIndex {
 public:
  explicit PaperIndex(PaperFile& file, Metric metric = Metric::cosine);
  PaperIndex(const PaperIndex&) = delete;
  PaperIndex& operator=(const PaperIndex&) = delete;
  ~PaperIndex();

  // All commits as one version; abandoned where one of them is refused.
  Status apply(const std::vector<PaperCommit>& commits);
  // The same without hints: no row is looked at.
  Status show(const std::vector<PaperCommit>& commits);
  // The steps of it.
  Status begin(std::uint64_t sequence) { return builder_.begin(newest(), sequence); }
  void publish();
  void abandon() { builder_.abandon(); }

  [[nodiscard]] const segment::Version& newest() const {
    return static_cast<const segment::Version&>(*root_.newest());
  }
  [[nodiscard]] segment::VersionBuilder& builder() { return builder_; }
  [[nodiscard]] PaperReader& reader() { return reader_; }
  [[nodiscard]] segment::Replay& replayer() { return reader_.replayer(); }
  [[nodiscard]] segment::Damage& damage() { return damage_; }
  // The slab of the newest version's segment, to be damaged.
  [[nodiscard]] std::uint8_t* slab_of(std::uint32_t number) {
    return const_cast<std::uint8_t*>(newest().view(number)->segment->slab());
  }
  void reclaim();

 private:
  segment::Damage damage_;
  sync::VersionRoot root_;
  sync::ReaderSlots slots_;
  segment::VersionBuilder builder_;
  sync::Reclaimer reclaimer_;
  PaperReader reader_;
};

// Tables as a file has them: entries in memory that nobody may write to.
struct ForeignTables : segment::MemoryOwner {
  explicit ForeignTables(const segment::IdRoot& root);
  [[nodiscard]] Status attach(segment::Replay& replay);

  using Entries = std::array<std::vector<std::uint32_t>, segment::kSubTables>;
  Entries entries;
  std::uint32_t used = 0;  // what the file says
  int users = 0;
};

}  // namespace vicinal::test
