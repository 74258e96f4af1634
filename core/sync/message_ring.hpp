// A bounded queue of pointers from one producer to the writer.
//
// Thread safety: try_push by the lane's producer, peek, drop and try_pop by the holder of the
// writer's token, depth and pending from any thread.
// I1: one producer at a time, so no claim is shared and a producer that dies leaves no hole.
// I2: what the producer wrote before try_push happens before what the writer does after try_pop.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace vicinal::sync {

template <class T, std::uint32_t kCapacity>
class MessageRing {
 public:
  static_assert((kCapacity & (kCapacity - 1)) == 0);

  // False when the ring is full.
  [[nodiscard]] bool try_push(T* message) noexcept {
    const std::uint32_t tail = tail_.load(relaxed);  // ours
    if (tail - head_.load(acquire) == kCapacity) return false;  // [ring-free]
    slots_[tail % kCapacity] = message;
    // seq_cst [ring]: a release for the message, and ordered before the producer's try of the
    // writer's token, so that the holder who refuses it looks again (writer_token.hpp).
    tail_.store(tail + 1, seq_cst);
    return true;
  }

  // The oldest message, which stays in the ring; null when the ring is empty.
  [[nodiscard]] T* peek() const noexcept {
    const std::uint32_t head = head_.load(relaxed);  // the token's holder is alone
    if (head == tail_.load(acquire)) return nullptr;  // [ring]
    return slots_[head % kCapacity];
  }
  // The message that `peek` gave leaves the ring.
  void drop() noexcept {
    // release [ring-free]: the slot may be written again; and behind what the holder did to keep
    // the message from being lost with it.
    head_.store(head_.load(relaxed) + 1, release);
  }
  // Both at once; null when the ring is empty.
  [[nodiscard]] T* try_pop() noexcept {
    T* message = peek();
    if (message != nullptr) drop();
    return message;
  }

  // seq_cst [ring]: ordered after the release of the writer's token.
  [[nodiscard]] bool pending() const noexcept {
    return tail_.load(seq_cst) != head_.load(relaxed);
  }
  // A figure for statistics, 0..kCapacity.
  [[nodiscard]] std::uint32_t depth() const noexcept {
    // acquire [ring-free]: the head first, and what the writer saw when it stored it: the tail read
    // next is not behind this head. It may be a lap ahead, if the ring moved on in between.
    const std::uint32_t head = head_.load(acquire);
    const std::uint32_t depth = tail_.load(relaxed) - head;
    return depth < kCapacity ? depth : kCapacity;
  }

 private:
  alignas(128) Atomic<std::uint32_t> tail_;  // the producer stores
  alignas(128) Atomic<std::uint32_t> head_;  // the writer stores
  alignas(128) Plain<T*> slots_[kCapacity] = {};
};

}  // namespace vicinal::sync
