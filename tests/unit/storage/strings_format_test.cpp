#include "storage/strings_format.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/checksum.hpp"
#include "file_bytes.hpp"
#include "storage/commit_format.hpp"
#include "support/memory_hook.hpp"
#include "vicinal/types.hpp"

namespace vicinal::test {
namespace {

using namespace storage;

const Uuid kUuid = uuid_of(1);
constexpr std::uint64_t kPosition = kLogStart + 64 * 1000;

StringsWriter some_list(std::span<const std::uint64_t> ordinals) {
  StringsWriter list;
  for (const std::uint64_t ordinal : ordinals) {
    EXPECT_TRUE(list.fits(ordinal, 100));
    EXPECT_TRUE(list.add(ordinal, std::string(ordinal % 7, 'x') + std::to_string(ordinal)).ok());
  }
  return list;
}

std::vector<std::byte> bytes_of(const StringsWriter& list) {
  GrowingBuffer bytes;
  EXPECT_TRUE(list.append_to(bytes).ok());
  EXPECT_EQ(bytes.size(), list.bytes());
  return {bytes.data(), bytes.data() + bytes.size()};
}

constexpr std::uint64_t kDense[] = {5, 6, 7, 8};
constexpr std::uint64_t kSparse[] = {9, 10, 4000, 5'000'000};

TEST(StringList, ComesBackWhetherOrdinalsAreLeftOutOrNot) {
  for (const std::span<const std::uint64_t> ordinals : {std::span(kDense), std::span(kSparse)}) {
    const auto bytes = bytes_of(some_list(ordinals));
    EXPECT_EQ(bytes.size() % 8, 0u);
    const auto view = StringsView::parse(bytes);
    ASSERT_TRUE(view.ok());
    ASSERT_EQ(view->size(), ordinals.size());
    EXPECT_EQ(view->first(), ordinals.front());
    EXPECT_EQ(view->last(), ordinals.back());
    for (std::uint32_t i = 0; i < view->size(); ++i) {
      EXPECT_EQ(view->ordinal(i), ordinals[i]);
      EXPECT_EQ(view->text(i), std::string(ordinals[i] % 7, 'x') + std::to_string(ordinals[i]));
    }
  }
  EXPECT_LT(some_list(kDense).bytes(), some_list(kSparse).bytes());
}

TEST(StringList, HasRoomForTheLongestStringsAndEndsThere) {
  StringsWriter list;
  std::uint64_t ordinal = 1;
  for (; list.fits(ordinal, kStringBytesMax); ++ordinal) {
    ASSERT_TRUE(list.add(ordinal, std::string(kStringBytesMax, 'y')).ok());
  }
  EXPECT_EQ(list.size(), kFileTextBytesMax / kStringBytesMax);
  EXPECT_TRUE(StringsView::parse(bytes_of(list)).ok());
  list.clear();
  for (ordinal = 1; list.fits(ordinal, 0); ++ordinal) ASSERT_TRUE(list.add(ordinal, {}).ok());
  EXPECT_EQ(list.size(), kFileStringsMax);
  EXPECT_TRUE(StringsView::parse(bytes_of(list)).ok());
  list.clear();
  ASSERT_TRUE(list.add(7, "a").ok());
  EXPECT_TRUE(list.fits(7 + (std::uint64_t{1} << 32) - 1, 1));
  EXPECT_FALSE(list.fits(7 + (std::uint64_t{1} << 32), 1));
}

// What lengths and ordinals say must hold, or nothing of it is used.
TEST(StringList, OfAnythingElseIsCorrupt) {
  const auto whole = bytes_of(some_list(kSparse));
  const auto code_with = [&](std::size_t at, auto value) {
    auto bytes = whole;
    put(bytes, at, value);
    return StringsView::parse(bytes).code();
  };
  EXPECT_EQ(code_with(0, std::uint64_t{9}), Code::ok);
  EXPECT_EQ(code_with(0, std::uint64_t{0}), Code::corrupt);
  EXPECT_EQ(code_with(0, kFileOrdinalsMax - 4), Code::corrupt) << "the last one is beyond";
  for (const std::uint32_t count : {0u, 3u, 5u, kFileStringsMax + 1, ~0u}) {
    EXPECT_EQ(code_with(8, count), Code::corrupt) << count;
  }
  EXPECT_EQ(code_with(12, 0u), Code::corrupt);
  EXPECT_EQ(code_with(12, 2u), Code::corrupt);
  for (const std::uint32_t text_bytes : {0u, 200u, ~0u}) {
    EXPECT_EQ(code_with(16, text_bytes), Code::corrupt) << text_bytes;
  }
  EXPECT_EQ(code_with(20, 1u), Code::corrupt);
  EXPECT_EQ(code_with(24, 1u), Code::corrupt) << "the first of the list is the first";
  EXPECT_EQ(code_with(28, 3991u), Code::corrupt) << "not ascending";
  EXPECT_EQ(code_with(40, 1000u), Code::corrupt) << "an end beyond the text";
  EXPECT_EQ(code_with(whole.size() - 1, std::byte{1}), Code::corrupt) << "padding";
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(StringsView::parse(std::span(whole).first(bytes)).code(), Code::corrupt) << bytes;
  }
  // A list of ordinals that are all there, which the writer leaves out.
  auto dense = whole;
  for (std::uint32_t i = 0; i < 4; ++i) put(dense, 24 + 4 * i, i);
  EXPECT_EQ(StringsView::parse(dense).code(), Code::corrupt);
}

TEST(StringList, IsARecordOfItsOwn) {
  const StringsWriter list = some_list(kDense);
  GrowingBuffer bytes;
  const auto sum = list.write_record(bytes, kUuid, kPosition, 42, 77);
  ASSERT_TRUE(sum.ok());
  const auto header =
      read_record_header(bytes.bytes().first<kRecordHeaderBytes>(), kUuid, kPosition, 77,
                         kPosition + bytes.size());
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->kind, RecordKind::strings);
  EXPECT_EQ(header->sequence, 42u);
  EXPECT_EQ(header->sum, *sum);
  EXPECT_EQ(header->bytes, bytes.size());
  const auto body = bytes.bytes().subspan(kRecordHeaderBytes, header->body_bytes);
  EXPECT_TRUE(body_is_intact(*header, body));
  EXPECT_TRUE(StringsView::parse(body).ok());
}

