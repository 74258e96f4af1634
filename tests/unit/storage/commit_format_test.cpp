#include "storage/commit_format.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "base/checksum.hpp"
#include "file_bytes.hpp"
#include "support/memory_hook.hpp"

namespace vicinal::test {
namespace {

using namespace storage;

const Uuid kUuid = uuid_of(1);
constexpr CommitShape kShape = {5, 7};  // sizes that need padding
constexpr std::uint64_t kPosition = kLogStart + 64 * 1000;
constexpr std::uint64_t kExtent = kLogStart + 64;

struct Parsed {
  RecordHeader header;
  Bytes body;
  Result<CommitView> view() const { return CommitView::parse(header, body, kShape); }
};

// Header, body and padding of a record as a reader takes them apart.
Parsed take_apart(const SealedRecord& record) {
  const auto bytes = record.bytes;
  auto header = read_record_header(bytes.first<kRecordHeaderBytes>(), kUuid, kPosition, 77,
                                   kPosition + bytes.size());
  EXPECT_TRUE(header.ok());
  EXPECT_EQ(header->bytes, bytes.size());
  EXPECT_EQ(header->sum, record.sum);
  const auto body = bytes.subspan(kRecordHeaderBytes, header->body_bytes);
  EXPECT_TRUE(body_is_intact(*header, body));
  EXPECT_TRUE(is_zero(bytes.subspan(kRecordHeaderBytes + header->body_bytes)));
  return {*header, Bytes(body.begin(), body.end())};
}

// Segments before the commit, by number.
using RowsBefore = std::map<std::uint32_t, std::uint32_t>;

auto lookup(const RowsBefore& rows) {
  return [&rows](std::uint32_t number) {
    const auto found = rows.find(number);
    return found == rows.end() ? kNoSegment : found->second;
  };
}

struct Builder {
  CommitWriter writer{kShape};
  CommitHead head{.live_rows = 10, .dead_rows = 2, .rows_dropped = 3, .segment_end = 9};

