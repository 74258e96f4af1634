#include "sync/reader_slots.hpp"

#include <new>

#include "base/assert.hpp"

namespace vicinal::sync {

ReaderSlots::~ReaderSlots() {
  for (Atomic<Chunk*>& chunk : chunks_) delete chunk.load(relaxed);
}

Result<std::uint32_t> ReaderSlots::claim(std::uint32_t owner) noexcept {
  const std::uint32_t number = claims_.take();
  if (number == SlotClaims<kReaderSlotsMax>::kNone) {
    return Status(Code::busy, kReaderSlotsMax, kReaderSlotsMax);
  }
  // Slots are taken lowest first, so every chunk before this one is wanted too (I2).
  for (std::uint32_t c = 0; c <= number / kChunkSlots; ++c) {
    if (chunks_[c].load(seq_cst) != nullptr) continue;
    Chunk* fresh = new (std::nothrow) Chunk;
    if (fresh == nullptr) {
      claims_.give_back(number);
      return Status(Code::full);
    }
    Chunk* expected = nullptr;
    // seq_cst [chunk]: precedes the first announcement in this chunk in the one order.
    if (!chunks_[c].compare_exchange(expected, fresh, seq_cst, seq_cst)) delete fresh;
  }
  ReaderSlot& claimed = slot(number);
  VICINAL_ASSERT(claimed.pin.load(relaxed) == 0);
  claimed.owner.store(owner, relaxed);  // read after the owner's death only, through the proof
  return number;
}

void ReaderSlots::release_slot(std::uint32_t number) noexcept {
  VICINAL_ASSERT(claims_.taken(number));
  VICINAL_ASSERT(slot(number).pin.load(relaxed) == 0);
  slot(number).owner.store(0, relaxed);
  claims_.give_back(number);
}

void ReaderSlots::retire(std::uint32_t number, Afterwards afterwards) noexcept {
  VICINAL_ASSERT(claims_.taken(number));
  ReaderSlot& dead = slot(number);
  dead.pin.store(0, release);  // [pin] (i)
  dead.owner.store(0, relaxed);
  if (afterwards == Afterwards::reuse) {
    claims_.give_back(number);  // [claim] (g)
  } else {
    retired_.fetch_add(1, relaxed);
  }
}

std::uint32_t ReaderSlots::retire_owned(std::uint32_t owner, Afterwards afterwards) noexcept {
  VICINAL_ASSERT(owner != 0);
  std::uint32_t count = 0;
  for (std::uint32_t c = 0; c < kReaderSlotsMax / kChunkSlots; ++c) {
    Chunk* chunk = chunks_[c].load(acquire);  // [chunk]
    if (chunk == nullptr) break;
    for (std::uint32_t i = 0; i < kChunkSlots; ++i) {
      // Relaxed: the dead owner's own store happens before this by the proof, and nobody else
      // stores its number (I4).
      if (chunk->slots[i].owner.load(relaxed) != owner) continue;
      retire(c * kChunkSlots + i, afterwards);
      ++count;
    }
  }
  jobs_.retire(owner);
  return count;
}

ReaderSlot& ReaderSlots::slot(std::uint32_t number) noexcept {
  VICINAL_ASSERT(number < kReaderSlotsMax);
  Chunk* chunk = chunks_[number / kChunkSlots].load(acquire);
  VICINAL_ASSERT(chunk != nullptr);
  return chunk->slots[number % kChunkSlots];
}

bool ReaderSlots::searching(std::uint32_t limit) const noexcept {
  std::uint32_t found = 0;
  for (std::uint32_t c = 0; c < kReaderSlotsMax / kChunkSlots && found < limit; ++c) {
    const Chunk* chunk = chunks_[c].load(acquire);  // [chunk]
    if (chunk == nullptr) break;
    claims_.each_taken(c * kChunkSlots, kChunkSlots, [&](std::uint32_t number) {
      const Pin::Kind kind = Pin::of(chunk->slots[number % kChunkSlots].pin.load(relaxed)).kind;
      found += kind == Pin::Kind::range || kind == Pin::Kind::exact;
    });
  }
  return found >= limit;
}

std::uint64_t ReaderSlots::bytes() const noexcept {
  std::uint64_t total = sizeof *this;
  for (const Atomic<Chunk*>& chunk : chunks_) {
    if (chunk.load(acquire) != nullptr) total += sizeof(Chunk);
  }
  return total;
}

}  // namespace vicinal::sync
