#include "simulator/memory.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "simulator/simulation.hpp"

namespace vicinal::sim {

using sync::Order;
using sync::simulated::Change;

void Clock::join(const Clock& other) noexcept {
  for (ThreadId t = 0; t < kThreadsMax; ++t) at[t] = std::max(at[t], other.at[t]);
}

bool Clock::covers(const Clock& other) const noexcept {
  for (ThreadId t = 0; t < kThreadsMax; ++t) {
    if (at[t] < other.at[t]) return false;
  }
  return true;
}

Clock Memory::now(ThreadId thread) const {
  Clock clock;
  clock.at[thread] = views_[thread].clock.at[thread];
  return clock;
}

// Words.

void Memory::create(ThreadId thread, const void* word, std::uint64_t value) {
  tick(thread);
  const auto number = static_cast<std::uint32_t>(words_.size());
  word_at_[word] = number;
  Word& fresh = words_.emplace_back();
  fresh.number = number;
  fresh.made = now(thread);
  fresh.messages.emplace_back().value = value;
  fresh.order.push_back(0);
}

void Memory::end(ThreadId thread, Word& word) {
  if (word.ended) return;
  const Clock& clock = views_[thread].clock;
  if (!clock.covers(word.made) || !clock.covers(word.accesses)) {
    fail("a word ends beside an access to it");
  }
  word.ended = true;
}

void Memory::destroy(ThreadId thread, const void* word) {
  tick(thread);
  const auto found = word_at_.find(word);
  if (found != word_at_.end()) end(thread, words_[found->second]);
}

Memory::Word& Memory::access(ThreadId thread, const void* address) {
  tick(thread);
  last_was_old_ = false;
  const auto found = word_at_.find(address);
  if (found == word_at_.end()) fail("a word that nobody made");
  Word& word = words_[found->second];
  if (word.ended) fail("a word that has ended is used");
  if (!views_[thread].clock.covers(word.made)) fail("a word is used beside its making");
  word.accesses.join(now(thread));
  return word;
}

Memory::Word& Memory::access(ThreadId thread, const void* address, Order order) {
  Word& word = access(thread, address);
  if (order == sync::seq_cst) settle_before(thread);
  return word;
}

std::uint32_t Memory::number_of(const void* word) const {
  const auto found = word_at_.find(word);
  return found == word_at_.end() ? ~std::uint32_t{0} : found->second;
}

std::uint32_t Memory::known(ThreadId thread, const Word& word) const {
  const std::vector<std::uint32_t>& seen = views_[thread].seen;
  return word.number < seen.size() ? seen[word.number] : 0;
}

std::uint32_t Memory::floor(ThreadId thread, const Word& word, Order order) const {
  const std::uint32_t position = word.messages[known(thread, word)].position;
  if (order != sync::seq_cst) return position;
  return std::max(position, word.messages[word.settled].position);
}

template <class Fits>
std::uint32_t Memory::choose(std::uint32_t from, std::uint32_t last, std::uint32_t one_in,
                             Fits fits) {
  if (from == last || random_.below(one_in) != 0) return last;
  const std::uint32_t earlier = from + random_.below(last - from);
  return fits(earlier) ? earlier : last;
}

bool Memory::followed_by_change(const Word& word, std::uint32_t position) const {
  return position + 1 < word.order.size() && word.messages[word.order[position + 1]].attached;
}

void Memory::see(ThreadId thread, const Word& word, std::uint32_t message) {
  std::vector<std::uint32_t>& seen = views_[thread].seen;
  if (seen.size() <= word.number) seen.resize(word.number + 1);
  seen[word.number] = message;
}

void Memory::join(View& view, const View& other) const {
  view.clock.join(other.clock);
  if (view.seen.size() < other.seen.size()) view.seen.resize(other.seen.size());
  for (std::size_t i = 0; i < other.seen.size(); ++i) {
    if (other.seen[i] == view.seen[i]) continue;
    const std::vector<Message>& messages = words_[i].messages;
    if (messages[view.seen[i]].position < messages[other.seen[i]].position) {
      view.seen[i] = other.seen[i];
    }
  }
}

const Memory::Message& Memory::read(ThreadId thread, Word& word, std::uint32_t position,
                                    Order order) {
  const std::uint32_t number = word.order[position];
  const Message& message = word.messages[number];
  see(thread, word, number);
  if (acquires(order) && message.has_view) join(views_[thread], message.view);
  if (order == sync::seq_cst) {
    settle_before(thread);  // what the view just joined comes before this, too
    settle(word, number);
  }
  last_was_old_ = position + 1 < word.order.size();
  return message;
}

void Memory::write(ThreadId thread, Word& word, std::uint32_t position, std::uint64_t value,
                   Order order, bool attached) {
  const auto number = static_cast<std::uint32_t>(word.messages.size());
  Message& message = word.messages.emplace_back();
  message.value = value;
  message.attached = attached;
  word.order.insert(word.order.begin() + position, number);
  for (std::size_t i = position; i < word.order.size(); ++i) {
    word.messages[word.order[i]].position = static_cast<std::uint32_t>(i);
  }
  see(thread, word, number);
  if (releases(order)) {
    message.has_view = true;
    message.view = views_[thread];
  }
  if (order != sync::seq_cst) return;
  if (random_.below(weakness_.late_seq_cst_in) == 0) {
    late_.push_back({now(thread), word.number, number});
  } else {
    settle(word, number);
  }
}

void Memory::settle(Word& word, std::uint32_t message) {
  if (word.messages[word.settled].position < word.messages[message].position) {
    word.settled = message;
  }
  const std::uint32_t last = word.messages[word.settled].position;
  std::erase_if(late_, [&](const Late& late) {
    return late.word == word.number && word.messages[late.message].position <= last;
  });
}

void Memory::settle_before(ThreadId thread) {
  for (std::size_t i = 0; i < late_.size();) {
    const Late late = late_[i];
    if (views_[thread].clock.covers(late.stored)) {
      settle(words_[late.word], late.message);
      i = 0;
    } else {
      ++i;
    }
  }
}

std::uint64_t Memory::load(ThreadId thread, const void* address, Order order) {
  Word& word = access(thread, address, order);
  const auto last = static_cast<std::uint32_t>(word.order.size() - 1);
  const std::uint32_t position = choose(floor(thread, word, order), last, weakness_.old_load_in,
                                        [](std::uint32_t) { return true; });
  return read(thread, word, position, order).value;
}

void Memory::store(ThreadId thread, const void* address, std::uint64_t value, Order order) {
  Word& word = access(thread, address, order);
  const auto last = static_cast<std::uint32_t>(word.order.size() - 1);
  const std::uint32_t after =
      choose(floor(thread, word, order), last, weakness_.early_store_in,
             [&](std::uint32_t position) { return !followed_by_change(word, position); });
  write(thread, word, after + 1, value, order, false);
}

// A read-modify-write that replaces the message at `position`.
void Memory::replace(ThreadId thread, Word& word, std::uint32_t position, std::uint64_t value,
                     Order order) {
  const std::uint32_t replaced = word.order[position];
  (void)read(thread, word, position, order);
  write(thread, word, position + 1, value, order, true);
  const Message& before = word.messages[replaced];
  if (!before.has_view) return;
  Message& message = word.messages.back();
  message.has_view = true;
  join(message.view, before.view);
}

std::uint64_t Memory::change(ThreadId thread, const void* address, Change what,
                             std::uint64_t operand, std::size_t bytes, Order order) {
  Word& word = access(thread, address, order);
  const auto last = static_cast<std::uint32_t>(word.order.size() - 1);
  const std::uint32_t position =
      choose(floor(thread, word, order), last, weakness_.early_store_in,
             [&](std::uint32_t at) { return !followed_by_change(word, at); });
  const std::uint64_t before = word.messages[word.order[position]].value;
  std::uint64_t after = operand;
  switch (what) {
    case Change::exchange: break;
    case Change::add: after = before + operand; break;
    case Change::subtract: after = before - operand; break;
    case Change::bit_or: after = before | operand; break;
    case Change::bit_and: after = before & operand; break;
  }
  if (bytes < sizeof after) after &= (std::uint64_t{1} << 8 * bytes) - 1;
  replace(thread, word, position, after, order);
  return before;
}

bool Memory::compare_exchange(ThreadId thread, const void* address, std::uint64_t& expected,
                              std::uint64_t desired, Order success, Order failure) {
  Word& word = access(thread, address, success);
  if (failure == sync::seq_cst) settle_before(thread);
  const auto value = [&](std::uint32_t at) { return word.messages[word.order[at]].value; };
  const auto last = static_cast<std::uint32_t>(word.order.size() - 1);
  const std::uint32_t from = floor(thread, word, sync::relaxed);
  const std::uint32_t position = choose(from, last, weakness_.old_load_in, [&](std::uint32_t at) {
    // One that has the value expected may only be read by replacing it.
    if (value(at) == expected) {
      return !followed_by_change(word, at) && at >= floor(thread, word, success);
    }
    return at >= floor(thread, word, failure);
  });
  if (value(position) == expected) {
    replace(thread, word, position, desired, success);
    return true;
  }
  expected = read(thread, word, position, failure).value;
  return false;
}

std::uint64_t Memory::compare_for_wait(ThreadId thread, const void* address) {
  Word& word = access(thread, address);
  const auto last = static_cast<std::uint32_t>(word.order.size() - 1);
  const std::uint32_t from =
      std::max(floor(thread, word, sync::relaxed), word.messages[word.wake_seen].position);
  const std::uint32_t position =
      choose(from, last, weakness_.old_load_in, [](std::uint32_t) { return true; });
  return word.messages[word.order[position]].value;
}

// The word may have ended: a wake uses its address only.
void Memory::note_wake(ThreadId thread, const void* address) {
  const auto found = word_at_.find(address);
  if (found == word_at_.end()) return;
  Word& word = words_[found->second];
  const std::uint32_t knows = known(thread, word);
  if (word.messages[word.wake_seen].position < word.messages[knows].position) {
    word.wake_seen = knows;
  }
}

// Plain data.

void Memory::create_plain(ThreadId thread, const void* data) {
  tick(thread);
  PlainData& fresh = plain_at_[data];
  fresh = PlainData{};
  fresh.written = now(thread);
}

Memory::PlainData& Memory::access_plain(ThreadId thread, const void* address) {
  tick(thread);
  PlainData& data = plain_at_[address];  // what was only noted begins with its first access
  if (data.ended) fail("plain data is used after its end");
  if (!views_[thread].clock.covers(data.written)) fail("plain data is used beside a write to it");
  return data;
}

void Memory::read_plain(ThreadId thread, const void* address) {
  access_plain(thread, address).read.join(now(thread));
}

void Memory::write_plain(ThreadId thread, const void* address) {
  PlainData& data = access_plain(thread, address);
  if (!views_[thread].clock.covers(data.read)) fail("plain data is written beside a read of it");
  data.written = now(thread);
  data.read = Clock{};
}

void Memory::end_range(ThreadId thread, const void* begin, std::size_t bytes) {
  tick(thread);
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const auto inside = [&](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) - first < bytes;
  };
  for (const auto& [address, number] : word_at_) {
    if (inside(address)) end(thread, words_[number]);
  }
  for (auto& [address, data] : plain_at_) {
    if (!inside(address) || data.ended) continue;
    const Clock& clock = views_[thread].clock;
    if (!clock.covers(data.written) || !clock.covers(data.read)) {
      fail("plain data ends beside an access to it");
    }
    data.ended = true;
  }
}

// Threads.

void Memory::start_thread(ThreadId thread, ThreadId parent) {
  tick(parent);
  views_[thread] = views_[parent];
}

void Memory::join_thread(ThreadId thread, ThreadId ended) { join(views_[thread], views_[ended]); }

}  // namespace vicinal::sim
