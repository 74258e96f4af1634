#include "storage/ids_format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/checksum.hpp"
#include "file_bytes.hpp"
#include "support/memory_hook.hpp"

namespace vicinal::test {
namespace {

using namespace storage;

const Uuid kUuid = uuid_of(1);
constexpr std::uint64_t kPosition = kLogStart + 6400;
using Tables = std::array<IdsTable, kIdsTables>;

const IdsCoverage kCoverage[] = {
    {0, 128, kLogStart}, {7, 1, kLogStart + 64}, {9, 32768, kLogStart}};

// Tables 0, 5 and 63: entries that do and do not fill up their 64 bytes.
Tables some_tables() {
  Tables tables{};
  tables[0].capacity = 16;
  tables[0].used = 3;
  tables[0].sum = 11;
  tables[5].capacity = 17;
  tables[5].used = 17;
  tables[5].sum = 12;
  tables[63].capacity = 100;
  return tables;
}

struct Record {
  RecordHeader header;
  Bytes body;
  Code code() const { return IdsView::parse(header, body).code(); }
};

Record record_of(Tables tables, std::span<const IdsCoverage> coverage) {
  const std::uint64_t bytes =
      place_ids_tables(tables, static_cast<std::uint32_t>(coverage.size()));
  GrowingBuffer buffer;
  const auto sealed = write_ids_head(buffer, kUuid, kPosition, 4, 77, tables, coverage);
  EXPECT_TRUE(sealed.ok());
  const auto header =
      read_record_header(sealed->bytes.first<kRecordHeaderBytes>(), kUuid, kPosition, 77,
                         kPosition + bytes);
  EXPECT_TRUE(header.ok());
  EXPECT_EQ(header->kind, RecordKind::ids);
  EXPECT_EQ(header->bytes, bytes);
  EXPECT_EQ(header->sum, sealed->sum);
  const auto body = sealed->bytes.subspan(kRecordHeaderBytes, header->body_bytes);
  EXPECT_TRUE(body_is_intact(*header, body));
  EXPECT_TRUE(is_zero(sealed->bytes.subspan(kRecordHeaderBytes + body.size())));
  return {*header, Bytes(body.begin(), body.end())};
}

TEST(IdsRecord, TablesLieOneBehindTheOtherAndComeBack) {
  const Record record = record_of(some_tables(), kCoverage);
  const auto view = IdsView::parse(record.header, record.body);
  ASSERT_TRUE(view.ok());
  // 64 + 8 + 64 * 24 + 3 * 16, rounded up to 64.
  constexpr std::uint64_t kFirst = 1664;
  EXPECT_EQ(view->tables()[0].offset, kFirst);
  EXPECT_EQ(view->tables()[0].used, 3u);
  EXPECT_EQ(view->tables()[1].offset, 0u);
  EXPECT_EQ(view->tables()[5].offset, kFirst + 64);
  EXPECT_EQ(view->tables()[5].sum, 12u);
  EXPECT_EQ(view->tables()[63].offset, kFirst + 64 + 128);
  EXPECT_EQ(record.header.bytes, kFirst + 64 + 128 + 448);
  ASSERT_EQ(view->coverage().size(), 3u);
  EXPECT_EQ(view->coverage()[1].number, 7u);
  EXPECT_EQ(view->coverage()[2].rows, 32768u);
  EXPECT_EQ(view->coverage()[1].extent, kLogStart + 64);
}

TEST(IdsRecord, AnEmptyOneIsRead) {
  const Record record = record_of({}, {});
  EXPECT_EQ(record.code(), Code::ok);
  EXPECT_EQ(record.header.bytes, record_bytes(record.body.size()));
}

TEST(IdsRecord, ATableMayHaveAsManyEntriesAsItsCountCanSay) {
  Tables tables{};
  for (IdsTable& table : tables) table.capacity = ~std::uint32_t{0};
  const Record record = record_of(tables, {});
  EXPECT_EQ(record.code(), Code::ok);
  EXPECT_GT(record.header.bytes, std::uint64_t{64} * 4 * ~std::uint32_t{0});
}

TEST(IdsRecord, EveryTruncationIsRefused) {
  Record record = record_of(some_tables(), kCoverage);
  while (!record.body.empty()) {
    // In a block of its own: AddressSanitizer knows where it ends.
    record.body = Bytes(record.body.begin(), record.body.end() - 1);
    EXPECT_EQ(record.code(), Code::corrupt) << record.body.size();
  }
  record = record_of(some_tables(), kCoverage);
  record.body.resize(record.body.size() + 16);
  EXPECT_EQ(record.code(), Code::corrupt);
}

TEST(IdsRecord, FieldsThatCannotBeAreRefused) {
  const Record record = record_of(some_tables(), kCoverage);
  const auto with32 = [&](std::size_t at, std::uint32_t value) {
    Record changed = record;
    put(changed.body, at, value);
    return changed.code();
  };
  const auto with64 = [&](std::size_t at, std::uint64_t value) {
    Record changed = record;
    put(changed.body, at, value);
    return changed.code();
  };
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint32_t count : {0u, 63u, 65u, 0xffffffffu}) {
    EXPECT_EQ(with32(0, count), Code::corrupt) << count;
  }
  for (const std::uint32_t count : {0u, 2u, 4u, 0x10000000u, 0xffffffffu}) {
    EXPECT_EQ(with32(4, count), Code::corrupt) << count;
  }
  const std::size_t table5 = 8 + 5 * 24;
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{64}, kMost - 63, kMost}) {
    EXPECT_EQ(with64(table5, offset), Code::corrupt) << offset;
    EXPECT_EQ(with64(table5 + 24, kMost), Code::corrupt);
  }
  EXPECT_EQ(with32(table5 + 8, 16), Code::corrupt);  // used 17
  EXPECT_EQ(with32(table5 + 8, 32), Code::ok);       // in the same 128 bytes
  EXPECT_EQ(with32(table5 + 8, 33), Code::corrupt);
  EXPECT_EQ(with32(table5 + 8, 0xffffffffu), Code::corrupt);
  EXPECT_EQ(with32(table5 + 12, 18), Code::corrupt);
  EXPECT_EQ(with64(8 + 24 + 16, 1), Code::corrupt);  // the sum of no table
  const std::size_t coverage = 8 + 64 * 24;
  EXPECT_EQ(with32(coverage, 7), Code::corrupt);
  EXPECT_EQ(with32(coverage, 8), Code::corrupt);
  EXPECT_EQ(with32(coverage + 32, kFileSegmentsMax), Code::corrupt);
  EXPECT_EQ(with32(coverage + 32, kFileSegmentsMax - 1), Code::ok);
  EXPECT_EQ(with32(coverage + 4, 0), Code::corrupt);
  EXPECT_EQ(with32(coverage + 4, 32769), Code::corrupt);
  EXPECT_EQ(with64(coverage + 8, 0), Code::corrupt);
  EXPECT_EQ(with64(coverage + 8, kLogStart + 1), Code::corrupt);
  EXPECT_EQ(with64(coverage + 8, kPosition), Code::corrupt);
}

