#include "sync/reader_slots.hpp"

#include <new>

#include "base/assert.hpp"

namespace vicinal::sync {

ReaderSlots::~ReaderSlots() {
  for (Atomic<Chunk*>& chunk : chunks_) delete chunk.load(relaxed);
}

Result<std::uint32_t> ReaderSlots::claim() noexcept {
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
  VICINAL_ASSERT(slot(number).pin.load(relaxed) == 0);
  return number;
}

void ReaderSlots::release_slot(std::uint32_t number) noexcept {
  VICINAL_ASSERT(claims_.taken(number));
  VICINAL_ASSERT(slot(number).pin.load(relaxed) == 0);
  claims_.give_back(number);
}

ReaderSlot& ReaderSlots::slot(std::uint32_t number) noexcept {
  VICINAL_ASSERT(number < kReaderSlotsMax);
  Chunk* chunk = chunks_[number / kChunkSlots].load(acquire);
  VICINAL_ASSERT(chunk != nullptr);
  return chunk->slots[number % kChunkSlots];
}

std::uint64_t ReaderSlots::bytes() const noexcept {
  std::uint64_t total = sizeof *this;
  for (const Atomic<Chunk*>& chunk : chunks_) {
    if (chunk.load(acquire) != nullptr) total += sizeof(Chunk);
  }
  return total;
}

}  // namespace vicinal::sync
