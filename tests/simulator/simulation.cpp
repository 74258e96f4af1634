#include "simulator/simulation.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/assert.hpp"
#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/memory.hpp"
#include "platform/realm.hpp"
#include "platform/thread.hpp"
#include "simulator/fibers.hpp"

namespace vicinal::sim {
namespace {

using sync::Order;
using sync::simulated::Change;
using sync::simulated::Place;

constexpr std::uint32_t kStepsMax = 20'000;

Fibers& fibers() {
  static Fibers all(kThreadsMax);
  return all;
}

// How a seed schedules: from changing at every second operation to long runs of one thread, from
// memory that is often old to memory that rarely is.
struct Manner {
  std::uint32_t switch_in;
  Weakness weakness;
  std::uint32_t wake_for_nothing_in;  // 0: never

  explicit Manner(Random& random) {
    constexpr std::array<std::uint32_t, 4> kSwitchIn = {2, 3, 6, 16};
    constexpr std::array<std::uint32_t, 4> kOldLoadIn = {2, 2, 4, 10};
    constexpr std::array<std::uint32_t, 2> kEarlyStoreIn = {3, 10};
    constexpr std::array<std::uint32_t, 3> kLateIn = {1, 2, 5};
    switch_in = kSwitchIn[random.below(kSwitchIn.size())];
    weakness.old_load_in = kOldLoadIn[random.below(kOldLoadIn.size())];
    weakness.late_seq_cst_in = kLateIn[random.below(kLateIn.size())];
    weakness.early_store_in = kEarlyStoreIn[random.below(kEarlyStoreIn.size())];
    wake_for_nothing_in = random.below(4) == 0 ? 8 : 0;
  }
};

class Simulation {
 public:
  explicit Simulation(const Request& request)
      : request_(request),
        random_(mix64(request.seed + 0x5eed)),
        manner_(random_),
        memory_(random_, manner_.weakness) {}
  ~Simulation() {
    for (const auto& [memory, bytes] : blocks_) std::free(memory);
  }

  Outcome play();

  ThreadId spawn(std::uint32_t steps, std::function<void()> body);
  void join(ThreadId thread);
  void join_all();
  void pause();
  [[noreturn]] void fail(const char* text);
  // The calling thread's next operation: perhaps others' first.
  void step();
  void wait(const void* word, std::uint32_t expected);
  void wake(const void* word);
  void* allocate(std::size_t bytes, std::size_t alignment);
  void release(void* memory);
  void let_waits_end() { waits_end_ = true; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] bool is_mortal() const { return threads_[self()].mortal; }

  // The orders of an operation in this run.
  [[nodiscard]] Orders orders_at(const Place& place, Kind kind, Orders written);
  void note(const Place& place, const char* what, Orders orders, const void* word,
            std::uint64_t value);
  void note(const std::string& line);
  [[nodiscard]] std::string shown(std::uint64_t value);

  [[nodiscard]] Memory& memory() { return memory_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] ThreadId self() const { return fibers().current(); }
  [[nodiscard]] bool with_schedule() const { return request_.with_schedule; }

 private:
  enum class State : std::uint8_t { ready, asleep, joining, ended };
  struct Thread {
    State state = State::ready;
    std::function<void()> body;
    std::uint32_t steps_left = 0;  // 0: never dies
    bool mortal = false;
    const void* word = nullptr;    // asleep on
    ThreadId target = 0;           // joining
  };

  static void entry();
  [[noreturn]] void end_thread();
  void give_way();
  // Somebody else who can go on, or kThreadsMax.
  [[nodiscard]] ThreadId another();
  void block(State state);