  Parsed seal(RecordKind kind = RecordKind::commit) {
    auto record = writer.seal(kUuid, kind, kPosition, 42, 77, head);
    EXPECT_TRUE(record.ok());
    return take_apart(*record);
  }
};

std::uint8_t row_byte(std::uint32_t row, std::size_t at) {
  return static_cast<std::uint8_t>(row * 31 + at);
}

void fill_rows(CommitWriter& writer, std::uint32_t first, std::uint32_t count) {
  auto room = writer.add_rows(count);
  ASSERT_TRUE(room.ok());
  for (std::uint32_t i = 0; i < count; ++i) {
    room->ids[i] = std::uint64_t{1} << 40 | (first + i);
    for (std::uint32_t f = 0; f < 3; ++f) {
      room->factors[3 * i + f] = static_cast<float>(first + i) + 0.25f * static_cast<float>(f);
    }
    for (std::size_t at = 0; at < kShape.packed_row_bytes; ++at) {
      room->packed_rows[i * kShape.packed_row_bytes + at] = row_byte(first + i, at);
    }
  }
}

void expect_rows(const InlineRows& rows, std::uint32_t first, std::uint32_t count) {
  ASSERT_EQ(rows.first(), first);
  ASSERT_EQ(rows.count(), count);
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(rows.id(i), std::uint64_t{1} << 40 | (first + i));
    for (std::uint32_t f = 0; f < 3; ++f) {
      EXPECT_EQ(rows.factors(i)[f], static_cast<float>(first + i) + 0.25f * static_cast<float>(f));
    }
    for (std::size_t at = 0; at < kShape.packed_row_bytes; ++at) {
      EXPECT_EQ(rows.packed_row(i)[at], row_byte(first + i, at));
    }
  }
}

constexpr float kOrigin[5] = {1, -2, 3, -4, 5};

// Every list, and rows that begin in the block before, in the last one, and nowhere.
Parsed full_commit() {
  Builder builder;
  CommitWriter& writer = builder.writer;
  builder.head.ids_record = kLogStart;
  EXPECT_TRUE(writer.add_dropped(1).ok());
  EXPECT_TRUE(writer.add_dropped(8).ok());
  EXPECT_TRUE(writer.add_dropped(20).ok());
  EXPECT_TRUE(writer.add_opened({4, 128, kExtent}).ok());
  EXPECT_TRUE(writer.add_opened({8, 64, kExtent + 64}).ok());
  EXPECT_TRUE(writer.add_grown({2, 70, 0xabcd}).ok());  // 40 before: rows 64..69
  fill_rows(writer, 64, 6);
  EXPECT_TRUE(writer.add_grown({3, 31, 0}).ok());       // 29 before: rows 29, 30
  fill_rows(writer, 29, 2);
  EXPECT_TRUE(writer.add_grown({4, 128, 0x99}).ok());   // opened, all blocks whole
  EXPECT_TRUE(writer.add_grown({8, 1, 0}).ok());        // dropped and opened
  fill_rows(writer, 0, 1);
  EXPECT_TRUE(writer.add_dead(2u << 15 | 69).ok());
  EXPECT_TRUE(writer.add_dead(3u << 15).ok());
  EXPECT_TRUE(writer.add_dead(3u << 15 | 4096).ok());
  std::array<std::uint32_t, kFileLivePageWords> words;
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 0x01010101u;
  EXPECT_TRUE(writer.add_live_page(0, 7, words).ok());
  EXPECT_TRUE(writer.add_live_page(3, 2, words).ok());
  EXPECT_TRUE(writer.set_origin(6, kOrigin).ok());
  return builder.seal();
}

const RowsBefore kFullBefore = {{0, 32768}, {2, 40}, {3, 29}, {4, 0}, {8, 0}};

TEST(Commit, EveryListComesBack) {
  const Parsed parsed = full_commit();
  EXPECT_EQ(parsed.header.kind, RecordKind::commit);
  EXPECT_EQ(parsed.header.sequence, 42u);
  const auto view = parsed.view();
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->head().live_rows, 10u);
  EXPECT_EQ(view->head().dead_rows, 2u);
  EXPECT_EQ(view->head().rows_dropped, 3u);
  EXPECT_EQ(view->head().segment_end, 9u);
  EXPECT_EQ(view->head().ids_record, kLogStart);
  ASSERT_EQ(view->dropped().size(), 3u);
  EXPECT_EQ(view->dropped()[2], 20u);
  ASSERT_EQ(view->opened().size(), 2u);
  EXPECT_EQ(view->opened()[1].number, 8u);
  EXPECT_EQ(view->opened()[1].capacity, 64u);
  EXPECT_EQ(view->opened()[1].extent, kExtent + 64);
  ASSERT_EQ(view->grown().size(), 4u);
  EXPECT_EQ(view->grown()[0].rows, 70u);
  EXPECT_EQ(view->grown()[0].sums, 0xabcdu);
  ASSERT_EQ(view->dead().size(), 3u);
  EXPECT_EQ(view->dead()[0], 2u << 15 | 69);
  ASSERT_EQ(view->live_pages().size(), 2u);
  EXPECT_EQ(view->live_pages()[1].number, 3u);
  EXPECT_EQ(view->live_pages()[1].page, 2u);
  EXPECT_EQ(view->live_pages()[1].words[127], 127 * 0x01010101u);
  ASSERT_TRUE(view->has_origin());
  EXPECT_EQ(view->origin_number(), 6u);
  float origin[5];
  view->copy_origin(origin);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(origin[i], kOrigin[i]);
}

TEST(Commit, InlineRowsComeBackSegmentBySegment) {
  const Parsed parsed = full_commit();
  const auto view = parsed.view();
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(check_rows(*view, lookup(kFullBefore)).ok());
  InlineRowsCursor cursor(*view);
  const auto take = [&](std::uint32_t before) {
    EXPECT_FALSE(cursor.at_end());
    auto rows = cursor.next(before);
    EXPECT_TRUE(rows.ok());
    return rows.ok() ? *rows : InlineRows();
  };
  expect_rows(take(40), 64, 6);
  expect_rows(take(29), 29, 2);
  EXPECT_EQ(take(0).count(), 0u);
  expect_rows(take(0), 0, 1);
  EXPECT_TRUE(cursor.at_end());
}

