// Builds the next version out of the newest one: the writer's private workshop.
//
// Thread safety: the holder of the writer's token.
// I1: what a published version reaches is never changed; what has birth == sequence() is private
//     and is changed in place.
// I2: `begin` reserves all that `finish` needs, so that a transaction whose steps succeeded can
//     always be published.
// I3: `rollback` undoes the appends since its savepoint; `revive` undoes a kill of this
//     transaction, and comes before the rollback that removes the row. Neither can fail. The hints
//     that appends left in the id table stay (id_table.hpp I1).
// I4: bytes_made() less the bytes ended counts every object that exists, segments by their whole
//     slab. An object is counted before it is made and until after it was ended, so that what a
//     writer had under its hands when it died is counted, too.
// I5: `changed` is about what stands: what failed or was rolled back is no change.
// I6: one segment may be incoming: filled by a compaction (compaction.hpp) over several
//     transactions and shown by none of them until the last. Nobody else gets its number, and a
//     rebuilt sub-table keeps the hints to its rows.
// I7: strings are put behind what the newest version shows of the open chunk, and taken back with
//     their rows. Which chunk is open and how far it is filled, the version knows. A row that was
//     moved carries its handle on, so that what a compaction kills or drops is no string's end.
//
// After a writer's death. All of this is the dead writer's private state, as it was between any two
// instructions. Its successor makes it anew from the newest version (`recover`), and follows none
// of the old pointers, so that nothing is freed twice; what only the dead writer knew is lost, and
// I4 says how much that is. What it left in what the newest version reaches:
//   - rows behind the counts of open segments, and planes of blocks that no version shows whole:
//     nobody reads them (segment.hpp), and the successor's rows take their place.
//   - hints in sub-tables: the newest version vouches for a row or it does not (id_table.hpp I3).
//     One to a row that the successor gives the same id is a right hint, one to a row of another
//     id matches nothing. `used` may be one behind, so it is counted again.
//   - retire and next of objects that it was about to retire: they are reset.
//   - strings behind the newest version's: the successor's take their place. The chunks' counts of
//     dead strings are of a version that never was: they are made anew from the rows.
// The planes have fixed places, since which of the two is the open segment's may have been about
// to change.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "quant/layout.hpp"
#include "quant/original_row.hpp"
#include "segment/open_segment.hpp"
#include "segment/version.hpp"
#include "sync/object_memory.hpp"
#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::segment {

// Segments larger than this, originals included, are split, so that one slab never dominates a
// small memory budget.
inline constexpr std::size_t kSlabBytesMax = std::size_t{64} << 20;

class VersionBuilder {
 public:
  struct Savepoint {
    Segment* open;
    std::uint32_t open_rows;
    std::uint64_t live_rows;
    const Segment* opened;
    std::uint64_t string_end;
    std::uint64_t string_entries;
    bool string_open;
    bool changed;
  };
  // Which chunks of strings are worth moving.
  struct StringGoal {
    std::uint32_t dead_percent = 50;  // of a chunk's strings, or more; none dead: never
    bool open = false;                // the one that takes strings, too
    std::uint64_t birth_max = ~std::uint64_t{0};
  };

  // memory_bytes_max: 0 for no limit.
  VersionBuilder(const quant::CodeLayout& layout, std::uint64_t memory_bytes_max,
                 IdKind ids = IdKind::number, Originals originals = Originals::none) noexcept;
  VersionBuilder(const VersionBuilder&) = delete;
  VersionBuilder& operator=(const VersionBuilder&) = delete;
  // Ends what is private; published objects end through `destroy_version`.
  ~VersionBuilder();

  // FULL without memory. Once, before anything else.
  Status prepare() noexcept;
  // An empty version, or FULL. The caller publishes it.
  [[nodiscard]] Result<Version*> make_first(std::uint64_t sequence = 0) noexcept;

  // Starts a transaction on the newest version. FULL when nothing can be reserved.
  Status begin(const Version& base) noexcept { return begin(base, base.sequence + 1); }
  // The same for a version of a later number than the next one.
  Status begin(const Version& base, std::uint64_t sequence) noexcept;
  [[nodiscard]] bool active() const noexcept { return next_ != nullptr; }
  [[nodiscard]] bool changed() const noexcept { return changed_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }

