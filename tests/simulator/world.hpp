// Versions of a few parts under the real root, slots and reclaimer, for scenarios.
//
// Thread safety: commit and scan by one writer at a time; read by the owner of the slot.
// I1: a part or version that is freed ends for the simulator: whoever still reads it is caught, and
//     so is a free that the reads do not happen before.
#pragma once

#include <cstdint>

#include "simulator/simulation.hpp"
#include "sync/object_memory.hpp"
#include "sync/reader_slots.hpp"
#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"

namespace vicinal::sim {

inline constexpr std::uint32_t kParts = 2;

struct Part : sync::Versioned {
  sync::Plain<std::uint64_t> made_for;
};

struct Version : sync::VersionHeader {
  sync::Plain<std::uint64_t> number;
  Part* parts[kParts] = {};
};

struct World {
  sync::VersionRoot root;
  sync::ReaderSlots slots;
  sync::Reclaimer reclaimer;

  World() {
    for (Part*& part : newest_parts_) part = make_part(0);
    root.publish(make_version(0), [] {});
  }
  ~World() {
    for (Part* part : newest_parts_) part->destroy(part);
    newest()->destroy(newest());
  }

  // A version in which one part is new.
  void commit() {
    Version* before = newest();
    const std::uint64_t sequence = before->sequence + 1;
    Part*& place = newest_parts_[pick(kParts)];
    Part* replaced = place;
    place = make_part(sequence);
    root.publish(make_version(sequence), [&] {
      reclaimer.retire(replaced, sequence);
      reclaimer.retire(before, sequence);
    });
  }
  // By the successor of a writer that died.
  void recover() {
    root.recover();
    Version* version = newest();
    reclaimer.recover(version->sequence);
    const auto reset = [](sync::Versioned* object) {
      object->retire = 0;
      object->next.store(nullptr, sync::relaxed);
    };
    for (std::uint32_t i = 0; i < kParts; ++i) reset(newest_parts_[i] = version->parts[i]);
    reset(version);
  }
  void scan() { reclaimer.scan(slots); }

  // One search. Returns the sequence that it saw.
  std::uint64_t read(sync::ReaderSlot& slot) const {
    const auto& version = static_cast<const Version&>(*root.enter(slot));
    const std::uint64_t sequence = version.sequence;
    look_at(version);
    sync::VersionRoot::leave(slot);
    return sequence;
  }
  // Everything that the version reaches, under whatever pin holds it.
  static void look_at(const Version& version) {
    check(version.number == version.sequence, "a version is not what was published");
    for (const Part* part : version.parts) {
      check(part->made_for <= version.sequence, "a part is newer than its version");
    }
  }

 private:
  // The writer's: what readers see is const.
  [[nodiscard]] Version* newest() const {
    return const_cast<Version*>(static_cast<const Version*>(root.newest()));
  }
  static Part* make_part(std::uint64_t birth) {
    Part* part = sync::make_object<Part>(birth);
    part->made_for = birth;
    return part;
  }
  Version* make_version(std::uint64_t sequence) const {
    Version* version = sync::make_object<Version>(sequence);
    version->sequence = sequence;
    version->number = sequence;
    for (std::uint32_t i = 0; i < kParts; ++i) version->parts[i] = newest_parts_[i];
    return version;
  }

  Part* newest_parts_[kParts] = {};
};

}  // namespace vicinal::sim
