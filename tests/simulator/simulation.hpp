// One run of a scenario: its threads are fibers, every atomic operation may be where the next one
// goes on, and one seed decides everything.
//
// Thread safety: one run at a time, in one thread.
// I1: a run depends on scenario, seed and mutation alone, so that each can be run again.
// I2: a sleeper is woken by a wake or, in some seeds, for no reason; the bound of its wait does not
//     end it, unless the scenario says that bounds are part of what it looks at. A run in which
//     nobody can go on has failed: a wake-up was lost.
// I3: a run that fails is abandoned where it stands. What its fibers hold is not ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/memory.hpp"
#include "simulator/sites.hpp"

namespace vicinal::sim {

struct Outcome {
  bool failed = false;
  std::string text;                   // what went wrong, and in which thread
  std::vector<std::string> schedule;  // one line an operation, when asked for
};

struct Request {
  void (*body)() = nullptr;  // the first thread
  std::uint64_t seed = 1;
  std::optional<Mutation> mutation = std::nullopt;
  bool with_schedule = false;
};

[[nodiscard]] Outcome run(const Request& request);

// What follows is for the threads of a run.

[[noreturn]] void fail(const char* text);
inline void check(bool good, const char* text) {
  if (!good) fail(text);
}

ThreadId spawn(std::function<void()> body);
// The realm of mortal threads, to the core; others have none.
inline constexpr std::uint32_t kMortalRealm = 7;
// The same for a thread that stops for ever at its `steps`-th operation, if it gets there.
ThreadId spawn_mortal(std::uint32_t steps, std::function<void()> body);
void join(ThreadId thread);
void join_all();
// Waits end at their bounds from now on, when nobody else can go on.
void let_waits_end();
// Another thread's turn, for loops that wait without sleeping.
void pause();
// 0..bound - 1, of the seed.
[[nodiscard]] std::uint32_t pick(std::uint32_t bound);

// Memory that whoever uses it after its end is caught with: it is not handed out again in this run.
[[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 128);
void release(void* memory);

template <class T, class... Arguments>
[[nodiscard]] T* make(Arguments&&... arguments) {
  return new (allocate(sizeof(T))) T(std::forward<Arguments>(arguments)...);
}
// Ends what `make` made. The words and the plain data in it end, too.
template <class T>
void end(T* object) {
  object->~T();
  release(object);
}

}  // namespace vicinal::sim