TEST(IdsRecord, IsOfItsKindAndItsLength) {
  Record record = record_of(some_tables(), kCoverage);
  record.header.bytes += 64;
  EXPECT_EQ(record.code(), Code::corrupt);
  record.header.bytes -= 128;
  EXPECT_EQ(record.code(), Code::corrupt);
  record.header.bytes += 64;
  EXPECT_EQ(record.code(), Code::ok);
  record.header.kind = RecordKind::commit;
  EXPECT_EQ(record.code(), Code::corrupt);
}

TEST(IdsRecord, NoFlippedBitLeadsOutOfTheBody) {
  Record record = record_of(some_tables(), kCoverage);
  std::uint64_t sum = 0;
  with_each_bit_flipped(record.body, [&](std::size_t) {
    const Bytes exact(record.body);
    const auto view = IdsView::parse(record.header, exact);
    if (!view.ok()) return;
    for (std::uint32_t i = 0; i < kIdsTables; ++i) {
      const IdsTable table = view->tables()[i];
      EXPECT_LE(table.offset + std::uint64_t{table.capacity} * 4, record.header.bytes);
    }
    for (std::uint32_t i = 0; i < view->coverage().size(); ++i) sum += view->coverage()[i].rows;
  });
  EXPECT_GT(sum, 0u);
}

TEST(IdsRecord, WithoutMemoryIsFull) {
  const Tables none{};
  GrowingBuffer buffer;
  {
    const FailingAllocations failing(1, 1);
    EXPECT_EQ(write_ids_head(buffer, kUuid, kPosition, 4, 77, none, {}).code(), Code::full);
  }
  EXPECT_TRUE(write_ids_head(buffer, kUuid, kPosition, 4, 77, none, {}).ok());
}

}  // namespace
}  // namespace vicinal::test
