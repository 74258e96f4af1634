// An index that stands on a file with a damaged block: whatever reads rows says so, now and later,
// and nothing is written any more.
#include <gtest/gtest.h>

#include <vector>

#include "engine/image.hpp"
#include "support/assert_report.hpp"
#include "support/filed_core.hpp"

namespace vicinal::test {
namespace {

using engine::MessageKind;
using engine::ReaderCore;

[[maybe_unused]] const bool kAssertsReported = report_asserts();
constexpr std::uint32_t kDim = 16;

Status search_in(ReaderCore& reader, std::size_t k, std::vector<std::uint64_t>* ids = nullptr) {
  SearchOptions options;
  options.k = k;
  search::Found found;
  std::uint64_t sequence = 0;
  const Status searched =
      reader.search(vector_of(5, kDim), options, nullptr, &found, &sequence);
  if (ids != nullptr) ids->assign(found.ids.begin(), found.ids.end());
  return searched;
}

TEST(DamageTest, AnIndexOnAFileAnswersAsTheOneInMemoryAndTakesWrites) {
  FiledCore filed(small_options(kDim), 300);
  auto reader = ReaderCore::open(filed.core).value();
  auto plain = ReaderCore::open(filed.plain).value();
  std::vector<std::uint64_t> found;
  std::vector<std::uint64_t> wanted;
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(search_in(*reader, 50, &found).ok());
    ASSERT_TRUE(search_in(*plain, 50, &wanted).ok());
    EXPECT_EQ(found, wanted);
    for (engine::Core* core : {filed.core.get(), filed.plain.get()}) {
      ASSERT_TRUE(write_rows(*core, 250, 400, MessageKind::upsert).ok());
      ASSERT_TRUE(write_rows(*core, 20, 150, MessageKind::remove).ok());
      ASSERT_TRUE(write_rows(*core, 0, 0, MessageKind::compact).ok());
    }
  }
  EXPECT_FALSE(filed.core->damage().any());
}

TEST(DamageTest, EveryCallThatReadsRowsAnswersCorruptFromThenOn) {
  using Call = Status (*)(ReaderCore&);
  const Call search = [](ReaderCore& reader) { return search_in(reader, 3); };
  const Call batch = [](ReaderCore& reader) {
    std::uint64_t sequence = 0;
    std::vector<float> queries = vector_of(1, kDim);
    queries.insert(queries.end(), queries.begin(), queries.end());
    bool visited = false;
    const Status searched = reader.search_each(
        queries, {}, nullptr, [&](std::size_t, const search::Found&) { visited = true; },
        &sequence);
    EXPECT_FALSE(visited);
    return searched;
  };
  const Call has = [](ReaderCore& reader) {
    bool found = false;
    std::uint64_t sequence = 0;
    return reader.has(40, &found, &sequence);
  };
  const Call get = [](ReaderCore& reader) {
    bool found = false;
    std::uint64_t sequence = 0;
    std::vector<float> vector(kDim);
    return reader.get(40, vector.data(), &found, &sequence);
  };
  const Call filtered = [](ReaderCore& reader) {
    const auto ids = ids_from(32, 32);
    SearchOptions options;
    options.filter.emplace(ids.data(), ids.size());
    search::Found found;
    std::uint64_t sequence = 0;
    return reader.search(vector_of(5, kDim), options, nullptr, &found, &sequence);
  };
  const Call image = [](ReaderCore& reader) { return engine::Image::save(reader).status(); };
  const Call slices = [](ReaderCore& reader) {
    auto out = engine::ImageOut::begin(reader);
    if (!out.ok()) return out.status();
    std::vector<std::byte> room(engine::ImageSaver::kRoomBytesMin);
    return (*out)->next(room).status();
  };
  const Call calls[] = {search, batch, has, get, filtered, image, slices};
  for (const Call first : calls) {
    FiledCore filed(small_options(kDim), 300);
    auto reader = ReaderCore::open(filed.core).value();
    auto snapshot = reader->snapshot().value();
    filed.damage_rows(0, 1);  // row 40 is in it
    EXPECT_EQ(first(*reader).code(), Code::corrupt);
    EXPECT_NE(filed.core->damage().where(), 0u);
    for (const Call later : calls) {
      EXPECT_EQ(later(*reader).code(), Code::corrupt);
      EXPECT_EQ(later(*snapshot).a(), filed.core->damage().where());
    }
    std::uint64_t rows = 0;
    std::uint64_t sequence = 0;
    EXPECT_TRUE(reader->count(&rows, &sequence).ok());
    EXPECT_EQ(rows, 300u);
  }
}

TEST(DamageTest, ADamagedPlaneIsMetByWhatNeedsPlanes) {
  FiledCore filed(small_options(kDim), 300);
  auto reader = ReaderCore::open(filed.core).value();
  const segment::Segment& segment = *filed.newest().view(0)->segment;
  const_cast<std::uint8_t*>(segment.slab())[segment.plane_offset(1)] ^= 1;
  bool found = false;
  std::uint64_t sequence = 0;
  EXPECT_TRUE(reader->has(40, &found, &sequence).ok() && found);
  std::vector<float> vector(kDim);
  EXPECT_TRUE(reader->get(10, vector.data(), &found, &sequence).ok() && found);
  EXPECT_EQ(reader->get(40, vector.data(), &found, &sequence).code(), Code::corrupt);
}

TEST(DamageTest, AWriteThatMeetsDamageIsRefusedAndPublishesNothing) {
  for (const MessageKind kind : {MessageKind::add, MessageKind::upsert, MessageKind::remove}) {
    FiledCore filed(small_options(kDim), 300);
    filed.damage_rows(0, 1);
    const std::uint64_t before = filed.core->sequence();
    const Status written = write_rows(*filed.core, 40, 2, kind);
    EXPECT_EQ(written.code(), Code::corrupt);
    EXPECT_EQ(filed.core->sequence(), before);
    // One that would not meet it is refused, too.
    EXPECT_EQ(write_rows(*filed.core, 5000, 2, MessageKind::upsert).code(), Code::corrupt);
    EXPECT_EQ(filed.core->sequence(), before);
  }
}

TEST(DamageTest, ACompactionThatMeetsDamageIsGivenUp) {
  FiledCore filed(small_options(kDim), 300);
  ASSERT_TRUE(write_rows(*filed.core, 0, 8, MessageKind::remove).ok());
  filed.damage_rows(0, 1);
  const std::uint64_t rows = filed.newest().live_rows;
  const segment::Segment* segment = filed.newest().view(0)->segment;
  EXPECT_EQ(write_rows(*filed.core, 0, 0, MessageKind::compact).code(), Code::corrupt);
  // A slice before the damage may have been published for its tables' sake; it shows the same rows.
  ASSERT_NE(filed.newest().view(0), nullptr);
  EXPECT_EQ(filed.newest().view(0)->segment, segment);
  EXPECT_EQ(filed.newest().live_rows, rows);
}

}  // namespace
}  // namespace vicinal::test