  // Of the version under construction.
  [[nodiscard]] std::uint64_t live_rows() const noexcept { return next_->live_rows; }
  [[nodiscard]] Slot find(std::uint64_t id) const noexcept { return next_->find(id); }
  [[nodiscard]] Slot find(const StringKey& key) const noexcept { return next_->find(key); }
  [[nodiscard]] Savepoint savepoint() const noexcept;
  // Appends a row whose id no live row has. `rows_expected`: how many the batch still brings, this
  // one included, for choosing a segment's size. FULL: nothing appended. `original`: the row as it
  // is kept (quant/original_row.hpp), where rows are.
  Status append(std::uint64_t id, const std::uint8_t* packed_row, const quant::RowFactors& factors,
                std::uint64_t rows_expected, const std::uint8_t* original = nullptr) noexcept;
  // The same with a string of at most kStringBytesMax bytes, of which a copy is made.
  Status append(const StringKey& key, const std::uint8_t* packed_row,
                const quant::RowFactors& factors, std::uint64_t rows_expected,
                const std::uint8_t* original = nullptr) noexcept;
  void rollback(const Savepoint& savepoint) noexcept;
  // Marks a live row dead. FULL: nothing changed.
  Status kill(Slot slot) noexcept;
  void revive(Slot slot) noexcept;
  // Marks a row of the incoming segment dead that was moved and died at its old place. FULL.
  Status kill_moved(Slot slot) noexcept { return kill_row(slot); }
  // The incoming segment (I6), in a transaction; abandoning it takes back neither of the first two.
  // An empty one for `rows` rows. False without memory, room in the budget or a number.
  [[nodiscard]] bool begin_incoming(std::uint32_t rows) noexcept;
  // Its next row, a copy of one that the version under construction shows, and the row's hint.
  // `packed_row`: room for one. False without memory.
  [[nodiscard]] bool append_incoming(const SegmentView& from, std::uint32_t row,
                                     std::uint8_t* packed_row) noexcept;
  // The version under construction shows it, and it is incoming no longer. False without memory.
  [[nodiscard]] bool show_incoming() noexcept;
  // At any time: gives it up.
  void end_incoming() noexcept;
  [[nodiscard]] const Segment* incoming() const noexcept { return incoming_.segment(); }
  // Makes the segment of this number private, so that `drop_segment` cannot fail.
  [[nodiscard]] bool prepare_drop(std::uint32_t number) noexcept {
    return mutable_view(number) != nullptr;
  }
  void drop_segment(std::uint32_t number) noexcept;
  // The segment that takes rows takes no more of them. In a transaction: unless it is abandoned.
  void close_open() noexcept;
  // Between transactions: no segment of the newest version takes rows any more, and says so
  // (segment.hpp I6).
  void seal_segments(const Version& newest) noexcept;
  // A transaction whose hints had to be given new tables must be published for their sake.
  void keep_tables() noexcept { changed_ |= next_->ids->birth == sequence_; }
  // The largest segment that this layout allows.
  [[nodiscard]] std::uint32_t segment_rows_max() const noexcept {
    return capacity_for(kSegmentRowsMax);
  }
  [[nodiscard]] const Version& working() const noexcept { return *next_; }
  [[nodiscard]] const Segment* open() const noexcept { return open_.segment(); }
  [[nodiscard]] const quant::CodeLayout& layout() const noexcept { return layout_; }

  // Drops every row; of an index that holds nothing, changes nothing. FULL: nothing changed.
  Status clear() noexcept;
  // Gives an index without live rows the origin (dim floats) that its rows will be measured from,
  // in place of the one it had. FULL: nothing changed.
  Status calibrate(const float* origin) noexcept;
  // The calibration that rows to be appended must have been encoded with; 0 for none.
  [[nodiscard]] std::uint64_t calibration() const noexcept {
    return next_->calibration == nullptr ? 0 : next_->calibration->number;
  }

  // In a transaction of its own: moves the live strings of a run of neighbouring chunks to one that
  // they fill, if there is a run that is worth it, and drops the chunks. How many strings were
  // looked at; 0: there is no such run. FULL: nothing changed.
  [[nodiscard]] Result<std::uint32_t> move_strings(const StringGoal& goal) noexcept;
  // Between transactions: whether there is one in the newest version.
  [[nodiscard]] static bool any_strings_to_move(const Version& newest,
                                                const StringGoal& goal) noexcept;

