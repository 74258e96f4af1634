#include "storage/extent_format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/checksum.hpp"
#include "file_bytes.hpp"

namespace vicinal::test {
namespace {

using namespace storage;

const Uuid kUuid = uuid_of(1);
constexpr std::uint64_t kPosition = kLogStart + 4096 - 128;
constexpr std::uint64_t kSlabBytes = 3 * kFilePageBytes;

using Head = std::array<std::byte, kExtentHeadBytes>;

Head head_of(const Extent& extent) {
  Head head;
  (void)write_extent(head, kUuid, extent, 9, 1234);
  return head;
}

// As a reader finds it: the header, then the body by its sum, then what it says.
Result<Extent> read(const Head& head, std::uint64_t position = kPosition) {
  const auto bytes = std::span(head);
  const auto header = read_record_header(bytes.first<kRecordHeaderBytes>(), kUuid, position, 1234,
                                         kFileBytesMax);
  if (!header.ok()) return header.status();
  const auto body = bytes.subspan(kRecordHeaderBytes);
  if (!body_is_intact(*header, body)) return Status(Code::corrupt);
  return read_extent(*header, body);
}

TEST(Extent, PartsFollowFromPositionCapacityAndSlab) {
  const Extent near = extent_at(kPosition, 3, 96, kSlabBytes);
  EXPECT_EQ(near.slab, kPosition + 128);  // just room for header and body
  EXPECT_EQ(near.sums, near.slab + kSlabBytes);
  EXPECT_EQ(near.blocks(), 3u);
  EXPECT_EQ(near.sums_position(2), near.sums + 32);
  EXPECT_EQ(near.sums_bytes(), 64u);
  EXPECT_EQ(near.end(), near.sums + 64);
  EXPECT_EQ(near.bytes(), near.end() - kPosition);
  const Extent far = extent_at(kPosition + 64, 3, kFileSegmentRowsMax, kSlabBytes);
  EXPECT_EQ(far.slab, kPosition + 128 + 4096);
  EXPECT_EQ(far.sums_bytes(), 1024u * 16);
}

TEST(Extent, ComesBackAtEveryCapacity) {
  for (std::uint32_t capacity = 32; capacity <= kFileSegmentRowsMax; capacity += 32) {
    const Extent extent = extent_at(kPosition, kFileSegmentsMax - 1, capacity, kSlabBytes);
    const auto found = read(head_of(extent));
    ASSERT_TRUE(found.ok()) << capacity;
    EXPECT_EQ(found->segment, kFileSegmentsMax - 1);
    EXPECT_EQ(found->capacity, capacity);
    EXPECT_EQ(found->slab_bytes, kSlabBytes);
    EXPECT_EQ(found->position, kPosition);
    EXPECT_EQ(found->slab, extent.slab);
    EXPECT_EQ(found->sums, extent.sums);
  }
}

TEST(Extent, EveryFlippedBitIsNoticed) {
  Head head = head_of(extent_at(kPosition, 3, 96, kSlabBytes));
  with_each_bit_flipped(head, [&](std::size_t bit) {
    EXPECT_EQ(read(head).code(), Code::corrupt) << bit;
  });
  EXPECT_TRUE(read(head).ok());
  EXPECT_EQ(read(head, kPosition + 64).code(), Code::corrupt);
}

// A field of the body replaced, and all sums made right again.
Result<Extent> read_with(std::size_t offset, std::uint64_t value, std::size_t bytes) {
  const Extent extent = extent_at(kPosition, 3, 96, kSlabBytes);
  Head head = head_of(extent);
  std::memcpy(head.data() + kRecordHeaderBytes + offset, &value, bytes);
  RecordHeader header;
  header.kind = RecordKind::extent;
  header.position = kPosition;
  header.bytes = extent.bytes();
  header.body_bytes = kExtentBodyBytes;
  header.body_sum = checksum64(head.data() + kRecordHeaderBytes, kExtentBodyBytes);
  header.previous = 1234;
  (void)write_record_header(std::span(head).first<kRecordHeaderBytes>(), kUuid, header);
  return read(head);
}

TEST(Extent, FieldsThatCannotBeAreCorruptEvenWithTheSumsRight) {
  EXPECT_TRUE(read_with(0, 3, 4).ok());
  EXPECT_TRUE(read_with(0, kFileSegmentsMax - 1, 4).ok());
  EXPECT_EQ(read_with(0, kFileSegmentsMax, 4).code(), Code::corrupt);
  for (const std::uint64_t capacity : {0u, 31u, 33u, 64u, 128u, 160u, 32800u, 0x80000000u}) {
    // 64 and 128 rows have as long sums as 96.
    const bool fits = capacity == 64 || capacity == 128;
    EXPECT_EQ(read_with(4, capacity, 4).ok(), fits) << capacity;
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t position :
       {std::uint64_t{0}, kPosition, kPosition + 129, kMost - 4095}) {
    EXPECT_EQ(read_with(8, position, 8).code(), Code::corrupt) << position;
    EXPECT_EQ(read_with(24, position, 8).code(), Code::corrupt) << position;
  }
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, kSlabBytes - 1, kSlabBytes + kFilePageBytes, kMost - 4095, kMost}) {
    EXPECT_EQ(read_with(16, bytes, 8).code(), Code::corrupt) << bytes;
  }
  for (std::size_t at = 32; at < kExtentBodyBytes; ++at) {
    EXPECT_EQ(read_with(at, 1, 1).code(), Code::corrupt) << at;
  }
}

