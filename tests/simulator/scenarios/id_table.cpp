// Readers look ids up while a writer adds, replaces and removes rows, drops a segment whose rows
// are dead and rebuilds the ids' sub-table. All ids share one sub-table, so that their chains mix.
//
// Every version carries the answers that it must give. A hint to a freed segment that is followed
// is a use after the end; a lost or a newer one is a wrong answer.
#include <vector>

#include "segment/id_table.hpp"
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "sync/object_memory.hpp"
#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"

namespace vicinal::sim {
namespace {

using segment::IdRoot;
using segment::Slot;
using segment::SubTable;

constexpr std::uint32_t kIds = 4;
constexpr std::uint32_t kSegments = 3;
constexpr std::uint32_t kRows = 3;

// The first ids whose sub-table is that of id 0.
std::uint64_t id_at(std::uint32_t number) {
  static const std::vector<std::uint64_t> all = [] {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 0; ids.size() < kIds; ++id) {
      if (IdRoot::table_of(IdRoot::hash(id)) == IdRoot::table_of(IdRoot::hash(0))) {
        ids.push_back(id);
      }
    }
    return ids;
  }();
  return all[number];
}

struct Segment : sync::Versioned {
  sync::Plain<std::uint64_t> ids[kRows];
};

struct View {
  Segment* segment = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t live = 0;
};

struct Version : sync::VersionHeader {
  IdRoot* root = nullptr;
  View views[kSegments];
  Slot answers[kIds];

  // id_table.hpp I3: the version is asked before anything is touched.
  [[nodiscard]] bool matches(Slot slot, std::uint64_t id) const {
    if (slot.segment() >= kSegments) return false;
    const View& view = views[slot.segment()];
    return view.segment != nullptr && slot.row() < view.rows &&
           view.segment->ids[slot.row()] == id && (view.live >> slot.row() & 1) != 0;
  }
  [[nodiscard]] Slot find(std::uint64_t id) const {
    return root->find(id, [this](Slot slot, std::uint64_t of) { return matches(slot, of); });
  }
};

class Table {
 public:
  Table() {
    next_ = sync::make_object<Version>(0);
    next_->root = sync::make_object<IdRoot>(0);
    table() = SubTable::create(segment::kSubTableEntriesMin);
    commit();
  }
  ~Table() {
    const auto* newest = static_cast<const Version*>(root_.newest());
    table_of(*newest->root)->destroy(table_of(*newest->root));
    newest->root->destroy(newest->root);
    for (const View& view : newest->views) {
      if (view.segment != nullptr) view.segment->destroy(view.segment);
    }
    next_->destroy(const_cast<Version*>(newest));
  }

  // A random change, as its own commit.
  void write() {
    begin();
    const std::uint32_t number = pick(kIds);
    const Slot before = next_->answers[number];
    if (before.valid()) kill(before);
    next_->answers[number] = {};
    if (!before.valid() || pick(3) != 0) place(number);
    for (View& view : next_->views) {
      if (view.segment != nullptr && view.live == 0) drop(view);
    }
    if (pick(3) == 0) rebuild();
    commit();
    if (pick(2) == 0) reclaimer_.scan(slots_);
  }

  void read() {
    const auto claimed = slots_.claim();
    check(claimed.ok(), "no slot");
    sync::ReaderSlot& slot = slots_.slot(*claimed);
    const auto& version = static_cast<const Version&>(*root_.enter(slot));
    for (std::uint32_t i = 0; i < kIds; ++i) {
      check(version.find(id_at(i)) == version.answers[i], "an id is not where its version has it");
    }
    sync::VersionRoot::leave(slot);
    slots_.release_slot(*claimed);
  }

 private:
  static SubTable*& table_of(IdRoot& root) {
    return root.tables[IdRoot::table_of(IdRoot::hash(id_at(0)))];
  }
  SubTable*& table() { return table_of(*next_->root); }

  void begin() {
    before_ = const_cast<Version*>(static_cast<const Version*>(root_.newest()));
    next_ = sync::copy_object(*before_, before_->sequence + 1);
    next_->sequence = before_->sequence + 1;
  }
  void commit() {
    root_.publish(next_, [this] {
      for (sync::Versioned* object : replaced_) reclaimer_.retire(object, next_->sequence);
      if (before_ != nullptr) reclaimer_.retire(before_, next_->sequence);
    });
    replaced_.clear();
  }

  void kill(Slot slot) { next_->views[slot.segment()].live &= ~(1u << slot.row()); }
  void drop(View& view) {
    replaced_.push_back(view.segment);
    view = {};
  }
  void place(std::uint32_t number) {
    for (std::uint32_t s = 0; s < kSegments; ++s) {
      View& view = next_->views[s];
      if (view.rows == kRows) continue;
      if (view.segment == nullptr) view.segment = sync::make_object<Segment>(next_->sequence);
      const Slot slot = Slot::of(s, view.rows);
      view.segment->ids[view.rows] = id_at(number);
      view.live |= 1u << view.rows++;
      if (table()->wants_rebuild()) rebuild();
      table()->insert(IdRoot::hash(id_at(number)), slot);
      next_->answers[number] = slot;
      return;
    }
  }
  // A new table with the rows that live in the next version, under a new root.
  void rebuild() {
    if (next_->root->birth != next_->sequence) {
      replaced_.push_back(next_->root);
      next_->root = sync::copy_object(*next_->root, next_->sequence);
    }
    SubTable* old = table();
    SubTable* fresh = SubTable::create(segment::kSubTableEntriesMin);
    fresh->birth = next_->sequence;
    for (std::uint32_t i = 0; i < kIds; ++i) {
      if (next_->answers[i].valid()) fresh->insert(IdRoot::hash(id_at(i)), next_->answers[i]);
    }
    table() = fresh;
    if (old->birth == next_->sequence) {
      old->destroy(old);
    } else {
      replaced_.push_back(old);
    }
  }

  sync::VersionRoot root_;
  sync::ReaderSlots slots_;
  sync::Reclaimer reclaimer_;
  std::vector<sync::Versioned*> replaced_;
  Version* before_ = nullptr;
  Version* next_ = nullptr;
};

void id_table() {
  Table table;
  for (int i = 0; i < 2; ++i) table.write();
  spawn([&] {
    for (int i = 0; i < 4; ++i) table.write();
  });
  for (int i = 0; i < 2; ++i) {
    spawn([&] {
      for (int turn = 0; turn < 2; ++turn) table.read();
    });
  }
  join_all();
}

const Scenario kIdTable("id_table", id_table);

}  // namespace
}  // namespace vicinal::sim