  // Ends the transaction: the version to publish. Then `retire_replaced`, between the steps of
  // VersionRoot::publish.
  [[nodiscard]] Version* finish() noexcept;
  void retire_replaced(sync::Reclaimer& reclaimer) noexcept;
  // Ends the transaction and all that it made: the newest version and the builder are as before
  // `begin`.
  void abandon() noexcept;

  // By the successor of a writer that died, which had not ended the version: the builder is as
  // after a commit of `newest`. `retired_bytes`: of what waits in the reclaimer. Needs no memory.
  // Returns the bytes of what is lost, ever.
  std::uint64_t recover(const Version& newest, std::uint64_t retired_bytes) noexcept;

  // Between transactions, where nothing is open: rows go on where the newest version has most room
  // for them.
  void reopen(const Version& newest) noexcept;

  // Everything that only this version reaches, itself included; at the index's end.
  static void destroy_version(Version* version) noexcept;

  [[nodiscard]] std::uint64_t bytes_made() const noexcept {
    return bytes_made_.load(sync::relaxed);
  }
  // Whether the largest slab would still be within the budget.
  [[nodiscard]] bool has_room() const noexcept { return within_budget(kSlabBytesMax); }
  void set_bytes_ended(std::uint64_t bytes) noexcept { bytes_ended_ = bytes; }

 private:
  friend class Replay;