constexpr CommitShape kShape{5, 7, true};

struct Record {
  RecordHeader header;
  std::vector<std::byte> body;
  [[nodiscard]] Result<CommitView> view(const CommitShape& shape = kShape) const {
    return CommitView::parse(header, body, shape);
  }
};

// With strings, or with nothing of the kind.
Record some_commit(bool strings, RecordKind kind = RecordKind::commit) {
  CommitWriter writer({5, 7});
  if (strings) {
    const StringsPlace places[] = {{1, kLogStart}, {4, kLogStart + 640}};
    EXPECT_TRUE(writer.set_strings(6'000'000, places, some_list(kSparse)).ok());
  }
  const auto sealed = writer.seal(kUuid, kind, kPosition, 42, 77, {.segment_end = 3});
  EXPECT_TRUE(sealed.ok());
  const auto header = read_record_header_unchained(
      sealed->bytes.first<kRecordHeaderBytes>(), kUuid, kPosition, kFileBytesMax);
  const auto body = sealed->bytes.subspan(kRecordHeaderBytes, header->body_bytes);
  return {*header, {body.begin(), body.end()}};
}

TEST(CommitOfStrings, SaysWhereTheyAreAndHasTheOthers) {
  for (const RecordKind kind : {RecordKind::commit, RecordKind::directory}) {
    const Record commit = some_commit(true, kind);
    const auto view = commit.view();  // of its bytes
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->strings_end(), 6'000'000u);
    ASSERT_EQ(view->string_records().size(), 2u);
    EXPECT_EQ(view->string_records()[1].first, 4u);
    EXPECT_EQ(view->string_records()[1].record, kLogStart + 640);
    ASSERT_EQ(view->strings().size(), 4u);
    EXPECT_EQ(view->strings().text(2), "xxx4000");
  }
  EXPECT_TRUE(some_commit(false).view({5, 7}).ok());
  EXPECT_EQ(some_commit(false).view().code(), Code::corrupt);
  EXPECT_EQ(some_commit(true).view({5, 7}).code(), Code::corrupt);
}

TEST(CommitOfStrings, WhoseOrdinalsOrPlacesCannotBeIsCorrupt) {
  const Record whole = some_commit(true);
  const auto code_with = [&](std::size_t at, auto value) {
    Record changed = whole;
    put(changed.body, at, value);
    return changed.view().code();
  };
  constexpr std::size_t kPart = 64;
  EXPECT_EQ(code_with(kPart, std::uint64_t{5'000'001}), Code::ok);
  EXPECT_EQ(code_with(kPart, std::uint64_t{5'000'000}), Code::corrupt) << "not above the last";
  EXPECT_EQ(code_with(kPart, std::uint64_t{0}), Code::corrupt);
  EXPECT_EQ(code_with(kPart, kFileOrdinalsMax + 1), Code::corrupt);
  for (const std::uint32_t count : {0u, 1u, 3u, ~0u}) {
    EXPECT_EQ(code_with(kPart + 8, count), Code::corrupt) << count;
    // Without a list its bytes are taken for rows, of which there are none.
    EXPECT_EQ(code_with(kPart + 12, count), count == 0 ? Code::ok : Code::corrupt) << count;
  }
  EXPECT_EQ(code_with(kPart + 16, std::uint64_t{0}), Code::corrupt) << "no ordinal";
  EXPECT_EQ(code_with(kPart + 16, std::uint64_t{4}), Code::corrupt) << "not ascending";
  EXPECT_EQ(code_with(kPart + 32, std::uint64_t{9}), Code::corrupt) << "where the list begins";
  EXPECT_EQ(code_with(kPart + 24, kPosition), Code::corrupt) << "behind the commit";
  EXPECT_EQ(code_with(kPart + 24, kLogStart + 1), Code::corrupt);
}

TEST(CommitOfStrings, WithoutMemoryIsFullWhicheverAllocationFails) {
  for (std::uint64_t nth = 1;; ++nth) {
    const FailingAllocations failing(nth, nth);
    StringsWriter list;
    Status done;
    for (const std::uint64_t ordinal : kSparse) {
      if (done.ok()) done = list.add(ordinal, "some text");
    }
    CommitWriter writer({5, 7});
    if (done.ok()) done = writer.set_strings(6'000'000, {}, list);
    GrowingBuffer record;
    if (done.ok()) done = list.write_record(record, kUuid, kPosition, 1, 0).status();
    EXPECT_EQ(done.code(), failing.failed() == 0 ? Code::ok : Code::full);
    if (failing.failed() == 0) break;
    EXPECT_EQ(list.size() == 4, list.empty() ? false : list.last() == kSparse[3]);
  }
}

}  // namespace
}  // namespace vicinal::test