TEST(Commit, RowsThatDoNotFollowTheVersionBeforeAreRefused) {
  const Parsed parsed = full_commit();
  const auto view = parsed.view();
  ASSERT_TRUE(view.ok());
  const auto check = [&](std::uint32_t number, std::uint32_t rows) {
    RowsBefore before = kFullBefore;
    before[number] = rows;
    return check_rows(*view, lookup(before)).code();
  };
  EXPECT_EQ(check(2, 64), Code::ok);  // the same six rows
  EXPECT_EQ(check(2, 0), Code::ok);
  EXPECT_EQ(check(2, 65), Code::corrupt);
  EXPECT_EQ(check(2, 70), Code::corrupt);
  EXPECT_EQ(check(2, 71), Code::corrupt);
  EXPECT_EQ(check(3, 28), Code::corrupt);
  EXPECT_EQ(check(3, 30), Code::corrupt);
  EXPECT_EQ(check(4, 128), Code::corrupt);
  for (const std::uint32_t number : {2u, 3u, 4u, 8u}) {
    EXPECT_EQ(check(number, kNoSegment), Code::corrupt) << number;
  }
}

TEST(Commit, AnEmptyOneIsAHeadAndNothingElse) {
  Builder builder;
  builder.head = {};
  for (const RecordKind kind : {RecordKind::commit, RecordKind::directory}) {
    builder.writer.clear();
    const Parsed parsed = builder.seal(kind);
    EXPECT_EQ(parsed.header.bytes, 128u);
    EXPECT_EQ(parsed.body.size(), 64u);
    const auto view = parsed.view();
    ASSERT_TRUE(view.ok());
    EXPECT_FALSE(view->has_origin());
    EXPECT_TRUE(check_rows(*view, lookup({})).ok());
  }
}

TEST(Commit, ARecordOfAnotherKindIsNone) {
  Parsed parsed = full_commit();
  for (std::uint16_t kind = 0; kind <= kRecordKindLast + 1; ++kind) {
    parsed.header.kind = static_cast<RecordKind>(kind);
    EXPECT_EQ(parsed.view().ok(), parsed.header.kind == RecordKind::commit) << kind;
  }
}

TEST(Commit, EveryTruncationIsRefused) {
  const Parsed parsed = full_commit();
  for (std::size_t bytes = 0; bytes < parsed.body.size(); ++bytes) {
    // In a block of its own: AddressSanitizer knows where it ends.
    const Bytes exact(parsed.body.begin(), parsed.body.begin() + static_cast<long>(bytes));
    const auto view = CommitView::parse(parsed.header, exact, kShape);
    const bool ok = view.ok() && check_rows(*view, lookup(kFullBefore)).ok();
    EXPECT_FALSE(ok) << bytes;
  }
  Bytes longer = parsed.body;
  longer.resize(longer.size() + 8);
  const auto view = CommitView::parse(parsed.header, longer, kShape);
  EXPECT_TRUE(view.ok() && !check_rows(*view, lookup(kFullBefore)).ok());
}

TEST(Commit, EveryFlippedBitOfARecordIsNoticed) {
  Builder builder;
  EXPECT_TRUE(builder.writer.add_opened({4, 128, kExtent}).ok());
  EXPECT_TRUE(builder.writer.add_grown({4, 33, 7}).ok());
  fill_rows(builder.writer, 32, 1);
  const auto record =
      builder.writer.seal(kUuid, RecordKind::commit, kPosition, 42, 77, builder.head);
  ASSERT_TRUE(record.ok());
  Bytes bytes(record->bytes.begin(), record->bytes.end());
  with_each_bit_flipped(bytes, [&](std::size_t bit) {
    const std::span<const std::byte> all(bytes);
    const auto header = read_record_header(all.first<kRecordHeaderBytes>(), kUuid, kPosition, 77,
                                           kPosition + all.size());
    const bool ok = header.ok() &&
                    body_is_intact(*header, all.subspan(kRecordHeaderBytes, header->body_bytes)) &&
                    is_zero(all.subspan(kRecordHeaderBytes + header->body_bytes));
    EXPECT_FALSE(ok) << bit;
  });
}