  const Request& request_;
  Random random_;
  Manner manner_;
  Memory memory_;
  std::vector<Thread> threads_;
  std::unordered_map<void*, std::size_t> blocks_;
  std::vector<std::uint64_t> addresses_;
  bool waits_end_ = false;
  std::uint32_t steps_ = 0;
  Outcome outcome_;
};

Simulation* current = nullptr;

Outcome Simulation::play() {
  current = this;
  threads_.reserve(kThreadsMax);
  threads_.emplace_back().body = request_.body;
  fibers().start(0, entry);
  fibers().enter(0);
  current = nullptr;
  return std::move(outcome_);
}

void Simulation::entry() {
  current->threads_[current->self()].body();
  current->end_thread();
}

void Simulation::end_thread() {
  const ThreadId self = this->self();
  if (self == 0) fibers().leave();  // the scenario is over
  threads_[self].state = State::ended;
  for (Thread& thread : threads_) {
    if (thread.state == State::joining && thread.target == self) thread.state = State::ready;
  }
  give_way();
  std::abort();
}

void Simulation::fail(const char* text) {
  outcome_.failed = true;
  outcome_.text = "thread " + std::to_string(self()) + ": " + text;
  current = nullptr;  // what a signal may say from here on is not about the run
  fibers().leave();
  std::abort();
}

ThreadId Simulation::another() {
  std::array<ThreadId, kThreadsMax> ready;
  std::uint32_t count = 0;
  for (ThreadId t = 0; t < threads_.size(); ++t) {
    if (t != self() && threads_[t].state == State::ready) ready[count++] = t;
  }
  return count == 0 ? kThreadsMax : ready[random_.below(count)];
}

void Simulation::give_way() {
  ThreadId next = another();
  if (next == kThreadsMax && waits_end_) {
    for (Thread& thread : threads_) {
      if (thread.state == State::asleep) thread.state = State::ready;
    }
    if (threads_[self()].state == State::ready) return;
    next = another();
  }
  if (next == kThreadsMax) fail("nobody can go on: a wake-up was lost");
  fibers().switch_to(next);
}

void Simulation::step() {
  if (++steps_ > kStepsMax) fail("no end in sight");
  Thread& thread = threads_[self()];
  if (thread.steps_left != 0 && --thread.steps_left == 0) end_thread();
  if (random_.below(manner_.switch_in) == 0) pause();
}

void Simulation::pause() {
  if (++steps_ > kStepsMax) fail("no end in sight");
  const ThreadId next = another();
  if (next != kThreadsMax) fibers().switch_to(next);
}

void Simulation::block(State state) {
  threads_[self()].state = state;
  give_way();
}

ThreadId Simulation::spawn(std::uint32_t steps, std::function<void()> body) {
  const auto number = static_cast<ThreadId>(threads_.size());
  VICINAL_ASSERT(number < kThreadsMax);
  memory_.start_thread(number, self());
  Thread& fresh = threads_.emplace_back();
  fresh.body = std::move(body);
  fresh.steps_left = steps;
  fresh.mortal = steps != 0;
  fibers().start(number, entry);
  return number;
}

void Simulation::join(ThreadId thread) {
  if (threads_[thread].state != State::ended) {
    threads_[self()].target = thread;
    block(State::joining);
  }
  memory_.join_thread(self(), thread);
}

void Simulation::join_all() {
  for (ThreadId t = 1; t < threads_.size(); ++t) {
    if (t != self()) join(t);
  }
}

void Simulation::wait(const void* word, std::uint32_t expected) {
  step();
  const std::uint64_t seen = memory_.compare_for_wait(self(), word);
  if (with_schedule()) {
    note("sleep while #" + std::to_string(memory_.number_of(word)) + " is " +
         std::to_string(expected) + ", which it is" + (seen == expected ? "" : " not"));
  }
  if (seen != expected) return;
  if (manner_.wake_for_nothing_in != 0 && random_.below(manner_.wake_for_nothing_in) == 0) return;
  threads_[self()].word = word;
  block(State::asleep);
}

void Simulation::wake(const void* word) {
  step();
  if (with_schedule()) note("wake #" + std::to_string(memory_.number_of(word)));
  memory_.note_wake(self(), word);
  for (Thread& thread : threads_) {
    if (thread.state == State::asleep && thread.word == word) thread.state = State::ready;
  }
}

void* Simulation::allocate(std::size_t bytes, std::size_t alignment) {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, bytes);
  VICINAL_ASSERT(memory != nullptr);
  blocks_.emplace(memory, bytes);
  return memory;
}

// What lies there is no word of ours, and no address that anybody may follow.
void Simulation::release(void* memory) {
  step();
  if (with_schedule()) note("release memory");
  const std::size_t bytes = blocks_.at(memory);
  memory_.end_range(self(), memory, bytes);
  std::memset(memory, 0xdb, bytes);
}

Orders Simulation::orders_at(const Place& place, Kind kind, Orders written) {
  const std::uint32_t site = sites().at(place, kind, written);
  const auto& mutation = request_.mutation;
  return mutation && mutation->site == site ? mutation->orders : written;
}

void Simulation::note(const std::string& line) {
  outcome_.schedule.push_back("thread " + std::to_string(self()) + ": " + line);
}

// Addresses differ from run to run: they get numbers.
std::string Simulation::shown(std::uint64_t value) {
  constexpr std::uint64_t kAddresses = std::uint64_t{1} << 32;
  if (value < kAddresses || value >= ~kAddresses) return std::to_string(value);
  const auto found = std::find(addresses_.begin(), addresses_.end(), value);
  const auto number = found - addresses_.begin();
  if (found == addresses_.end()) addresses_.push_back(value);
  return "address " + std::to_string(number);
}

void Simulation::note(const Place& place, const char* what, Orders orders, const void* word,
                      std::uint64_t value) {
  if (!with_schedule()) return;
  std::string file(place.file_name());
  file.erase(0, file.rfind('/') + 1);
  const bool both = std::string(what) == "compare_exchange";
  note(std::string(what) + " #" + std::to_string(memory_.number_of(word)) + " " +
       text_of(both ? Kind::compare_exchange : Kind::load, orders) + " = " + shown(value) +
       (memory_.last_was_old() ? ", an old value" : "") + "  (" + file +
       ":" + std::to_string(place.line()) + ")");
}

}  // namespace

