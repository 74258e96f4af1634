// Several producers at once, a writer that stands still, readers that come and go.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "engine_log.hpp"
#include "support/memory_hook.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 16;

Index make() { return std::move(Index::create(small_options(kDim))).value(); }

void expect_contents(const Index& index, const Contents& contents) {
  const Index expected = index_of(contents, index.options());
  Reader left = index.reader();
  Reader right = expected.reader();
  SearchOptions all;
  all.k = 100'000;
  const auto query = vector_of(3, kDim);
  EXPECT_TRUE(equal_hits(copy_of(*left.search(query, all)), copy_of(*right.search(query, all))));
}

// A producer's own ids, so that the order among producers does not matter.
Operation own_operation(std::uint64_t producer, std::uint64_t i, Random& random) {
  Operation operation{random.below(3) != 0 ? WriteKind::upsert : WriteKind::remove, {}, i};
  for (std::uint32_t n = 1 + random.below(12); n > 0; --n) {
    operation.ids.push_back(producer * 1000 + random.below(50));
  }
  return operation;
}

TEST(EngineWriters, ProducersThatWaitGetTheirReceiptsAndTheLastStateIsTheirs) {
  Index index = make();
  Contents contents[4];
  std::vector<std::thread> producers;
  for (std::uint64_t producer = 0; producer < 4; ++producer) {
    producers.emplace_back([&, producer] {
      Random random(producer);
      Reader reader = index.reader();
      std::uint64_t last = 0;
      for (std::uint64_t i = 0; i < scaled(150); ++i) {
        const Operation operation = own_operation(producer, i, random);
        const Contents before = contents[producer];
        apply(contents[producer], operation);
        const auto receipt = apply(index, operation);
        ASSERT_TRUE(receipt.ok());
        EXPECT_GE(receipt->sequence, last);
        last = receipt->sequence;
        EXPECT_GE(reader.sequence(), last);  // shown from the receipt on
        if (operation.kind == WriteKind::remove) {
          EXPECT_EQ(receipt->count, before.size() - contents[producer].size());
        }
        EXPECT_EQ(reader.has(operation.ids[0]), operation.kind == WriteKind::upsert);
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  Contents all;
  for (const Contents& some : contents) all.insert(some.begin(), some.end());
  expect_contents(index, all);
  EXPECT_EQ(index.try_stats()->ring_depth, 0u);
}

TEST(EngineWriters, QueuedWritesBesideWaitingOnesAreAllDoneInTheirOrder) {
  Index index = make();
  Contents contents[3];
  std::vector<std::thread> producers;
  for (std::uint64_t producer = 0; producer < 3; ++producer) {
    producers.emplace_back([&, producer] {
      Random random(producer + 50);
      WriteQueue queue = index.write_queue();
      std::vector<PendingWrite> writes;
      for (std::uint64_t i = 0; i < scaled(150); ++i) {
        const Operation operation = own_operation(producer, i, random);
        apply(contents[producer], operation);
        if (producer == 0) {
          ASSERT_TRUE(apply(index, operation).ok());
          continue;
        }
        PendingWrite write =
            std::move(queue.make(operation.kind, operation.ids.size())).value();
        std::copy(operation.ids.begin(), operation.ids.end(), write.ids().begin());
        if (operation.kind == WriteKind::upsert) {
          ASSERT_TRUE(write.encode(0, rows_of(operation.ids, kDim, i)).ok());
        }
        for (Status status = queue.submit(write); !status.ok(); status = queue.submit(write)) {
          ASSERT_EQ(status.code(), Code::busy);
          index.pump(100);
        }
        writes.push_back(std::move(write));
      }
      for (const PendingWrite& write : writes) {
        while (!write.done()) {
          if (index.pump(100) == 0) std::this_thread::yield();
        }
        EXPECT_TRUE(write.result().ok());
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  Contents all;
  for (const Contents& some : contents) all.insert(some.begin(), some.end());
  expect_contents(index, all);
  EXPECT_EQ(index.try_stats()->ring_depth, 0u);
}

// Three times what a ring holds from each of 8 producers, for one writer: a full ring is BUSY and
// named, and the producer waits for its oldest write.
TEST(EngineWriters, EightProducersOfMoreThanTheirRingsHoldAllLandInTheirOrder) {
  constexpr std::uint64_t kProducers = 8;
  constexpr std::uint64_t kRing = 64;
  const std::uint64_t writes_each = scaled(3 * kRing);
  Index index = make();
  sync::Atomic<std::uint32_t> stop;
  sync::Atomic<std::uint32_t> refused;
  std::vector<std::thread> producers;
  for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      WriteQueue queue = index.write_queue();
      std::vector<PendingWrite> writes;
      std::size_t oldest = 0;
      for (std::uint64_t i = 0; i < writes_each; ++i) {
        // The first id again and again: the last write in the order decides.
        const std::vector<std::uint64_t> ids = {producer * 1000, producer * 1000 + 1 + i};
        PendingWrite write = std::move(queue.make(WriteKind::upsert, 2)).value();
        std::copy(ids.begin(), ids.end(), write.ids().begin());
        ASSERT_TRUE(write.encode(0, rows_of(ids, kDim, i)).ok());
        for (Status status = queue.submit(write); !status.ok(); status = queue.submit(write)) {
          ASSERT_EQ(status.code(), Code::busy);
          ASSERT_EQ(status.a(), kRing);
          ASSERT_EQ(status.b(), kRing);
          refused.fetch_add(1, sync::relaxed);
          while (!writes[oldest].done()) std::this_thread::yield();
          ++oldest;
        }
        writes.push_back(std::move(write));
      }
      std::uint64_t last = 0;
      for (const PendingWrite& write : writes) {
        while (!write.done()) std::this_thread::yield();
        ASSERT_TRUE(write.result().ok());
        EXPECT_GE(write.result()->sequence, last);
        last = write.result()->sequence;
      }
    });
  }
  // Nobody works before a ring was full.
  while (refused.load(sync::relaxed) == 0) std::this_thread::yield();
  std::thread writer([&] {
    while (stop.load(sync::acquire) == 0) {
      if (index.pump(1000) == 0) std::this_thread::yield();
    }
  });
  for (std::thread& producer : producers) producer.join();
  stop.store(1, sync::release);
  writer.join();
  Contents all;
  for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
    for (std::uint64_t i = 0; i < writes_each; ++i) all[producer * 1000 + 1 + i] = i;
    all[producer * 1000] = writes_each - 1;
  }
  expect_contents(index, all);
}

std::uint32_t doorbell(const Index& index) {
  std::uint32_t value;
  std::memcpy(&value, index.doorbell(), sizeof value);
  return value;
}

TEST(EngineWriters, APumpThatWasRefusedHearsTheDoorbellAgainWhenItsWriteIsLeftBehind) {
  Index index = make();
  WriteQueue queue = index.write_queue();
  struct Context {
    Index& index;
    WriteQueue& queue;
    std::vector<PendingWrite> writes;
    std::uint32_t bell = 0;
    bool refused = false;
  } context{index, queue, {}};
  const auto submit_one_more = [](void* opaque) {
    auto& at = *static_cast<Context*>(opaque);
    if (at.writes.size() == 60) return;
    at.writes.push_back(std::move(at.queue.make(WriteKind::remove, 1)).value());
    at.writes.back().ids()[0] = 1'000'000;
    ASSERT_TRUE(at.queue.submit(at.writes.back()).ok());
    at.bell = doorbell(at.index);
    at.refused = at.index.pump(1000) == 0;
  };
  int left = 0;
  const auto ids = ids_from(0, 3);
  const auto rows = rows_of(ids, kDim);
  for (std::uint64_t i = 0; i < 300; ++i) {
    {
      const MemoryCallback callback(submit_one_more, &context);
      ASSERT_TRUE(index.upsert(ids, rows).ok());
    }
    for (const PendingWrite& write : context.writes) {
      // A pump that did something, and ran out of its time, is called again anyway.
      if (write.done() || !context.refused) continue;
      ++left;
      EXPECT_NE(doorbell(index), context.bell);
      break;
    }
    // Not until 0: that would free what is to be freed amid a commit.
    while (!context.writes.empty() && !context.writes.back().done()) index.pump(1000);
    context.writes.clear();
  }
  EXPECT_GT(left, 0);
}

TEST(EngineWriters, AWriterThatStandsStillAnywhereStopsNoSearch) {
  std::uint64_t stops = 0;
  for (std::uint64_t nth = 1; nth == stops + 1; ++nth) {
    Index index = make();
    const auto ids = ids_from(0, 200);
    ASSERT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
    const auto expected = copy_of(*index.reader().search(vector_of(1, kDim)));
    struct Gate {
      std::uint64_t countdown;
      sync::Atomic<std::uint32_t> stopped;
      sync::Atomic<std::uint32_t> open;
    } gate{nth, {}, {}};
    const auto stand_still = [](void* opaque) {
      auto& at = *static_cast<Gate*>(opaque);
      if (--at.countdown != 0) return;
      at.stopped.store(1, sync::release);
      while (at.open.load(sync::acquire) == 0) std::this_thread::yield();
    };
    std::thread writer([&] {
      const MemoryCallback callback(stand_still, &gate);
      EXPECT_TRUE(index.upsert(ids, rows_of(ids, kDim, 1)).ok());
      gate.stopped.store(1, sync::release);
    });
    while (gate.stopped.load(sync::acquire) == 0) std::this_thread::yield();
    Reader reader = index.reader();
    Snapshot snapshot = reader.snapshot();
    for (int i = 0; i < 20; ++i) {
      const auto hits = reader.search(vector_of(1, kDim));
      ASSERT_TRUE(hits.ok());
      EXPECT_EQ(hits->sequence() == 1, equal_hits(copy_of(*hits), expected));
      EXPECT_TRUE(reader.has(5) && snapshot.has(5));
      EXPECT_TRUE(reader.get(7).ok());
    }
    EXPECT_EQ(index.try_stats()->rows, 200u);
    gate.open.store(1, sync::release);
    writer.join();
    if (gate.countdown == 0 || gate.countdown > nth) stops = nth;
    EXPECT_EQ(reader.count().sequence, 2u);
  }
  EXPECT_GT(stops, 5u);
}

TEST(EngineWriters, AWriterThatStandsStillInACompactionStopsNoSearchAndChangesNoResult) {
  std::uint64_t stops = 0;
  for (std::uint64_t nth = 1; nth == stops + 1; ++nth) {
    Index index = make();
    const auto ids = ids_from(0, 300);
    for (std::uint64_t revision = 0; revision < 3; ++revision) {
      ASSERT_TRUE(index.upsert(ids, rows_of(ids, kDim, revision)).ok());
    }
    Reader reader = index.reader();
    Snapshot old = reader.snapshot();
    const auto expected = copy_of(*reader.search(vector_of(1, kDim)));
    struct Gate {
      std::uint64_t countdown;
      sync::Atomic<std::uint32_t> stopped;
      sync::Atomic<std::uint32_t> open;
    } gate{nth, {}, {}};
    const auto stand_still = [](void* opaque) {
      auto& at = *static_cast<Gate*>(opaque);
      if (--at.countdown != 0) return;
      at.stopped.store(1, sync::release);
      while (at.open.load(sync::acquire) == 0) std::this_thread::yield();
    };
    std::thread writer([&] {
      const MemoryCallback callback(stand_still, &gate);
      EXPECT_TRUE(index.compact().ok());
      gate.stopped.store(1, sync::release);
    });
    while (gate.stopped.load(sync::acquire) == 0) std::this_thread::yield();
    for (Reader* each : {&reader, &old}) {
      EXPECT_TRUE(equal_hits(copy_of(*each->search(vector_of(1, kDim))), expected));
      EXPECT_TRUE(each->has(5) && each->get(7).ok());
      EXPECT_EQ(each->size(), 300u);
    }
    gate.open.store(1, sync::release);
    writer.join();
    if (gate.countdown == 0 || gate.countdown > nth) stops = nth;
    EXPECT_EQ(index.try_stats()->dead, 0u);
    EXPECT_TRUE(equal_hits(copy_of(*old.search(vector_of(1, kDim))), expected));
  }
  EXPECT_GT(stops, 5u);
}

TEST(EngineWriters, AStormOfReadersAndSnapshotsGivesAllItsMemoryBack) {
  Index index = make();
  const auto ids = ids_from(0, 100);
  sync::Atomic<std::uint32_t> stop;
  std::vector<std::thread> readers;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    readers.emplace_back([&, seed] {
      Random random(seed);
      std::vector<Reader> held;
      while (stop.load(sync::acquire) == 0) {
        Reader reader = index.reader();
        ASSERT_TRUE(reader.search(vector_of(seed, kDim)).ok());
        held.push_back(held.empty() || random.below(2) == 0 ? reader.snapshot()
                                                            : held.back().snapshot());
        if (held.size() > 8) held.erase(held.begin() + random.below(8));
        Reader& any = held[random.below(held.size())];
        const auto count = any.count();
        ASSERT_EQ(any.search(vector_of(seed, kDim))->sequence(), count.sequence);
        ASSERT_EQ(count.rows, count.sequence == 0 ? 0u : 100u);
      }
    });
  }
  for (std::uint64_t i = 0; i < scaled(150); ++i) {
    ASSERT_TRUE(index.upsert(ids, rows_of(ids, kDim, i)).ok());
  }
  stop.store(1, sync::release);
  for (std::thread& reader : readers) reader.join();
  ASSERT_TRUE(index.upsert(ids, rows_of(ids, kDim)).ok());
  index.pump(0);
  EXPECT_EQ(index.try_stats()->retired_bytes, 0u);
  EXPECT_EQ(index.try_stats()->readers, 0u);
}

}  // namespace
}  // namespace vicinal::test
