// The whole engine: threads that add, replace and remove rows, wait for their writes or leave them
// to whoever pumps, and search at the same time.
//
// Its own data is not Plain: a race shows as a wrong answer, a failed assertion, or an access to
// memory that was given back, which is overwritten. Producers may sleep until the bound of their
// wait, as core.cpp says.
#include <vector>

#include "platform/futex.hpp"
#include "simulator/index.hpp"
#include "simulator/scenario.hpp"

namespace vicinal::sim {
namespace {

void add(Index& index, std::uint64_t id) {
  const Row row = row_of(id);
  check(index.add(std::span(&id, 1), row).ok(), "a row was not added");
}

// Refused when rows are there already.
bool calibrate(Index& index) {
  constexpr std::uint64_t kSampleRows = 32;
  std::vector<float> sample;
  for (std::uint64_t row = 0; row < kSampleRows; ++row) {
    for (const float x : row_of(row)) sample.push_back(x);
  }
  return index.calibrate(sample).ok();
}

void search(Reader& reader, std::uint64_t id, bool must_be_there) {
  const Row row = row_of(id);
  SearchOptions options;
  options.k = 1;
  const auto hits = reader.search(row, options);
  check(hits.ok(), "a search failed");
  const bool found = !hits->empty() && (*hits)[0].id == id;
  check(found || !must_be_there, "a row of ours is not found");
}

void engine() {
  let_waits_end();
  Index index = make_index();
  spawn([&] {
    add(index, 1);
    Reader reader = index.reader();
    search(reader, 1, true);
    const std::uint64_t id = 1;
    check(index.remove(std::span(&id, 1)).ok(), "a row was not removed");
    check(!reader.has(1), "a row that was removed is there");
  });
  spawn([&] {
    for (std::uint64_t id = 2; id < 4; ++id) add(index, id);
    Reader reader = index.reader();
    search(reader, 2, true);
    check(reader.has(3), "a row of ours is not there");
  });
  spawn([&] {
    Reader reader = index.reader();
    std::uint64_t before = 0;
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
      search(reader, 2, false);
      const Reader::Size size = reader.count();
      check(size.sequence >= before && size.rows <= 3, "a reader goes back in time");
      before = size.sequence;
    }
  });
  if (pick(2) == 0) spawn([&] { (void)calibrate(index); });
  spawn([&] { check(index.stats().rows <= 3, "the figures of another index"); });
  join_all();
  check(index.reader().size() == 2, "a row is lost");
}

const Scenario kEngine("engine", engine, kEngineCost);

// What JavaScript does with a word whose address it was told.
using Word = sync::Atomic<std::uint32_t>;
const Word& word_at(const void* address) { return *static_cast<const Word*>(address); }

// The loop of a thread that writes for others, until it is told and has nothing left.
void write_for_others(Index& index, const Word& ended) {
  const Word& bell = word_at(index.doorbell());
  for (;;) {
    const std::uint32_t seen = bell.load(sync::seq_cst);
    if (index.pump(1000) != 0) continue;
    if (ended.load(sync::acquire) != 0) return;
    platform::futex_wait(&bell, seen, 1000);
  }
}

// Writes that are left to the thread that writes, and one that its caller drives: no message is
// left behind and no wake-up is lost, so that no wait needs its bound.
void queues() {
  constexpr std::uint32_t kQueues = 2;
  Index index = make_index();
  Word ended;
  std::vector<ThreadId> producers;
  for (std::uint64_t id = 0; id < kQueues; ++id) {
    producers.push_back(spawn([&index, id] {
      WriteQueue queue = index.write_queue();
      auto write = queue.make(WriteKind::add, 1);
      check(write.ok(), "no message");
      write->ids()[0] = id;
      check(write->encode(0, row_of(id)).ok(), "not encoded");
      check(queue.submit(*write).ok(), "not submitted");
      while (!write->done()) platform::futex_wait(write->done_word(), 0, 1000);
      check(write->result().ok(), "not added");
      Reader reader = index.reader();
      search(reader, id, true);
    }));
  }
  const ThreadId writer = spawn([&] { write_for_others(index, ended); });
  if (pick(2) == 0) producers.push_back(spawn([&] { (void)index.pump(1000); }));
  for (const ThreadId producer : producers) join(producer);
  check(index.reader().size() == kQueues, "a row is lost");
  ended.store(1, sync::release);
  index.close();
  join(writer);
}

const Scenario kQueuesOfWrites("queues", queues, kEngineCost);

// A second writer that pumps dies at any step, also between its giving the role back and its look
// at what came meanwhile. The first one sleeps, and hears of it by the bell alone.
void bereaved() {
  Index index = make_index();
  Word ended;
  const ThreadId writer = spawn([&] { write_for_others(index, ended); });
  const ThreadId mortal = spawn_mortal(1 + pick(400), [&] {
    for (int i = 0; i < 3; ++i) (void)index.pump(1000);
  });
  const ThreadId producer = spawn([&] {
    WriteQueue queue = index.write_queue();
    auto write = queue.make(WriteKind::add, 1);
    check(write.ok(), "no message");
    write->ids()[0] = 1;
    check(write->encode(0, row_of(1)).ok(), "not encoded");
    check(queue.submit(*write).ok(), "not submitted");
    while (!write->done()) platform::futex_wait(write->done_word(), 0, 1000);
    check(write->result().ok(), "not added");
  });
  join(mortal);
  (void)index.bury(kMortalRealm, false);
  join(producer);
  ended.store(1, sync::release);
  index.close();
  join(writer);
}

const Scenario kBereaved("bereaved", bereaved, kEngineCost);

// One row is replaced until the sub-table of its id is rebuilt, another comes and goes, old
// versions are freed by whoever pumps, and a snapshot keeps its answers.
void versions() {
  constexpr int kReplacementsBefore = 11;  // a sub-table is rebuilt with 13 entries
  let_waits_end();
  Index index = make_index();
  const auto replace = [&](std::uint64_t id) {
    const Row row = row_of(id);
    check(index.upsert(std::span(&id, 1), row).ok(), "a row was not replaced");
  };
  if (pick(2) == 0) check(calibrate(index), "not calibrated");
  for (int i = 0; i < kReplacementsBefore; ++i) replace(1);
  spawn([&] {
    for (int i = 0; i < 3; ++i) replace(1);
  });
  spawn([&] {
    replace(2);
    (void)index.pump(0);
    const std::uint64_t id = 2;
    check(index.remove(std::span(&id, 1)).ok(), "a row was not removed");
    if (pick(2) == 0) (void)index.compact();
  });
  spawn([&] {
    Reader reader = index.reader();
    Reader snapshot = reader.snapshot();
    const Reader::Size then = snapshot.count();
    for (int i = 0; i < 3; ++i) {
      check(reader.has(1) && snapshot.has(1), "a row that is replaced is missing in between");
      search(snapshot, 2, snapshot.has(2));
      check(snapshot.count().rows == then.rows, "a snapshot changes");
      (void)index.pump(0);
    }
  });
  join_all();
  check(index.reader().size() == 1, "a row is lost, or there twice");
}

const Scenario kVersions("versions", versions, kEngineCost);

// A thread that writes for others dies at any step, and another goes on.
void replaced() {
  constexpr std::uint64_t kWrites = 2;
  Index index = make_index();
  if (pick(2) == 0) check(calibrate(index), "not calibrated");
  WriteQueue queue = index.write_queue();
  std::vector<PendingWrite> writes;
  const ThreadId mortal = spawn_mortal(1 + pick(300), [&] {
    for (int i = 0; i < 2; ++i) {
      while (index.pump(1000) != 0) {
      }
    }
  });
  spawn([&] {
    Reader reader = index.reader();
    for (int i = 0; i < 2; ++i) {
      search(reader, 1, false);
      check(reader.size() <= kWrites, "a row is there twice");
    }
  });
  for (std::uint64_t id = 0; id < kWrites; ++id) {
    auto write = queue.make(WriteKind::add, 1);
    check(write.ok(), "no message");
    write->ids()[0] = id;
    check(write->encode(0, row_of(id)).ok(), "not encoded");
    check(queue.submit(*write).ok(), "not submitted");
    writes.push_back(std::move(*write));
  }
  join(mortal);
  // What is done is its producer's, whatever became of the writer.
  std::erase_if(writes, [](const PendingWrite& write) {
    check(!write.done() || write.result().ok(), "not added");
    return write.done();
  });
  (void)index.bury(kMortalRealm, true);
  while (index.pump(1000) != 0) {
  }
  for (const PendingWrite& write : writes) check(write.result().ok(), "not added, or twice");
  join_all();
  check(index.reader().size() == kWrites, "a row is lost, or there twice");
}

const Scenario kReplaced("replaced", replaced, kEngineCost);

}  // namespace
}  // namespace vicinal::sim