// A record whose parts all follow from a slab of so many bytes, behind nearly a page of nothing.
constexpr std::uint64_t kFarPosition = kLogStart + 4096 - 64;
RecordHeader far_header(std::uint64_t slab_bytes) {
  RecordHeader header;
  header.kind = RecordKind::extent;
  header.position = kFarPosition;
  header.bytes = extent_at(kFarPosition, 3, 96, slab_bytes).bytes();
  header.body_bytes = kExtentBodyBytes;
  return header;
}

Result<Extent> read_slab(std::uint64_t slab_bytes) {
  Head head = head_of(extent_at(kFarPosition, 3, 96, kSlabBytes));
  put(head, kRecordHeaderBytes + 16, slab_bytes);
  put(head, kRecordHeaderBytes + 24, extent_at(kFarPosition, 3, 96, slab_bytes).sums);
  return read_extent(far_header(slab_bytes),
                     std::span<const std::byte>(head).subspan(kRecordHeaderBytes));
}

TEST(Extent, ASlabIsOfWholePagesAndLiesInItsRecord) {
  EXPECT_TRUE(read_slab(kFilePageBytes).ok());
  EXPECT_TRUE(read_slab(std::uint64_t{1} << 40).ok());
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{64}, kSlabBytes + 64}) {
    EXPECT_EQ(read_slab(bytes).code(), Code::corrupt) << bytes;
  }
  // One that ends before it begins: its record is 128 bytes.
  constexpr std::uint64_t kMinusOnePage = ~std::uint64_t{0} - 4095;
  EXPECT_EQ(far_header(kMinusOnePage).bytes, 128u);
  EXPECT_EQ(read_slab(kMinusOnePage).code(), Code::corrupt);
}

TEST(Extent, ARecordOfAnotherKindOrAnotherLengthIsNone) {
  Head head = head_of(extent_at(kPosition, 3, 96, kSlabBytes));
  auto header = read_record_header(std::span(head).first<kRecordHeaderBytes>(), kUuid, kPosition,
                                   1234, kFileBytesMax);
  ASSERT_TRUE(header.ok());
  const auto body = std::span<const std::byte>(head).subspan(kRecordHeaderBytes);
  for (std::size_t bytes = 0; bytes < kExtentBodyBytes; ++bytes) {
    EXPECT_EQ(read_extent(*header, body.first(bytes)).code(), Code::corrupt) << bytes;
  }
  header->bytes += 64;
  EXPECT_EQ(read_extent(*header, body).code(), Code::corrupt);
  header->bytes -= 64;
  EXPECT_TRUE(read_extent(*header, body).ok());
  header->kind = RecordKind::commit;
  EXPECT_EQ(read_extent(*header, body).code(), Code::corrupt);
}

}  // namespace
}  // namespace vicinal::test
