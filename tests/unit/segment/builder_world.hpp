// A builder with everything it stands in, driven as the engine drives it, beside a model of plain
// maps.
//
// Thread safety: belongs to one thread.
// I1: the model holds what each version must show; versions are compared with it in full.
// I2: every byte that the builder says is in use is reached from somewhere (unreached_bytes() ==
//     0).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "segment/builder.hpp"
#include "segment/compaction.hpp"
#include "sync/reader_slots.hpp"
#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"

namespace vicinal::test {

// What a row must read back as.
struct PlainRow {
  std::vector<std::uint8_t> packed;
  quant::RowFactors factors;
};
using Model = std::map<std::uint64_t, PlainRow>;

// What the ids of a test stand for. Strings: of all lengths, the empty one included; with `collide`
// five hashes in all, so that most look-ups meet strings of the same hash.
struct Names {
  IdKind kind = IdKind::number;
  bool collide = false;

  [[nodiscard]] static std::string text_of(std::uint64_t id);
  [[nodiscard]] static std::uint64_t id_of(std::string_view text);
  [[nodiscard]] std::uint64_t hash_of(std::string_view text) const;
  // Calls visit(key) with the key that the core knows the id by.
  template <class Visit>
  auto with_key(std::uint64_t id, Visit visit) const {
    if (kind == IdKind::number) return visit(id);
    const std::string text = text_of(id);
    return visit(segment::StringKey{text, hash_of(text)});
  }
};

// Reads a live row out of a version, one sign at a time.
[[nodiscard]] PlainRow read_row(const segment::Version& version, segment::Slot slot,
                                const quant::CodeLayout& layout);
[[nodiscard]] bool same_row(const PlainRow& a, const PlainRow& b);

// Compares everything that a version shows; `absent`: ids to look for beside the model's.
[[nodiscard]] testing::AssertionResult shows(const segment::Version& version, const Model& model,
                                             std::span<const std::uint64_t> absent,
                                             const quant::CodeLayout& layout,
                                             const Names& names = {});

class BuilderWorld {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  BuilderWorld(std::uint32_t dim, std::uint32_t bits, std::uint64_t memory_bytes_max = 0,
               const Names& names = {});
  BuilderWorld(const BuilderWorld&) = delete;
  BuilderWorld& operator=(const BuilderWorld&) = delete;
  ~BuilderWorld();

  // One transaction: `begin`, any number of edits, then `commit`.
  Status begin();
  // Rows with fresh random contents, each in place of the row with its id if there is one. Undoes
  // everything on a failure, or on purpose after `give_up_after` rows. An id may stand there twice.
  Status upsert(std::span<const std::uint64_t> ids, std::uint64_t give_up_after = kNever);
  // As many ids as are there; undoes everything on a failure, or on purpose.
  Status remove(std::span<const std::uint64_t> ids, std::uint64_t give_up_after = kNever);
  Status clear();
  // Publishes, or abandons what changed nothing. Whether a version was published.
  bool commit();
  // Gives the whole transaction up, whatever it changed.
  void abandon();

  // A slice of a compaction, as the engine does one: so many blocks at most, planning and showing
  // included. False: there is nothing (more) to do, or it was given up.
  bool compact(const segment::Compaction::Goal& goal, std::uint32_t blocks);

  // A transaction that moves strings. Whether there was something to do.
  bool move_strings(const segment::VersionBuilder::StringGoal& goal = {});

  // Pins the newest version together with its model.
  void pin();
  void unpin(std::size_t at);
  [[nodiscard]] std::size_t pinned() const { return pins_.size(); }
  [[nodiscard]] const segment::Version& pinned_version(std::size_t at) const {
    return *pins_[at].version;
  }
  std::uint64_t reclaim();

  // The version under construction answers as the model: live rows and find.
  [[nodiscard]] testing::AssertionResult working_state_is_right() const;
  [[nodiscard]] testing::AssertionResult newest_is_right() const;
  [[nodiscard]] testing::AssertionResult pinned_are_right() const;
  [[nodiscard]] std::int64_t unreached_bytes() const;

  [[nodiscard]] const segment::Version& newest() const;
  [[nodiscard]] segment::VersionBuilder& builder() { return builder_; }
  [[nodiscard]] segment::Compaction& compaction() { return compaction_; }
  [[nodiscard]] const quant::CodeLayout& layout() const { return layout_; }
  [[nodiscard]] const Model& model() const { return model_; }
  // Ids that any version may be asked for beside its own.
  std::vector<std::uint64_t> universe;
  Random random;

 private:
  struct Pinned {
    std::uint32_t slot;
    const segment::Version* version;
    Model model;
  };
  struct Replaced {
    std::uint64_t id;
    segment::Slot slot;  // invalid: nothing was replaced
  };

  [[nodiscard]] PlainRow random_row();
  void undo(std::span<const Replaced> replaced,
            const segment::VersionBuilder::Savepoint& savepoint);

  [[nodiscard]] segment::Slot find(std::uint64_t id) const;
  // Between transactions: chunks and counts of the newest version (strings.hpp I1 to I4).
  [[nodiscard]] testing::AssertionResult strings_are_right() const;

  Names names_;
  quant::CodeLayout layout_;
  sync::VersionRoot root_;
  sync::ReaderSlots slots_;
  segment::VersionBuilder builder_;
  segment::Compaction compaction_;
  sync::Reclaimer reclaimer_;
  Model model_;     // of the version under construction, else of the newest
  Model newest_;    // of the newest
  std::vector<Pinned> pins_;
};

}  // namespace vicinal::test