// Reads all that a view gives, for the sanitizers; the sum keeps the reads.
std::uint64_t touch(const CommitView& view, const RowsBefore& before) {
  std::uint64_t sum = view.head().live_rows;
  for (std::uint32_t i = 0; i < view.opened().size(); ++i) sum += view.opened()[i].extent;
  for (std::uint32_t i = 0; i < view.dropped().size(); ++i) sum += view.dropped()[i];
  for (std::uint32_t i = 0; i < view.dead().size(); ++i) sum += view.dead()[i];
  for (std::uint32_t i = 0; i < view.live_pages().size(); ++i) {
    sum += view.live_pages()[i].words[127];
  }
  float origin[5] = {};
  if (view.has_origin()) view.copy_origin(origin);
  InlineRowsCursor cursor(view);
  for (std::uint32_t i = 0; i < view.grown().size(); ++i) {
    const auto rows = cursor.next(lookup(before)(view.grown()[i].number));
    if (!rows.ok()) break;
    for (std::uint32_t r = 0; r < rows->count(); ++r) {
      sum += rows->id(r) + rows->packed_row(r)[kShape.packed_row_bytes - 1];
      sum += static_cast<std::uint64_t>(rows->factors(r)[2] > 0);
    }
  }
  return sum;
}

TEST(Commit, NoFlippedBitLeadsOutOfTheBodyEvenWithTheSumRight) {
  Parsed parsed = full_commit();
  const std::size_t padding_bits = 8 * 4;  // behind the three dropped numbers, for one
  std::size_t refused = 0;
  with_each_bit_flipped(parsed.body, [&](std::size_t) {
    const Bytes exact(parsed.body);
    const auto view = CommitView::parse(parsed.header, exact, kShape);
    if (!view.ok() || !check_rows(*view, lookup(kFullBefore)).ok()) ++refused;
    if (view.ok()) (void)touch(*view, kFullBefore);
  });
  EXPECT_GE(refused, padding_bits);
}

// A commit whose body is changed before it is parsed.
Code parse_changed(Parsed parsed, const std::function<void(Bytes&)>& change) {
  change(parsed.body);
  const auto view = parsed.view();
  return view.ok() ? check_rows(*view, lookup(kFullBefore)).code() : view.code();
}

TEST(Commit, CountsBeyondTheBodyAreRefused) {
  const Parsed parsed = full_commit();
  EXPECT_EQ(parse_changed(parsed, [](Bytes&) {}), Code::ok);
  for (std::size_t at = 32; at <= 48; at += 4) {
    for (const std::uint32_t count : {0u, 1u, 5u, 0x10000000u, 0x7fffffffu, 0xffffffffu}) {
      if (get<std::uint32_t>(parsed.body, at) == count) continue;
      EXPECT_EQ(parse_changed(parsed, [&](Bytes& body) { put(body, at, count); }), Code::corrupt)
          << at << " " << count;
    }
  }
}

TEST(Commit, AHeadThatCannotBeIsRefused) {
  const Parsed parsed = full_commit();
  const auto with32 = [&](std::size_t at, std::uint32_t value) {
    return parse_changed(parsed, [&](Bytes& body) { put(body, at, value); });
  };
  const auto with64 = [&](std::size_t at, std::uint64_t value) {
    return parse_changed(parsed, [&](Bytes& body) { put(body, at, value); });
  };
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(with64(0, 9u * 32768 - 2), Code::ok);
  EXPECT_EQ(with64(0, 9u * 32768 - 1), Code::corrupt);  // and two dead ones
  EXPECT_EQ(with64(0, kMost), Code::corrupt);
  EXPECT_EQ(with64(8, kMost), Code::corrupt);
  EXPECT_EQ(with64(8, kMost - 9), Code::corrupt);
  EXPECT_EQ(with32(24, 10), Code::ok);
  EXPECT_EQ(with32(24, 8), Code::corrupt);
  EXPECT_EQ(with32(24, 0), Code::corrupt);
  EXPECT_EQ(with32(24, kFileSegmentsMax), Code::ok);
  EXPECT_EQ(with32(24, kFileSegmentsMax + 1), Code::corrupt);
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    EXPECT_EQ(with32(28, 1 ^ 1u << bit), Code::corrupt) << bit;
    EXPECT_EQ(with32(52, 1u << bit), Code::corrupt) << bit;
  }
  EXPECT_EQ(with64(56, 0), Code::ok);
  EXPECT_EQ(with64(56, kPosition - 64), Code::ok);
  EXPECT_EQ(with64(56, kPosition), Code::corrupt);
  EXPECT_EQ(with64(56, kLogStart - 64), Code::corrupt);
  EXPECT_EQ(with64(56, kLogStart + 1), Code::corrupt);
  EXPECT_EQ(with64(56, kMost - 63), Code::corrupt);
}

