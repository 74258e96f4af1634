#include "engine/in_hand.hpp"

#include "base/assert.hpp"
#include "platform/futex.hpp"

namespace vicinal::engine {

void InHand::enter(Message& message) noexcept {
  message.hand = this;
  message.next.store(nullptr, sync::relaxed);
  sync::Atomic<Message*>& link = last_ == nullptr ? first_ : last_->next;
  link.store(&message, sync::release);  // [in-hand] (k)
  last_ = &message;
}

Message* InHand::first_unplanned() const noexcept {
  Message* message = first();
  while (message != nullptr && message->planned.load(sync::relaxed) != 0) message = after(*message);
  return message;
}

bool InHand::has(const Message* message) const noexcept {
  for (const Message* entry = first(); entry != nullptr; entry = after(*entry)) {
    if (entry == message) return true;
  }
  return false;
}

void InHand::complete(Message& message) noexcept {
  const void* word = message.completion.address();
  completing_.store(&message, sync::release);  // [completing] (A)
  waking_.store(word, sync::release);          // [completing] (W)
  Message* before = nullptr;
  // Before it are only those that wait for a compaction (I3).
  for (Message* entry = first(); entry != &message; entry = after(*entry)) {
    VICINAL_ASSERT(entry != nullptr);
    before = entry;
  }
  if (last_ == &message) last_ = before;
  sync::Atomic<Message*>& link = before == nullptr ? first_ : before->next;
  link.store(after(message), sync::release);  // [in-hand] (B)
  message.completion.set();                   // [done] (C): may be another's memory after (D)
  completing_.store(nullptr, sync::release);  // [completing] (D)
  platform::futex_wake_all(word);
  waking_.store(nullptr, sync::release);  // [completing] (E)
}

bool InHand::recover() noexcept {
  last_ = nullptr;
  for (Message* entry = first(); entry != nullptr; entry = after(*entry)) last_ = entry;
  Message* message = completing_.load(sync::relaxed);
  bool completed = false;
  if (message != nullptr && !has(message)) {
    completed = !message->completion.done();
    if (completed) message->completion.set();  // (C)
  }
  completing_.store(nullptr, sync::release);  // [completing] (D)
  const void* word = waking_.load(sync::relaxed);
  if (word != nullptr) platform::futex_wake_all(word);
  waking_.store(nullptr, sync::release);  // [completing] (E)
  return completed;
}

bool InHand::let_go(Message& message) noexcept {
  // acquire [completing]: (D), the writer's last look at a message.
  if (completing_.load(sync::acquire) != &message) return true;
  Message* others = let_go_.load(sync::relaxed);
  do {
    message.next.store(others, sync::relaxed);
    // release [let-go]: the message is freed by who takes the list.
  } while (!let_go_.compare_exchange(others, &message, sync::release, sync::relaxed));
  return false;
}

void InHand::free_let_go() noexcept {
  if (let_go_.load(sync::relaxed) == nullptr) return;
  Message* message = let_go_.exchange(nullptr, sync::acquire);  // [let-go]
  while (message != nullptr) {
    Message* next = after(*message);
    Message::free_memory(message);
    message = next;
  }
}

}  // namespace vicinal::engine