namespace {

// A failed assertion ends the run, and so does an access by way of memory that was given back:
// what lay there is overwritten, hence no address.
void catch_failures() {
  set_assert_handler([](const char* expression, const char*, int) {
    if (current != nullptr) current->fail(expression);
  });
  static std::array<std::byte, 64 << 10> handler_stack;
  stack_t stack = {};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  VICINAL_ASSERT(sigaltstack(&stack, nullptr) == 0);
  struct sigaction action = {};
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  action.sa_handler = [](int signal) {
    if (current == nullptr) {
      ::signal(signal, SIG_DFL);
      return;  // and here it comes again
    }
    current->fail("an address that is none is followed");
  };
  for (const int signal : {SIGSEGV, SIGBUS}) {
    VICINAL_ASSERT(sigaction(signal, &action, nullptr) == 0);
  }
}

}  // namespace

Outcome run(const Request& request) {
  static const bool caught = (catch_failures(), true);
  VICINAL_ASSERT(caught);
  return Simulation(request).play();
}

void fail(const char* text) { current->fail(text); }
ThreadId spawn(std::function<void()> body) { return current->spawn(0, std::move(body)); }
ThreadId spawn_mortal(std::uint32_t steps, std::function<void()> body) {
  return current->spawn(steps, std::move(body));
}
void join(ThreadId thread) { current->join(thread); }
void join_all() { current->join_all(); }
void pause() { current->pause(); }
std::uint32_t pick(std::uint32_t bound) { return current->random().below(bound); }
void let_waits_end() { current->let_waits_end(); }
void* allocate(std::size_t bytes, std::size_t alignment) {
  return current->allocate(bytes, alignment);
}
void release(void* memory) { current->release(memory); }

}  // namespace vicinal::sim

namespace vicinal::sync::simulated {

using sim::current;
using sim::Kind;
using sim::Orders;

void create(void* word, std::uint64_t value) noexcept {
  current->memory().create(current->self(), word, value);
}

void destroy(void* word) noexcept { current->memory().destroy(current->self(), word); }

std::uint64_t load(const void* word, Order order, const Place& place) noexcept {
  current->step();
  const Orders orders = current->orders_at(place, Kind::load, {order, relaxed});
  const std::uint64_t value = current->memory().load(current->self(), word, orders.success);
  current->note(place, "load", orders, word, value);
  return value;
}

void store(void* word, std::uint64_t value, Order order, const Place& place) noexcept {
  current->step();
  const Orders orders = current->orders_at(place, Kind::store, {order, relaxed});
  current->memory().store(current->self(), word, value, orders.success);
  current->note(place, "store", orders, word, value);
}

std::uint64_t change(void* word, Change what, std::uint64_t operand, std::size_t bytes,
                     Order order, const Place& place) noexcept {
  current->step();
  const Orders orders = current->orders_at(place, Kind::change, {order, relaxed});
  const std::uint64_t before =
      current->memory().change(current->self(), word, what, operand, bytes, orders.success);
  current->note(place, "change", orders, word, before);
  return before;
}

bool compare_exchange(void* word, std::uint64_t& expected, std::uint64_t desired, Order success,
                      Order failure, const Place& place) noexcept {
  current->step();
  const Orders orders = current->orders_at(place, Kind::compare_exchange, {success, failure});
  const bool done = current->memory().compare_exchange(current->self(), word, expected, desired,
                                                       orders.success, orders.failure);
  current->note(place, "compare_exchange", orders, word, done ? desired : expected);
  return done;
}

void create_plain(const void* data) noexcept {
  current->memory().create_plain(current->self(), data);
}

void read_plain(const void* data, const Place&) noexcept {
  current->memory().read_plain(current->self(), data);
}

void write_plain(const void* data, const Place&) noexcept {
  current->memory().write_plain(current->self(), data);
}

}  // namespace vicinal::sync::simulated

// The platform's twin, as far as the simulated core calls it.
namespace vicinal::platform {

bool may_wait() noexcept { return true; }

void futex_wait(const void* word, std::uint32_t expected, std::uint64_t) noexcept {
  sim::current->wait(word, expected);
}

void futex_wake_all(const void* word) noexcept { sim::current->wake(word); }

std::uint32_t realm() noexcept { return sim::current->is_mortal() ? sim::kMortalRealm : 0; }

void* allocate(std::size_t bytes) noexcept { return sim::allocate(bytes); }

void release(void* memory) noexcept {
  if (memory != nullptr) sim::release(memory);
}

void* map_zeroed(std::size_t bytes) noexcept {
  void* memory = sim::allocate(bytes, 4096);
  std::memset(memory, 0, bytes);
  return memory;
}

void unmap(void* memory, std::size_t) noexcept { release(memory); }

// A microsecond for each operation.
std::uint64_t monotonic_ns() noexcept { return sim::current->steps() * 1000; }

std::uint64_t thread_cpu_ns() noexcept { return monotonic_ns(); }

std::uint32_t processors() noexcept { return sim::kThreadsMax; }

Thread::~Thread() { VICINAL_ASSERT(!started_); }

Status Thread::start(void (*run)(void*), void* argument) noexcept {
  handle_ = sim::spawn([=] { run(argument); });
  started_ = true;
  return {};
}

void Thread::join() noexcept {
  if (!started_) return;
  sim::join(static_cast<sim::ThreadId>(handle_));
  started_ = false;
}

}  // namespace vicinal::platform