// Where full_commit's lists begin.
constexpr std::size_t kOpenedAt = 64;
constexpr std::size_t kGrownAt = kOpenedAt + 2 * 16;
constexpr std::size_t kDroppedAt = kGrownAt + 4 * 16;
constexpr std::size_t kDeadAt = kDroppedAt + 16;
constexpr std::size_t kPagesAt = kDeadAt + 16;
constexpr std::size_t kOriginAt = kPagesAt + 2 * 520;

TEST(Commit, ListsThatDoNotAscendAreRefused) {
  const Parsed parsed = full_commit();
  const auto with32 = [&](std::size_t at, std::uint32_t value) {
    return parse_changed(parsed, [&](Bytes& body) { put(body, at, value); });
  };
  for (const std::size_t at : {kOpenedAt, kGrownAt, kDroppedAt, kDeadAt, kPagesAt}) {
    // Equal to the second, and above it.
    const std::size_t step = at == kPagesAt ? 520 : at < kDroppedAt ? 16 : 4;
    const auto second = get<std::uint32_t>(parsed.body, at + step);
    EXPECT_EQ(with32(at, second + 1), Code::corrupt) << at;
    if (at != kPagesAt) {
      EXPECT_EQ(with32(at, second), Code::corrupt) << at;
    }
  }
  EXPECT_EQ(parse_changed(parsed, [](Bytes& body) {  // the same page twice
              put(body, kPagesAt, std::uint32_t{3});
              put(body, kPagesAt + 4, std::uint32_t{2});
            }), Code::corrupt);
  EXPECT_EQ(parse_changed(parsed, [](Bytes& body) {  // one page further
              put(body, kPagesAt, std::uint32_t{3});
              put(body, kPagesAt + 4, std::uint32_t{3});
            }), Code::corrupt);
}

TEST(Commit, EntriesThatCannotBeAreRefused) {
  const Parsed parsed = full_commit();
  const auto with32 = [&](std::size_t at, std::uint32_t value) {
    return parse_changed(parsed, [&](Bytes& body) { put(body, at, value); });
  };
  const auto with64 = [&](std::size_t at, std::uint64_t value) {
    return parse_changed(parsed, [&](Bytes& body) { put(body, at, value); });
  };
  EXPECT_EQ(with32(kOpenedAt + 16, 9), Code::corrupt);  // at the end of the segments
  for (const std::uint32_t capacity : {0u, 1u, 96u, 127u, 129u, 32800u, 0xffffffe0u}) {
    EXPECT_EQ(with32(kOpenedAt + 4, capacity), Code::corrupt) << capacity;  // 128 rows are shown
  }
  EXPECT_EQ(with32(kOpenedAt + 4, 32768), Code::ok);
  for (const std::uint64_t extent : {std::uint64_t{0}, kLogStart - 64, kLogStart + 1, kPosition}) {
    EXPECT_EQ(with64(kOpenedAt + 8, extent), Code::corrupt) << extent;
  }
  EXPECT_EQ(with32(kGrownAt + 48, 9), Code::corrupt);
  EXPECT_EQ(with32(kGrownAt + 4, 0), Code::corrupt);
  EXPECT_EQ(with32(kGrownAt + 4, 32768 + 6), Code::corrupt);
  EXPECT_EQ(with32(kDroppedAt + 8, kFileSegmentsMax - 1), Code::ok);
  EXPECT_EQ(with32(kDroppedAt + 8, kFileSegmentsMax), Code::corrupt);
  EXPECT_EQ(with32(kDroppedAt + 12, 1), Code::corrupt);  // padding
  EXPECT_EQ(with32(kDeadAt + 8, 9u << 15), Code::corrupt);
  EXPECT_EQ(with32(kDeadAt + 8, ~0u), Code::corrupt);
  EXPECT_EQ(with32(kDeadAt + 8, 3u << 15 | 2 * 4096), Code::corrupt);  // on a page that is given
  EXPECT_EQ(with32(kDeadAt + 8, 3u << 15 | 3 * 4096), Code::ok);
  EXPECT_EQ(with32(kPagesAt + 4, 8), Code::corrupt);
  EXPECT_EQ(with32(kPagesAt + 520, 9), Code::corrupt);
  EXPECT_EQ(with64(kOriginAt, 0), Code::corrupt);
  EXPECT_EQ(with32(kOriginAt + 28, 1), Code::corrupt);  // padding
}

