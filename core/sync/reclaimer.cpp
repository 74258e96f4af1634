#include "sync/reclaimer.hpp"

#include "base/assert.hpp"

namespace vicinal::sync {

Reclaimer::~Reclaimer() {
  while (first_ != nullptr) {
    Versioned* object = first_;
    first_ = object->next;
    object->destroy(object);
  }
}

void Reclaimer::retire(Versioned* object, std::uint64_t retire) noexcept {
  VICINAL_ASSERT(object != nullptr && object->destroy != nullptr);
  VICINAL_ASSERT(object->birth < retire && object->retire == 0);
  object->retire = retire;
  object->next = first_;
  first_ = object;
  ++count_;
  bytes_.store(bytes_.load(relaxed) + object->bytes, relaxed);  // one writer
}

std::uint64_t Reclaimer::scan(const ReaderSlots& slots) noexcept {
  // Every pin is read once, before any object is freed. An idle index has none; what does not fit
  // the array is joined into a range that holds at least as much.
  constexpr std::uint32_t kPinsMax = 256;
  Pin pins[kPinsMax];
  std::uint32_t pin_count = 0;
  Pin overflow{Pin::Kind::idle, ~std::uint64_t{0}};
  slots.scan([&](std::uint32_t, Pin pin) {
    if (pin_count < kPinsMax) {
      pins[pin_count++] = pin;
    } else {
      overflow.kind = Pin::Kind::range;
      if (pin.number < overflow.number) overflow.number = pin.number;
    }
  });
  std::uint64_t freed = 0;
  std::uint64_t freed_bytes = 0;
  Versioned** link = &first_;
  while (*link != nullptr) {
    Versioned* object = *link;
    bool held = overflow.holds(object->birth, object->retire);
    for (std::uint32_t i = 0; i < pin_count && !held; ++i) {
      held = pins[i].holds(object->birth, object->retire);
    }
    if (held) {
      link = &object->next;
      continue;
    }
    *link = object->next;
    freed_bytes += object->bytes;
    ++freed;
    object->destroy(object);
  }
  VICINAL_ASSERT(freed <= count_);
  count_ -= freed;
  freed_bytes_ += freed_bytes;
  bytes_.store(bytes_.load(relaxed) - freed_bytes, relaxed);
  return freed;
}

}  // namespace vicinal::sync
