// A writer is stopped for ever before the i-th of its steps, for every i: its stores and
// read-modify-writes where atomics are counted, its allocations and releases everywhere. Searches
// go on, and another writer takes over: every write is applied and answered exactly once.
#include <gtest/gtest.h>

#include <algorithm>
#include <csetjmp>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/random.hpp"
#include "concurrency/engine_log.hpp"
#include "platform/realm.hpp"
#include "support/index_world.hpp"
#include "support/memory_hook.hpp"
#include "sync/atomic_counts.hpp"
#include "sync/versioned.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 8;
constexpr std::uint64_t kNoStop = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kBudgetUs = 60'000'000;
constexpr std::uint32_t kVictim = 7;
constexpr std::uint32_t kSecondVictim = 8;
constexpr std::uint32_t kSuccessor = 9;

// What dead writers lose is no fault here; how much it may be is checked by what the index says.
class LostMemory {
 public:
#ifdef __SANITIZE_ADDRESS__
  LostMemory() noexcept { __lsan_disable(); }
  ~LostMemory() { __lsan_enable(); }
#else
  LostMemory() noexcept {}
  ~LostMemory() {}
#endif
  LostMemory(const LostMemory&) = delete;
  LostMemory& operator=(const LostMemory&) = delete;
};

struct Stop {
  std::uint64_t steps_left;
  std::jmp_buf back;
};

void take_step(void* context) {
  auto* stop = static_cast<Stop*>(context);
  if (--stop->steps_left == 0) std::longjmp(stop->back, 1);
}

// Writes as that realm until nothing is left to do, or is stopped for ever when it has taken so
// many steps, which are counted down. Whether it was stopped.
bool write_as(Index& index, std::uint32_t realm, std::uint64_t& steps_left) {
  Stop stop{steps_left, {}};
  vicinal_set_realm(realm);
  const MemoryCallback callback(take_step, &stop);
  const bool stopped = setjmp(stop.back) != 0;
  if (!stopped) {
    sync::set_step_hook(take_step, &stop);
    while (index.pump(kBudgetUs) > 0) {
    }
  }
  sync::set_step_hook(nullptr, nullptr);
  vicinal_set_realm(0);
  steps_left = stop.steps_left;
  return stopped;
}

void write_all(Index& index) {
  std::uint64_t no_stop = kNoStop;
  EXPECT_FALSE(write_as(index, kSuccessor, no_stop));
}

// What an index holds, and how it was calibrated.
struct State {
  Contents contents;
  std::optional<std::uint64_t> calibration;
};

struct Outcome {
  Code code;
  std::uint64_t count;
};

Outcome apply_to(State& state, const Operation& operation) {
  std::uint64_t count = operation.ids.size();
  switch (operation.kind) {
    case WriteKind::add:
      for (const std::uint64_t id : operation.ids) {
        if (state.contents.contains(id)) return {Code::duplicate_id, 0};
      }
      [[fallthrough]];
    case WriteKind::upsert:
      for (const std::uint64_t id : operation.ids) state.contents[id] = operation.revision;
      return {Code::ok, count};
    case WriteKind::remove:
      count = 0;
      for (const std::uint64_t id : operation.ids) count += state.contents.erase(id);
      return {Code::ok, count};
    case WriteKind::clear:
      count = state.contents.size();
      state.contents.clear();
      return {Code::ok, count};
    case WriteKind::calibrate:
      state.calibration = operation.revision;
      return {Code::ok, 0};
    case WriteKind::compact:
      break;
  }
  return {Code::ok, 0};
}

// Writes of two queues that touch different ids, all submitted before somebody pumps.
struct Phase {
  std::vector<Operation> first;
  std::vector<Operation> second;
};

std::vector<Phase> phases() {
  using enum WriteKind;
  std::vector<Phase> all;
  // What was made before is emptied. `clear` is alone in its phase with what it commutes with.
  all.push_back({{{remove, ids_from(0, 5), 0}, {clear, {}, 0}, {calibrate, {}, 3}}, {}});
  all.push_back({{{add, ids_from(0, 150), 1}, {add, {200, 10}, 2}, {upsert, ids_from(100, 100), 3}},
                 {{add, ids_from(1000, 40), 4}, {remove, {1000, 1001, 1030, 5000}, 0}}});
  all.push_back({{{remove, ids_from(0, 120), 0}, {compact, {}, 0}, {add, ids_from(0, 3), 5}},
                 {{upsert, ids_from(990, 60), 6}}});
  all.push_back({{{compact, {}, 0}}, {}});
  all.push_back({{{remove, {777}, 0}, {upsert, {1, 1, 150}, 7}}, {{upsert, {1100}, 8}}});
  return all;
}

