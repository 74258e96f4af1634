// Large writes that land in parts: what is shown together, what stays at an error.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "support/index_world.hpp"
#include "sync/atomic.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::test {
namespace {

// The most coordinates that a row may have: 64 rows are a part.
constexpr std::uint32_t kDim = kDimMax;
constexpr std::uint64_t kPart = 64;
constexpr std::uint64_t kRows = 2 * kPart + 8;

Index make(std::uint64_t memory_bytes_max = 0) {
  IndexOptions options = small_options(kDim);
  options.memory_bytes_max = memory_bytes_max;
  return std::move(Index::create(options)).value();
}

// Mostly zeros, which cost little to encode.
std::vector<float> some_rows(std::uint64_t revision) {
  std::vector<float> rows(kRows * kDim);
  for (std::uint64_t i = revision; i < kRows; i += 16) {
    const auto row = vector_of(i * 1000 + revision, kDim);
    std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * kDim));
  }
  return rows;
}

struct Batch {
  std::vector<std::uint64_t> ids = ids_from(0, kRows);
  std::vector<float> rows = some_rows(0);
};

const Batch& batch() {
  static const Batch made;
  return made;
}

WriteOptions in_parts(Receipt* landed = nullptr) {
  WriteOptions options;
  options.atomic = false;
  options.landed = landed;
  return options;
}

void expect_equal(const Index& index, const Index& expected) {
  Reader left = index.reader();
  Reader right = expected.reader();
  SearchOptions all;
  all.k = 10 * kRows;
  const auto query = vector_of(99, kDim);
  EXPECT_TRUE(equal_hits(copy_of(*left.search(query, all)), copy_of(*right.search(query, all))));
}

TEST(Parts, EachPartIsOneVersionAndTheReceiptTellsTheLastAndAll) {
  Index index = make();
  Index whole = make();
  Receipt landed;
  const auto receipt = index.add(batch().ids, batch().rows, in_parts(&landed));
  ASSERT_TRUE(receipt.ok());
  EXPECT_EQ(receipt->sequence, 3u);
  EXPECT_EQ(receipt->count, kRows);
  EXPECT_EQ(landed.sequence, receipt->sequence);
  EXPECT_EQ(landed.count, receipt->count);
  // By default: one version.
  ASSERT_EQ(whole.add(batch().ids, batch().rows)->sequence, 1u);
  expect_equal(index, whole);

  const auto others = some_rows(1);
  EXPECT_EQ(index.upsert(batch().ids, others, in_parts())->sequence, 6u);
  ASSERT_TRUE(whole.upsert(batch().ids, others).ok());
  expect_equal(index, whole);
}

TEST(Parts, ASearchBesideThemSeesWholePartsOnly) {
  Index index = make();
  std::vector<Snapshot> seen;
  sync::Atomic<std::uint32_t> ready;
  sync::Atomic<std::uint32_t> stop;
  std::thread watcher([&] {
    Reader reader = index.reader();
    ready.store(1, sync::release);
    std::uint64_t last = 0;
    while (stop.load(sync::acquire) == 0) {
      const auto now = reader.count();
      EXPECT_EQ(now.rows, std::min(kRows, now.sequence * kPart));
      if (now.sequence == last) continue;
      EXPECT_GT(now.sequence, last);
      last = now.sequence;
      seen.push_back(reader.snapshot());
    }
  });
  while (ready.load(sync::acquire) == 0) std::this_thread::yield();
  ASSERT_TRUE(index.add(batch().ids, batch().rows, in_parts()).ok());
  stop.store(1, sync::release);
  watcher.join();
  for (Snapshot& version : seen) {
    for (std::uint64_t id = 0; id < kRows; ++id) EXPECT_EQ(version.has(id), id < version.size());
  }
}

TEST(Parts, AtAnErrorThePartsBeforeItStayAndNoneBehindIsTried) {
  Receipt landed;
  {
    Index index = make();
    auto ids = batch().ids;
    ids[100] = 3;  // of the first part
    const auto receipt = index.add(ids, batch().rows, in_parts(&landed));
    EXPECT_EQ(receipt.code(), Code::duplicate_id);
    EXPECT_EQ(receipt.status().a(), 3u);
    EXPECT_EQ(landed.sequence, 1u);
    EXPECT_EQ(landed.count, kPart);
    EXPECT_EQ(index.reader().size(), kPart);
    EXPECT_EQ(index.reader().sequence(), 1u);
    // As a whole: nothing.
    Index whole = make();
    WriteOptions options;
    options.landed = &landed;
    EXPECT_EQ(whole.add(ids, batch().rows, options).code(), Code::duplicate_id);
    EXPECT_EQ(landed.sequence + landed.count + whole.reader().size(), 0u);
  }
  {
    Index index = make();
    auto rows = batch().rows;
    rows[130 * kDim + 5] = std::numeric_limits<float>::quiet_NaN();
    const auto receipt = index.upsert(batch().ids, rows, in_parts(&landed));
    EXPECT_EQ(receipt.code(), Code::not_finite);
    EXPECT_EQ(receipt.status().a(), 130u);
    EXPECT_EQ(receipt.status().b(), 5u);
    EXPECT_EQ(landed.sequence, 2u);
    EXPECT_EQ(landed.count, 2 * kPart);
    EXPECT_EQ(index.reader().size(), 2 * kPart);
  }
  {
    Index index = make();
    landed = {7, 7};
    EXPECT_EQ(index.add(batch().ids, std::span(batch().rows).first(kDim), in_parts(&landed)).code(),
              Code::dimension);
    EXPECT_EQ(landed.sequence + landed.count, 0u);
    index.close();
    EXPECT_EQ(index.add(batch().ids, batch().rows, in_parts(&landed)).code(), Code::closed);
  }
}