TEST(Commit, EveryNumberMayBeAtItsLimit) {
  constexpr std::uint32_t kLast = kFileSegmentsMax - 1;
  Builder builder;
  builder.head = {.live_rows = std::uint64_t{1} << 32, .segment_end = kFileSegmentsMax,
                  .ids_record = kPosition - 64};
  EXPECT_TRUE(builder.writer.add_dropped(kLast).ok());
  EXPECT_TRUE(builder.writer.add_opened({kLast, kFileSegmentRowsMax, kPosition - 64}).ok());
  EXPECT_TRUE(builder.writer.add_grown({kLast, kFileSegmentRowsMax, 1}).ok());
  EXPECT_TRUE(builder.writer.add_dead(~0u - 1).ok());
  const std::array<std::uint32_t, kFileLivePageWords> words{};
  EXPECT_TRUE(builder.writer.add_live_page(kLast, kFileLivePages - 2, words).ok());
  EXPECT_TRUE(builder.writer.set_origin(~std::uint64_t{0}, kOrigin).ok());
  const Parsed parsed = builder.seal();
  ASSERT_TRUE(parsed.view().ok());
  EXPECT_TRUE(check_rows(*parsed.view(), lookup({{kLast, 0}})).ok());
}

TEST(Commit, NoListNamesASegmentAtTheEndOfThem) {
  const std::array<std::uint32_t, kFileLivePageWords> words{};
  const std::function<Status(CommitWriter&, std::uint32_t)> lists[] = {
      [](CommitWriter& writer, std::uint32_t number) {
        return writer.add_opened({number, 128, kExtent});
      },
      [](CommitWriter& writer, std::uint32_t number) { return writer.add_grown({number, 64, 1}); },
      [](CommitWriter& writer, std::uint32_t number) { return writer.add_dead(number << 15); },
      [&words](CommitWriter& writer, std::uint32_t number) {
        return writer.add_live_page(number, 0, words);
      },
  };
  for (const auto& add : lists) {
    Builder builder;
    EXPECT_TRUE(add(builder.writer, 8).ok());
    Parsed parsed = builder.seal();
    EXPECT_TRUE(parsed.view().ok());
    put(parsed.body, 24, std::uint32_t{8});
    EXPECT_EQ(parsed.view().code(), Code::corrupt);
  }
}

TEST(Commit, TheLastSlotIsNobodysEvenWhereEverySegmentIsInUse) {
  Builder builder;
  builder.head.segment_end = kFileSegmentsMax;
  EXPECT_TRUE(builder.writer.add_dead(~0u - 1).ok());
  Parsed parsed = builder.seal();
  EXPECT_TRUE(parsed.view().ok());
  put(parsed.body, 64, ~0u);
  EXPECT_EQ(parsed.view().code(), Code::corrupt);
}

TEST(Commit, PaddingOfInlineRowsMustBeZero) {
  Builder builder;
  EXPECT_TRUE(builder.writer.add_grown({2, 1, 0}).ok());
  fill_rows(builder.writer, 0, 1);  // 27 bytes, and five behind them
  Parsed parsed = builder.seal();
  for (std::size_t at = parsed.body.size() - 5; at < parsed.body.size(); ++at) {
    parsed.body[at] = std::byte{1};
    const auto view = parsed.view();
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(check_rows(*view, lookup({{2, 0}})).code(), Code::corrupt) << at;
    parsed.body[at] = std::byte{0};
  }
}