// Strings of many lengths in place of numbers.
std::string name_of(std::uint64_t id) { return std::to_string(id) + std::string(id % 41, '-'); }

IndexOptions options_of(IdKind ids) {
  IndexOptions options = small_options(kDim);
  options.ids = ids;
  return options;
}

// Strings as the numbers that they stand for.
std::vector<Hit> all_hits(Reader& reader) {
  SearchOptions options;
  options.k = 10'000;
  options.exhaustive = true;
  const Hits hits = reader.search(vector_of(4, kDim), options).value();
  std::vector<Hit> copy = copy_of(hits);
  for (std::size_t i = 0; i < hits.string_ids().size(); ++i) {
    const std::string name(hits.string_ids()[i]);
    copy[i].id = std::stoull(name);
    EXPECT_EQ(name, name_of(copy[i].id));
  }
  return copy;
}

std::vector<Hit> hits_of(const State& state) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  if (state.calibration) (void)calibrate(index, *state.calibration);
  add_all(index, state.contents);
  Reader reader = index.reader();
  return all_hits(reader);
}

class World {
 public:
  explicit World(IdKind ids)
      : strings_(ids == IdKind::string), index_(std::move(Index::create(options_of(ids))).value()) {
    for (const Phase& phase : phases()) apply_whole(phase);
    start_ = state_;
    start_hits_ = hits_of(start_);
  }

  // All phases, the writer stopped before its step `stop_before`, its successor, where it has one,
  // before `second`.
  // False when the writer came to the end.
  bool play(std::uint64_t stop_before, std::uint64_t second) {
    bool dead = false;
    Reader snapshot = index_.reader().snapshot();
    state_ = start_;
    std::uint32_t number = 0;
    for (const Phase& phase : phases()) {
      const State before = state_;
      submit(phase);
      if (!dead && write_as(index_, kVictim, stop_before)) {
        dead = true;
        take_answers();
        expect_a_state(number, phase, before);
        EXPECT_TRUE(equal_hits(all_hits(snapshot), start_hits_));
        bury(kVictim);
        if (write_as(index_, kSecondVictim, second)) {
          take_answers();
          expect_a_state(number, phase, before);
          bury(kSecondVictim);
        }
        take_answers();
        expect_a_state(number, phase, before);
      }
      write_all(index_);
      finish();
      const Prefix whole(phase.first.size(), phase.second.size());
      EXPECT_TRUE(equal_hits(all_hits(reader_), expected(number, whole, phase, before)));
      EXPECT_TRUE(equal_hits(all_hits(snapshot), start_hits_));
      ++number;
    }
    EXPECT_EQ(index_.stats().rows, state_.contents.size());
    return dead;
  }

  [[nodiscard]] Index& index() { return index_; }

 private:
  using Prefix = std::pair<std::size_t, std::size_t>;  // operations of each queue
  struct Waiting {
    PendingWrite write;
    Outcome outcome;
    bool exact;
    bool second;
  };

  void apply_whole(const Phase& phase) {
    submit(phase);
    write_all(index_);
    finish();
  }

  void submit(const Phase& phase) {
    for (const Operation& operation : phase.first) submit(first_, operation, false);
    for (const Operation& operation : phase.second) submit(second_, operation, true);
  }

