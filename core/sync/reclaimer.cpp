#include "sync/reclaimer.hpp"

#include "base/assert.hpp"

namespace vicinal::sync {

Reclaimer::~Reclaimer() {
  while (Versioned* object = first_.load(relaxed)) {
    first_.store(object->next.load(relaxed), relaxed);
    object->destroy(object);
  }
}

void Reclaimer::retire(Versioned* object, std::uint64_t retire) noexcept {
  VICINAL_ASSERT(object != nullptr && object->destroy != nullptr);
  VICINAL_ASSERT(object->birth < retire && object->retire == 0);
  object->retire = retire;
  object->next.store(first_.load(relaxed), relaxed);
  first_.store(object, release);  // [retired]: the object's retire and link
  ++count_;
  bytes_.store(bytes_.load(relaxed) + object->bytes, relaxed);  // one writer
}

void Reclaimer::recover(std::uint64_t newest) noexcept {
  // What the newest version still reaches. A retire of 0 is of a successor that died just here.
  Versioned* object = first_.load(relaxed);
  while (object != nullptr && (object->retire == 0 || object->retire > newest)) {
    object->retire = 0;
    first_.store(object->next.load(relaxed), release);  // [retired]: the 0
    object = first_.load(relaxed);
  }
  count_ = 0;
  std::uint64_t bytes = 0;
  for (; object != nullptr; object = object->next.load(relaxed)) {
    ++count_;
    bytes += object->bytes;
  }
  bytes_.store(bytes, relaxed);
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
  Atomic<Versioned*>* link = &first_;
  while (Versioned* object = link->load(relaxed)) {
    bool held = overflow.holds(object->birth, object->retire);
    for (std::uint32_t i = 0; i < pin_count && !held; ++i) {
      held = pins[i].holds(object->birth, object->retire);
    }
    if (held) {
      link = &object->next;
      continue;
    }
    const std::uint64_t bytes = object->bytes;
    link->store(object->next.load(relaxed), release);  // [retired]: before it is freed
    object->destroy(object);
    ++freed;
    freed_bytes_.store(freed_bytes_.load(relaxed) + bytes, release);  // I3
    bytes_.store(bytes_.load(relaxed) - bytes, relaxed);
  }
  VICINAL_ASSERT(freed <= count_);
  count_ -= freed;
  return freed;
}

}  // namespace vicinal::sync