TEST(Parts, WhatDoesNotFitLeavesThePartsThatDid) {
  bool whole = false;
  std::set<std::uint64_t> seen;
  for (std::uint64_t bytes = 1 << 18; bytes < (1 << 26) && !whole; bytes += 1 << 18) {
    Index index = make(bytes);
    Receipt landed;
    const auto receipt = index.add(batch().ids, batch().rows, in_parts(&landed));
    whole = receipt.ok();
    if (!whole) {
      ASSERT_EQ(receipt.code(), Code::full);
      ASSERT_EQ(landed.count % kPart, 0u);
    }
    ASSERT_EQ(landed.count, index.reader().size());
    ASSERT_EQ(landed.sequence, index.reader().sequence());
    seen.insert(landed.count);
  }
  EXPECT_TRUE(whole);
  EXPECT_GE(seen.size(), 3u);  // none, some, all
}

// As a page lends its rows to the encoder's worker.
TEST(LentRows, RowsEncodedByOtherThreadsComeToTheSameBytes) {
  constexpr std::uint32_t kSmallDim = 48;
  constexpr std::uint64_t kCount = 600;
  const auto ids = ids_from(0, kCount);
  const auto rows = rows_of(ids, kSmallDim);
  Index expected = std::move(Index::create(small_options(kSmallDim, Metric::l2))).value();
  ASSERT_TRUE(expected.calibrate(std::span(rows).first(100 * kSmallDim)).ok());
  ASSERT_TRUE(expected.add(ids, rows).ok());
  Index index = std::move(Index::create(small_options(kSmallDim, Metric::l2))).value();
  ASSERT_TRUE(index.calibrate(std::span(rows).first(100 * kSmallDim)).ok());
  WriteQueue queue = index.write_queue();
  PendingWrite write = std::move(queue.make(WriteKind::add, kCount)).value();
  std::copy(ids.begin(), ids.end(), write.ids().begin());
  std::vector<std::thread> encoders;
  for (std::uint64_t first = 0; first < kCount; first += 200) {
    encoders.emplace_back([&, first] {
      const auto mine = std::span(rows).subspan(first * kSmallDim, 200 * kSmallDim);
      EXPECT_TRUE(write.encode_apart(first, mine).ok());
    });
  }
  for (std::thread& encoder : encoders) encoder.join();
  // Rows that were not counted may not be there.
  EXPECT_EQ(queue.submit(write).code(), Code::bad_option);
  write.count_encoded(kCount);
  ASSERT_TRUE(queue.submit(write).ok());
  while (!write.done()) index.pump(1000);
  ASSERT_TRUE(write.result().ok());
  EXPECT_EQ(*index.to_bytes(), *expected.to_bytes());
}

TEST(LentRows, WhatDoesNotFitIsRefusedAndABadRowNamed) {
  Index index = std::move(Index::create(small_options(4))).value();
  WriteQueue queue = index.write_queue();
  const PendingWrite write = std::move(queue.make(WriteKind::add, 3)).value();
  std::vector<float> rows(12, 1.0f);
  EXPECT_EQ(write.encode_apart(1, rows).code(), Code::bad_option);
  EXPECT_EQ(write.encode_apart(4, {}).code(), Code::bad_option);
  EXPECT_EQ(write.encode_apart(0, std::span(rows).first(5)).code(), Code::dimension);
  rows[6] = std::numeric_limits<float>::infinity();
  const Status bad = write.encode_apart(1, std::span(rows).first(8));
  EXPECT_EQ(bad.code(), Code::not_finite);
  EXPECT_EQ(bad.a(), 2u);
  EXPECT_EQ(bad.b(), 2u);
  const PendingWrite removal = std::move(queue.make(WriteKind::remove, 3)).value();
  EXPECT_EQ(removal.encode_apart(0, rows).code(), Code::bad_option);
}

TEST(Parts, ARemovalLandsInPartsOf262144Ids) {
  constexpr std::uint64_t kIdsOfPart = 262'144;
  Index index = std::move(Index::create(small_options(1))).value();
  const std::vector<std::uint64_t> ids = {5, kIdsOfPart - 1, kIdsOfPart, 2 * kIdsOfPart + 10};
  ASSERT_TRUE(index.add(ids, rows_of(ids, 1)).ok());
  Receipt landed;
  const auto receipt = index.remove(ids_from(0, 2 * kIdsOfPart + 11), in_parts(&landed));
  ASSERT_TRUE(receipt.ok());
  EXPECT_EQ(receipt->count, 4u);
  EXPECT_EQ(receipt->sequence, 4u);  // each part had a row
  EXPECT_EQ(landed.count, 4u);
  EXPECT_EQ(index.reader().size(), 0u);
  EXPECT_EQ(index.remove({}, in_parts())->count, 0u);
}

}  // namespace
}  // namespace vicinal::test