  void submit(WriteQueue& queue, const Operation& operation, bool second) {
    const bool sample = operation.kind == WriteKind::calibrate;
    const std::uint64_t count = sample ? 40 : operation.ids.size();
    PendingWrite write = make(queue, operation, count);
    const std::vector<float> rows =
        sample ? rows_of(ids_from(0, count), kDim, 100'000 + operation.revision)
        : write.staging().empty() ? std::vector<float>()
                                  : rows_of(operation.ids, kDim, operation.revision);
    if (!rows.empty()) {
      EXPECT_TRUE(write.encode(0, rows).ok());
    }
    EXPECT_TRUE(queue.submit(write).ok());
    const Outcome outcome = apply_to(state_, operation);
    waiting_.push_back({std::move(write), outcome, operation.kind != WriteKind::compact, second});
  }

  PendingWrite make(WriteQueue& queue, const Operation& operation, std::uint64_t count) const {
    std::string text;
    std::vector<std::uint32_t> ends;
    for (const std::uint64_t id : operation.ids) {
      if (strings_) text += name_of(id);
      ends.push_back(static_cast<std::uint32_t>(text.size()));
    }
    PendingWrite write = std::move(queue.make(operation.kind, count, text.size())).value();
    if (strings_) {
      std::ranges::copy(text, write.text().begin());
      std::ranges::copy(ends, write.string_ends().begin());
    } else {
      std::ranges::copy(operation.ids, write.ids().begin());
    }
    return write;
  }

  // Every write has its outcome.
  void finish() {
    take_answers();
    EXPECT_TRUE(waiting_.empty());
    if (strings_) return;
    // What a dead writer left undone of the last commit, a later one has done.
    EXPECT_EQ(index_.remove({})->sequence, index_.stats().sequence);
  }

  // A producer frees what is done at once, whatever became of the writer.
  void take_answers() {
    std::erase_if(waiting_, [this](const Waiting& waiting) {
      if (!waiting.write.done()) return false;
      const auto result = waiting.write.result();
      EXPECT_EQ(result.code(), waiting.outcome.code);
      // A compaction may end later than what comes behind it.
      if (!result.ok() || !waiting.exact) return true;
      EXPECT_EQ(result->count, waiting.outcome.count);
      EXPECT_GE(result->sequence, sequence_[waiting.second]);
      EXPECT_LE(result->sequence, index_.stats().sequence);
      sequence_[waiting.second] = result->sequence;
      return true;
    });
  }

  void bury(std::uint32_t realm) {
    // Others' deaths prove nothing.
    index_.bury(realm + 100, true);
    const std::uint32_t before = index_.stats().writers_replaced;
    index_.bury(realm, true);
    EXPECT_LE(index_.stats().writers_replaced, before + 1);
  }

  // The index shows what some first writes of both queues come to, and its figures agree.
  void expect_a_state(std::uint32_t number, const Phase& phase, const State& before) {
    const std::vector<Hit> found = all_hits(reader_);
    for (std::size_t a = 0; a <= phase.first.size(); ++a) {
      for (std::size_t b = 0; b <= phase.second.size(); ++b) {
        if (equal_hits(found, expected(number, {a, b}, phase, before))) return;
      }
    }
    ADD_FAILURE() << "no state of phase " << number;
  }

  const std::vector<Hit>& expected(std::uint32_t number, Prefix prefix, const Phase& phase,
                                   const State& before) {
    const auto known = expected_.find({number, prefix});
    if (known != expected_.end()) return known->second;
    State state = before;
    for (std::size_t i = 0; i < prefix.first; ++i) apply_to(state, phase.first[i]);
    for (std::size_t i = 0; i < prefix.second; ++i) apply_to(state, phase.second[i]);
    return expected_[{number, prefix}] = hits_of(state);
  }

  bool strings_;
  Index index_;
  WriteQueue first_ = index_.write_queue();
  WriteQueue second_ = index_.write_queue();
  Reader reader_ = index_.reader();
  std::vector<Waiting> waiting_;
  std::uint64_t sequence_[2] = {0, 0};  // of the newest write of each queue that was answered
  State start_;
  State state_;
  std::vector<Hit> start_hits_;
  std::map<std::pair<std::uint32_t, Prefix>, std::vector<Hit>> expected_;
};

void stop_at_every_step(IdKind ids) {
  const LostMemory lost;
  const std::uint64_t objects_before = live_allocations();
  std::optional<World> world(std::in_place, ids);
  const Stats fresh = world->index().stats();
  EXPECT_EQ(fresh.writers_replaced, 0u);
  EXPECT_EQ(fresh.leaked_bytes, 0u);
  Random random(3);
  std::uint64_t step = 1;
  for (;; ++step) {
    SCOPED_TRACE("stopped before step " + std::to_string(step));
    // Every fourth successor dies, too, early enough to be mending still.
    if (!world->play(step, step % 4 == 0 ? 1 + random.below(150) : kNoStop)) break;
    ASSERT_FALSE(testing::Test::HasFailure());
    // What dead writers had is counted apart, and nothing else grows.
    ASSERT_LE(world->index().stats().total_bytes, 2 * fresh.total_bytes);
  }
  const Stats stats = world->index().stats();
  EXPECT_GT(step, 100u);
  EXPECT_GT(stats.writers_replaced, step / 2);
  world.reset();
  const std::uint64_t objects_lost = live_allocations() - objects_before;
  EXPECT_GT(objects_lost, 0u);
  EXPECT_GE(stats.leaked_bytes, objects_lost * sizeof(sync::Versioned));
}

TEST(TakeoverTest, FrozenAtEveryStepOfACommitSearchesFinishAndAnotherWriterTakesOver) {
  stop_at_every_step(IdKind::number);
}

TEST(TakeoverTest, FrozenAtEveryStepOfACommitWithStringsTheSame) {
  stop_at_every_step(IdKind::string);
}

// An index with rows, and writes that wait.
struct Waiting {
  explicit Waiting(std::uint64_t count = 100) {
    (void)index.add(ids_from(0, 50), rows_of(ids_from(0, 50), kDim));
    ids = ids_from(1000, count);
    PendingWrite add = std::move(queue.make(WriteKind::upsert, count)).value();
    std::ranges::copy(ids, add.ids().begin());
    (void)add.encode(0, rows_of(ids, kDim, 1));
    PendingWrite remove = std::move(queue.make(WriteKind::remove, 1)).value();
    remove.ids()[0] = 7;
    for (PendingWrite* write : {&add, &remove}) {
      (void)queue.submit(*write);
      writes.push_back(std::move(*write));
    }
  }