TEST(Directory, OpensAllThatItShowsAndHasNeitherDroppedNorDead) {
  Builder builder;
  EXPECT_TRUE(builder.writer.add_opened({4, 128, kExtent}).ok());
  EXPECT_TRUE(builder.writer.add_grown({4, 33, 7}).ok());
  fill_rows(builder.writer, 32, 1);
  const Parsed parsed = builder.seal(RecordKind::directory);
  ASSERT_TRUE(parsed.view().ok());
  EXPECT_TRUE(check_rows(*parsed.view(), lookup({{4, 0}})).ok());
  Parsed changed = parsed;
  put(changed.body, 64 + 16, std::uint32_t{5});  // grown, but not opened
  EXPECT_EQ(changed.view().code(), Code::corrupt);
  changed = parsed;
  changed.header.kind = RecordKind::commit;  // the flag says directory
  EXPECT_EQ(changed.view().code(), Code::corrupt);
  // The lists that only commits have, with a directory's kind and flag.
  for (const bool dead : {false, true}) {
    Builder other;
    EXPECT_TRUE((dead ? other.writer.add_dead(1) : other.writer.add_dropped(1)).ok());
    Parsed commit = other.seal();
    EXPECT_TRUE(commit.view().ok());
    commit.header.kind = RecordKind::directory;
    put(commit.body, 28, std::uint32_t{2});
    EXPECT_EQ(commit.view().code(), Code::corrupt);
  }
}

TEST(CommitWriter, TellsTheBytesOfItsRecordBeforehandAndStartsAnew) {
  Builder builder;
  builder.head.segment_end = 30000;
  std::uint64_t seen = 0;
  for (std::uint32_t round = 0; round < 3; ++round) {
    builder.writer.clear();
    EXPECT_EQ(builder.writer.bytes(), 128u);
    for (std::uint32_t i = 0; i < 1000 * round; ++i) {
      EXPECT_TRUE(builder.writer.add_dead(i * 7).ok());
    }
    const std::uint64_t told = builder.writer.bytes();
    const Parsed parsed = builder.seal();
    EXPECT_EQ(parsed.header.bytes, told);
    ASSERT_TRUE(parsed.view().ok());
    EXPECT_EQ(parsed.view()->dead().size(), 1000 * round);
    seen = told;
  }
  EXPECT_GE(builder.writer.memory_bytes(), seen);
  builder.writer.release();
  EXPECT_EQ(builder.writer.memory_bytes(), 0u);
  EXPECT_EQ(builder.seal().header.bytes, 128u);
}

TEST(CommitWriter, WithoutMemoryIsFullAndWorksAgainWithSome) {
  const auto build = [](CommitWriter& writer) -> Status {
    writer.clear();
    Status status = writer.add_opened({4, 128, kExtent});
    if (status.ok()) status = writer.add_grown({4, 33, 7});
    if (status.ok()) status = writer.add_dropped(1);
    if (status.ok()) status = writer.add_dead(4u << 15);
    const std::array<std::uint32_t, kFileLivePageWords> words{};
    if (status.ok()) status = writer.add_live_page(5, 0, words);
    if (status.ok()) status = writer.set_origin(6, kOrigin);
    if (!status.ok()) return status;
    const auto rows = writer.add_rows(1);
    if (!rows.ok()) return rows.status();
    return writer.seal(kUuid, RecordKind::commit, kPosition, 1, 0, {.segment_end = 9}).status();
  };
  std::uint64_t failures = 0;
  for (std::uint64_t n = 1;; ++n) {
    CommitWriter writer(kShape);
    Status status;
    {
      const FailingAllocations failing(n, n);
      status = build(writer);
    }
    EXPECT_TRUE(build(writer).ok());
    if (status.ok()) break;
    EXPECT_EQ(status.code(), Code::full);
    ++failures;
  }
  EXPECT_EQ(failures, 8u);  // seven lists and the record
}

TEST(CommitWriterDeathTest, ListsAreGivenInOrder) {
  CommitWriter writer(kShape);
  EXPECT_TRUE(writer.add_dead(5).ok());
  EXPECT_DEATH((void)writer.add_dead(5), "");
  EXPECT_TRUE(writer.add_dead(6).ok());
}

}  // namespace
}  // namespace vicinal::test