  [[nodiscard]] SegmentView* mutable_view(std::uint32_t number) noexcept;
  [[nodiscard]] DirectoryRoot* mutable_directory(std::uint32_t leaf_count) noexcept;
  [[nodiscard]] LivePage* mutable_live_page(SegmentView* view, std::uint32_t page) noexcept;
  [[nodiscard]] IdRoot* mutable_ids() noexcept;
  [[nodiscard]] bool open_segment(std::uint64_t rows_expected) noexcept;
  [[nodiscard]] std::uint32_t free_number() const noexcept;
  [[nodiscard]] std::uint32_t capacity_for(std::uint64_t rows_wanted) const noexcept;
  [[nodiscard]] Segment* make_segment(std::uint32_t number, std::uint64_t rows_wanted) noexcept;
  [[nodiscard]] bool reserve_hint(std::uint64_t hash) noexcept;
  [[nodiscard]] SubTable* rebuild(const SubTable& old, std::uint32_t table) noexcept;
  // A table of our own, with room, in place of a foreign one (id_table.hpp I6).
  [[nodiscard]] SubTable* take_over(const SubTable& foreign, std::uint32_t table) noexcept;
  Status append_row(std::uint64_t hash, const StringKey* key, std::uint64_t id,
                    const std::uint8_t* packed_row, const quant::RowFactors& factors,
                    std::uint64_t rows_expected, const std::uint8_t* original) noexcept;
  Status kill_row(Slot slot) noexcept;
  // The id hash of a row that carries `id`. False: its string is gone, and the row is dead.
  [[nodiscard]] bool hash_of_row(std::uint64_t id, std::uint64_t* hash) const noexcept;
  // builder_strings.cpp
  struct StringRun {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  [[nodiscard]] static StringRun find_run(const Strings& strings, const StringGoal& goal) noexcept;
  [[nodiscard]] StringDirectory* mutable_strings(std::uint32_t count) noexcept;
  [[nodiscard]] bool reserve_string(std::size_t bytes) noexcept;
  [[nodiscard]] std::uint64_t put_string(const StringKey& key) noexcept;
  // `fresh`: an empty directory.
  void drop_strings(StringDirectory* fresh) noexcept;
  void rollback_strings(const Savepoint& savepoint) noexcept;
  // A row with this handle died (1) or lives again (-1).
  void count_dead(std::uint64_t handle, int change) noexcept;
  static void recount_strings(const Version& version) noexcept;
  // Of exactly so many strings, whose ordinals and texts the caller puts. Null without memory.
  [[nodiscard]] StringChunk* make_sparse_chunk(std::uint32_t count,
                                               std::size_t text_bytes) noexcept;
  [[nodiscard]] StringChunk* copy_live(const StringRun& run, const std::uint64_t* live,
                                       std::uint32_t count, std::size_t text_bytes) noexcept;
  void replace_run(const StringRun& run, StringChunk* chunk, std::uint32_t entries) noexcept;
  [[nodiscard]] bool is_incoming(Slot slot) const noexcept {
    const Segment* segment = incoming_.segment();
    return segment != nullptr && slot.segment() == segment->number() &&
           slot.row() < incoming_rows_;
  }
  void discard_live(const SegmentView& view) noexcept;
  void drop_view(std::uint32_t number) noexcept;
  void drop_dead_segments() noexcept;
  void publish_tail() noexcept;
  void end_private() noexcept;
  void choose_open(const Version& newest) noexcept;
  // The count of I4. Release: it is stored before an object is made, and after one was ended.
  void count(std::size_t bytes) noexcept { bytes_made_.store(bytes_made() + bytes, sync::release); }
  void uncount(std::size_t bytes) noexcept {
    bytes_made_.store(bytes_made() - bytes, sync::release);
  }
  // Makes an object of `bytes` by `make()`, counted; null without memory.
  template <class Make>
  [[nodiscard]] auto made(std::size_t bytes, Make make) noexcept {
    count(bytes);
    auto* object = make();
    if (object == nullptr) uncount(bytes);
    return object;
  }
  template <class T>
  [[nodiscard]] T* make(std::size_t trailing_bytes = 0) noexcept {
    return made(sizeof(T) + trailing_bytes,
                [&] { return sync::make_object<T>(sequence_, trailing_bytes); });
  }
  template <class T>
  [[nodiscard]] T* copy(const T& original) noexcept {
    return made(sizeof(T), [&] { return sync::copy_object(original, sequence_); });
  }
  [[nodiscard]] SubTable* copy_table(const SubTable& original) noexcept {
    return made(SubTable::bytes_of(original.entry_capacity), [&] { return original.own_copy(); });
  }
  [[nodiscard]] SubTable* make_table(std::uint32_t entry_capacity) noexcept {
    return made(SubTable::bytes_of(entry_capacity),
                [&] { return SubTable::create(entry_capacity); });
  }
  [[nodiscard]] Segment* make_slab(std::uint32_t number, std::uint32_t capacity) noexcept {
    return made(segment_bytes(capacity) + sizeof(Segment), [&] {
      return Segment::create(layout_, number, capacity, original_bytes_);
    });
  }
  // Its slab and its originals.
  [[nodiscard]] std::size_t segment_bytes(std::uint32_t capacity) const noexcept {
    return Segment::slab_bytes(layout_, capacity) +
           OriginalRows::bytes_of(original_bytes_, capacity);
  }
  // Ends what was made and is nobody else's.
  void end(sync::Versioned* object) noexcept {
    const std::size_t bytes = object->bytes;
    object->destroy(object);
    uncount(bytes);
  }
  // FULL(in use, budget), or FULL(0, 0) when the system refused.
  [[nodiscard]] Status full_status() const noexcept {
    return memory_bytes_max_ == 0
               ? Status(Code::full)
               : Status(Code::full, bytes_made() - bytes_ended_, memory_bytes_max_);
  }
  [[nodiscard]] bool within_budget(std::size_t bytes) const noexcept;
  // An object that the next version no longer reaches: ended now if private, else retired later.
  void discard(const sync::Versioned* object) noexcept;

  quant::CodeLayout layout_;
  std::uint64_t memory_bytes_max_;
  IdKind ids_;
  std::size_t original_bytes_;  // of a row; 0: none are kept
  sync::Atomic<std::uint64_t> bytes_made_;
  std::uint64_t bytes_ended_ = 0;

  // The transaction.
  const Version* base_ = nullptr;
  Version* next_ = nullptr;
  std::uint64_t sequence_ = 0;
  bool changed_ = false;
  bool killed_ = false;
  std::int64_t strings_killed_ = 0;      // and not revived
  sync::Versioned* replaced_ = nullptr;  // linked by `next`
  Segment* opened_ = nullptr;            // by this transaction, newest first, linked by `next`

  // Kept between transactions.
  Version* spare_version_ = nullptr;
  TailPlane* spare_tail_ = nullptr;
  AlignedBuffer planes_[2];       // of the two below
  OpenSegment open_;              // the segment that takes rows
  Segment* base_open_ = nullptr;  // the same at `begin`
  OpenSegment incoming_;
  std::uint32_t incoming_rows_ = 0;
};

}  // namespace vicinal::segment