  [[nodiscard]] bool done() const { return writes[0].done() && writes[1].done(); }

  Index index = std::move(Index::create(small_options(kDim))).value();
  WriteQueue queue = index.write_queue();
  std::vector<std::uint64_t> ids;
  std::vector<PendingWrite> writes;
};

TEST(TakeoverTest, WithoutProofNothingIsTakenOver) {
  const LostMemory lost;
  Waiting world;
  std::uint64_t steps = 10;
  ASSERT_TRUE(write_as(world.index, kVictim, steps));
  for (const std::uint32_t realm : {kVictim - 1, kVictim + 1}) {
    world.index.bury(realm, true);
    write_all(world.index);
    EXPECT_FALSE(world.done());
    EXPECT_EQ(world.index.stats().writers_replaced, 0u);
  }
  EXPECT_EQ(world.index.stats().rows, 50u);
  world.index.bury(kVictim, true);
  EXPECT_EQ(world.index.stats().writers_replaced, 1u);
  write_all(world.index);
  EXPECT_TRUE(world.done());
  EXPECT_EQ(world.index.stats().rows, 149u);
  world.index.bury(kVictim, true);  // the same number again: another realm, which held nothing
  EXPECT_EQ(world.index.stats().writers_replaced, 1u);
}

TEST(TakeoverTest, AnIndexMayEndWhereItsWriterDied) {
  const LostMemory lost;
  for (std::uint64_t step = 1;; ++step) {
    Waiting world;
    std::uint64_t steps = step;
    if (!write_as(world.index, kVictim, steps)) break;
    world.index.bury(kVictim, true);
    if (step % 2 == 0) world.index.close();
    if (step % 3 == 0) write_all(world.index);
    if (step % 4 == 0) world.writes.clear();
  }
}

TEST(TakeoverTest, ACloseAnswersWhatADeadWriterHad) {
  const LostMemory lost;
  for (std::uint64_t step = 1;; ++step) {
    Waiting world;
    std::uint64_t steps = step;
    if (!write_as(world.index, kVictim, steps)) break;
    world.index.close();
    world.index.bury(kVictim, true);
    write_all(world.index);
    EXPECT_TRUE(world.done());
    for (const PendingWrite& write : world.writes) {
      const Code code = write.result().code();
      EXPECT_TRUE(code == Code::ok || code == Code::closed);
    }
  }
}

TEST(TakeoverTest, TakingOverNeedsNoMemory) {
  const LostMemory lost;
  for (std::uint64_t step = 1;; ++step) {
    Waiting world;
    std::uint64_t steps = step;
    if (!write_as(world.index, kVictim, steps)) break;
    world.index.bury(kVictim, true);
    {
      const FailingAllocations none(1, kNoStop);
      write_all(world.index);
    }
    // Published before the death, or refused.
    ASSERT_TRUE(world.done());
    const Code code = world.writes[0].result().code();
    EXPECT_TRUE(code == Code::ok || code == Code::full);
    EXPECT_TRUE(world.index.upsert(world.ids, rows_of(world.ids, kDim, 2)).ok());
    EXPECT_TRUE(world.index.remove(std::vector<std::uint64_t>{7}).ok());
    EXPECT_EQ(world.index.stats().rows, 149u);
  }
}

TEST(TakeoverTest, WhatACommitReplacesIsNotLostWithItsWriter) {
  const LostMemory lost;
  for (std::uint64_t step = 1;; ++step) {
    Index index = std::move(Index::create(small_options(kDim))).value();
    for (std::uint64_t first = 0; first < 700; first += 50) {
      ASSERT_TRUE(index.add(ids_from(first, 50), rows_of(ids_from(first, 50), kDim)).ok());
    }
    const Stats before = index.stats();
    ASSERT_GT(before.segments, 3u);
    WriteQueue queue = index.write_queue();
    PendingWrite clear = std::move(queue.make(WriteKind::clear, 0)).value();
    ASSERT_TRUE(queue.submit(clear).ok());
    std::uint64_t steps = step;
    if (!write_as(index, kVictim, steps)) break;
    index.bury(kVictim, true);
    write_all(index);
    ASSERT_TRUE(clear.done());
    // One segment at most: that which it was freeing.
    ASSERT_LT(index.stats().leaked_bytes, before.segment_bytes * 3 / 4) << step;
    EXPECT_EQ(index.stats().retired_bytes, 0u);
  }
}

TEST(TakeoverTest, AFirstCalibrationIsKnownWhereverItsWriterDied) {
  const LostMemory lost;
  for (std::uint64_t step = 1;; ++step) {
    Index index = std::move(Index::create(small_options(kDim))).value();
    WriteQueue queue = index.write_queue();
    PendingWrite write = std::move(queue.make(WriteKind::calibrate, 40)).value();
    ASSERT_TRUE(write.encode(0, rows_of(ids_from(0, 40), kDim)).ok());
    ASSERT_TRUE(queue.submit(write).ok());
    std::uint64_t steps = step;
    if (!write_as(index, kVictim, steps)) break;
    index.bury(kVictim, true);
    write_all(index);
    ASSERT_TRUE(write.done());
    EXPECT_TRUE(index.stats().calibrated);
    ASSERT_TRUE(index.add(ids_from(0, 5), rows_of(ids_from(0, 5), kDim)).ok()) << step;
  }
}

TEST(TakeoverTest, WhatIsLostCountsInTheMemoryBudget) {
  const LostMemory lost;
  IndexOptions options = small_options(kDim);
  options.memory_bytes_max = std::uint64_t{1} << 20;
  Index index = std::move(Index::create(options)).value();
  WriteQueue queue = index.write_queue();
  // A few allocations in: a segment, most of all.
  std::uint64_t deaths = 0;
  for (;; ++deaths) {
    ASSERT_LT(deaths, 10'000u);
    PendingWrite add = std::move(queue.make(WriteKind::upsert, 100)).value();
    std::ranges::copy(ids_from(0, 100), add.ids().begin());
    ASSERT_TRUE(add.encode(0, rows_of(ids_from(0, 100), kDim)).ok());
    ASSERT_TRUE(queue.submit(add).ok());
    std::uint64_t steps = 40;
    const bool dead = write_as(index, kVictim, steps);
    if (dead) index.bury(kVictim, true);
    write_all(index);
    ASSERT_TRUE(add.done());
    if (!add.result().ok()) {
      EXPECT_EQ(add.result().code(), Code::full);
      break;
    }
    (void)index.clear();
  }
  const Stats stats = index.stats();
  EXPECT_GT(deaths, 2u);
  EXPECT_GT(stats.leaked_bytes, options.memory_bytes_max / 2);
  EXPECT_LE(stats.leaked_bytes, options.memory_bytes_max);
}

}  // namespace
}  // namespace vicinal::test
