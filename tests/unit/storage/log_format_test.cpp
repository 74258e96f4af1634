#include "storage/log_format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <utility>

#include "base/checksum.hpp"
#include "file_bytes.hpp"
#include "storage/image.hpp"

namespace vicinal::test {
namespace {

using namespace storage;

const Uuid kUuid = uuid_of(1);

Superblock some_superblock() {
  Superblock block;
  block.uuid = kUuid;
  block.dim = 100;
  block.metric = Metric::l2;
  block.bits = 3;
  block.seed = 0x123456789abcdef0u;
  block.coded_dim = 104;
  return block;
}

using Page = std::array<std::byte, kFilePageBytes>;

Page page_of(const Superblock& block) {
  Page page;
  page.fill(std::byte{0xee});
  write_superblock(page, block);
  return page;
}

// Both sums of a superblock that was changed on purpose.
void seal(Page& page) {
  put(page, 56, checksum64(page.data(), 56));
  put(page, 4088, checksum64(page.data(), 4088));
}

// The sum at byte 56 of a meta slot or a record header.
void seal64(std::span<std::byte> bytes, const Uuid& uuid) {
  Bytes covered(uuid.bytes.begin(), uuid.bytes.end());
  covered.insert(covered.end(), bytes.begin(), bytes.begin() + 56);
  put(bytes, 56, checksum64(covered.data(), covered.size()));
}

TEST(Superblock, ComesBack) {
  const Page page = page_of(some_superblock());
  const auto found = read_superblock(page);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->uuid, kUuid);
  EXPECT_EQ(found->dim, 100u);
  EXPECT_EQ(found->metric, Metric::l2);
  EXPECT_EQ(found->bits, 3);
  EXPECT_EQ(found->originals, Originals::none);
  EXPECT_EQ(found->id_kind, IdKind::number);
  EXPECT_EQ(found->seed, 0x123456789abcdef0u);
  EXPECT_EQ(found->coded_dim, 104u);
  EXPECT_EQ(found->factors, 3u);
  const auto version = read_file_version(std::span(page).first<kFileStartBytes>());
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(*version, kLogVersion);
}

TEST(Superblock, EveryFlippedBitIsNoticed) {
  Page page = page_of(some_superblock());
  with_each_bit_flipped(page, [&](std::size_t bit) {
    EXPECT_EQ(read_superblock(page).code(), Code::corrupt) << bit;
  });
  EXPECT_TRUE(read_superblock(page).ok());
}

TEST(Superblock, ZerosMustBeZeroEvenWithTheSumsRight) {
  for (std::size_t at = 32; at < 4088; ++at) {
    if (at == 56) at = 88;  // the first sum, and what options say
    Page page = page_of(some_superblock());
    page[at] = std::byte{1};
    seal(page);
    EXPECT_EQ(read_superblock(page).code(), Code::corrupt) << at;
  }
}

TEST(Superblock, WhatTheFirstBytesSayMustBeOfThisFormatEvenWithTheSumsRight) {
  const std::pair<std::size_t, std::uint8_t> changes[] = {
      {0, 'v'}, {7, 0}, {8, 0}, {8, 1}, {8, 2}, {12, 64}, {13, 0}, {15, 1}};
  for (const auto& [at, value] : changes) {
    Page page = page_of(some_superblock());
    page[at] = static_cast<std::byte>(value);
    seal(page);
    EXPECT_EQ(read_superblock(page).code(), Code::corrupt) << at;
    const auto version = read_file_version(std::span(page).first<kFileStartBytes>());
    const bool known = at >= 8 && !(at == 8 && value == 0);
    EXPECT_EQ(version.ok(), known) << at;
  }
}

TEST(Superblock, AReaderOfImagesSaysVersionAndSoDoesOneOfThisFormatToALaterOne) {
  Page page = page_of(some_superblock());
  const auto as_image = read_header(std::span(page).first<kImageHeaderBytes>());
  EXPECT_EQ(as_image.code(), Code::version);
  EXPECT_EQ(as_image.status().a(), kLogVersion);
  put(page, 8, std::uint32_t{4});
  EXPECT_EQ(read_superblock(page).code(), Code::corrupt);
  put(page, 56, checksum64(page.data(), 56));  // all that a later format need share
  const auto later = read_superblock(page);
  EXPECT_EQ(later.code(), Code::version);
  EXPECT_EQ(later.status().a(), 4u);
  EXPECT_EQ(later.status().b(), kLogVersion);
}

TEST(Superblock, AnImageIsToldByItsVersionAndIsNoSuperblock) {
  Page page{};
  for (const std::uint32_t version : {kImageVersionPlain, kImageVersion}) {
    write_header(std::span(page).first<kImageHeaderBytes>(), {version, 0, 0});
    const auto found = read_file_version(std::span(page).first<kFileStartBytes>());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, version);
    EXPECT_EQ(read_superblock(page).code(), Code::corrupt);
  }
  page.fill(std::byte{0});
  EXPECT_EQ(read_file_version(std::span(page).first<kFileStartBytes>()).code(), Code::corrupt);
}

TEST(Superblock, WhatThisVersionCannotReadIsUnsupportedByNameOnceItIsIntact) {
  struct Case {
    std::size_t at;
    std::uint8_t value;
    Code code;
    OptionName option;
  };
  const Case cases[] = {
      {68, 3, Code::unsupported, OptionName::metric},
      {69, 0, Code::unsupported, OptionName::bits},
      {69, 5, Code::unsupported, OptionName::bits},
      {69, 255, Code::unsupported, OptionName::bits},
      {70, 1, Code::unsupported, OptionName::originals},
      {71, 2, Code::unsupported, OptionName::ids},
      {84, 4, Code::unsupported, OptionName::none},  // a fourth factor
      {66, 1, Code::corrupt, OptionName::none},      // dim above the coded dimension
      {80, 105, Code::corrupt, OptionName::none},    // not a multiple of 8
      {83, 1, Code::corrupt, OptionName::none},      // 2^24
  };
  for (const Case& one : cases) {
    Page page = page_of(some_superblock());
    page[one.at] = static_cast<std::byte>(one.value);
    EXPECT_EQ(read_superblock(page).code(), Code::corrupt) << one.at;
    seal(page);
    const auto found = read_superblock(page);
    EXPECT_EQ(found.code(), one.code) << one.at;
    if (one.code == Code::unsupported) {
      EXPECT_EQ(found.status().a(), static_cast<std::uint64_t>(one.option)) << one.at;
    }
  }
}

TEST(Superblock, ACoordinateHasOneOfFiveCountsOfBits) {
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    Superblock block = some_superblock();
    block.bits = static_cast<std::uint8_t>(bits);
    const Page page = page_of(block);
    const bool known = (bits >= 1 && bits <= 4) || bits == 8;
    EXPECT_EQ(read_superblock(page).code(), known ? Code::ok : Code::unsupported) << bits;
  }
}

TEST(Superblock, TheDimensionHasItsLimits) {
  for (const std::uint32_t dim : {0u, 1u, kDimMax, kDimMax + 1}) {
    Superblock block = some_superblock();
    block.dim = dim;
    block.coded_dim = (dim + 7) / 8 * 8;
    const Page page = page_of(block);
    const Code expected = dim == 0 ? Code::corrupt
                                   : dim <= kDimMax ? Code::ok : Code::unsupported;
    EXPECT_EQ(read_superblock(page).code(), expected) << dim;
  }
}

constexpr MetaSlot kMeta = {7, 99, kLogStart + 128, kLogStart + 64, 12345};
using Small = std::array<std::byte, 64>;

TEST(MetaSlot, ComesBackFromItsPlaceInItsFileOnly) {
  for (const std::uint32_t slot : {0u, 1u}) {
    Small bytes;
    write_meta(bytes, kUuid, slot, kMeta);
    const auto found = read_meta(bytes, kUuid, slot);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->turn, 7u);
    EXPECT_EQ(found->sequence, 99u);
    EXPECT_EQ(found->end, kMeta.end);
    EXPECT_EQ(found->directory, kMeta.directory);
    EXPECT_EQ(found->rows, 12345u);
    EXPECT_EQ(read_meta(bytes, kUuid, 1 - slot).code(), Code::corrupt);
    EXPECT_EQ(read_meta(bytes, uuid_of(2), slot).code(), Code::corrupt);
  }
  EXPECT_EQ(meta_position(0), 4096u);
  EXPECT_EQ(meta_position(1), 8192u);
}

TEST(MetaSlot, EveryFlippedBitOfItAndOfTheFilesUuidIsNoticed) {
  Small bytes;
  write_meta(bytes, kUuid, 0, kMeta);
  with_each_bit_flipped(bytes, [&](std::size_t bit) {
    EXPECT_EQ(read_meta(bytes, kUuid, 0).code(), Code::corrupt) << bit;
  });
  Uuid uuid = kUuid;
  with_each_bit_flipped(uuid.bytes, [&](std::size_t bit) {
    EXPECT_EQ(read_meta(bytes, uuid, 0).code(), Code::corrupt) << bit;
  });
  EXPECT_TRUE(read_meta(bytes, kUuid, 0).ok());
}

TEST(MetaSlot, PositionsThatCannotBeAreCorruptEvenWithTheSumRight) {
  struct Case {
    std::uint64_t end, directory;
    bool ok;
  };
  const Case cases[] = {
      {kLogStart + 64, kLogStart, true},
      {kFileBytesMax, kLogStart, true},
      {kFileBytesMax + 64, kLogStart, false},
      {kLogStart, kLogStart, false},
      {kLogStart + 64, kLogStart + 64, false},
      {kLogStart + 65, kLogStart, false},
      {kLogStart + 128, kLogStart + 8, false},
      {kLogStart + 64, kLogStart - 64, false},
      {std::numeric_limits<std::uint64_t>::max() - 63, kLogStart, false},
      {0, 0, false},
  };
  for (const Case& one : cases) {
    Small bytes;
    write_meta(bytes, kUuid, 1, kMeta);
    put(bytes, 24, one.end);
    put(bytes, 32, one.directory);
    seal64(bytes, kUuid);
    EXPECT_EQ(read_meta(bytes, kUuid, 1).ok(), one.ok) << one.end << " " << one.directory;
  }
  Small bytes;
  write_meta(bytes, kUuid, 0, kMeta);
  put(bytes, 48, std::uint64_t{1} << 63);
  seal64(bytes, kUuid);
  EXPECT_EQ(read_meta(bytes, kUuid, 0).code(), Code::corrupt);
}

constexpr std::uint64_t kPosition = kLogStart + 640;
constexpr std::uint64_t kPrevious = 0x7777777777777777u;

RecordHeader some_header() {
  RecordHeader header;
  header.kind = RecordKind::commit;
  header.position = kPosition;
  header.bytes = 256;
  header.body_bytes = 130;
  header.sequence = 5;
  header.body_sum = 0x1111;
  header.previous = kPrevious;
  return header;
}

TEST(RecordHeader, ComesBackWithItsSum) {
  Small bytes;
  const std::uint64_t sum = write_record_header(bytes, kUuid, some_header());
  const auto found = read_record_header(bytes, kUuid, kPosition, kPrevious, kPosition + 256);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->kind, RecordKind::commit);
  EXPECT_EQ(found->position, kPosition);
  EXPECT_EQ(found->bytes, 256u);
  EXPECT_EQ(found->body_bytes, 130u);
  EXPECT_EQ(found->sequence, 5u);
  EXPECT_EQ(found->body_sum, 0x1111u);
  EXPECT_EQ(found->previous, kPrevious);
  EXPECT_EQ(found->sum, sum);
  EXPECT_EQ(found->end(), kPosition + 256);
}

TEST(RecordHeader, EveryFlippedBitOfItAndOfTheFilesUuidIsNoticed) {
  Small bytes;
  (void)write_record_header(bytes, kUuid, some_header());
  Uuid uuid = kUuid;
  const auto check = [&](std::size_t bit) {
    EXPECT_EQ(read_record_header(bytes, uuid, kPosition, kPrevious, kFileBytesMax).code(),
              Code::corrupt) << bit;
  };
  with_each_bit_flipped(bytes, check);
  with_each_bit_flipped(uuid.bytes, check);
  EXPECT_TRUE(read_record_header(bytes, uuid, kPosition, kPrevious, kFileBytesMax).ok());
}

TEST(RecordHeader, ARecordElsewhereOrBehindAnotherOneIsRefused) {
  Small bytes;
  (void)write_record_header(bytes, kUuid, some_header());
  EXPECT_EQ(read_record_header(bytes, kUuid, kPosition + 64, kPrevious, kFileBytesMax).code(),
            Code::corrupt);
  EXPECT_EQ(read_record_header(bytes, kUuid, kPosition, kPrevious + 1, kFileBytesMax).code(),
            Code::corrupt);
  EXPECT_EQ(read_record_header(bytes, uuid_of(2), kPosition, kPrevious, kFileBytesMax).code(),
            Code::corrupt);
  EXPECT_TRUE(read_record_header_unchained(bytes, kUuid, kPosition, kFileBytesMax).ok());
  EXPECT_EQ(read_record_header_unchained(bytes, kUuid, kPosition - 64, kFileBytesMax).code(),
            Code::corrupt);
}

TEST(RecordHeader, EndsWithinItsLimit) {
  Small bytes;
  (void)write_record_header(bytes, kUuid, some_header());
  for (std::uint64_t limit = 0; limit < kPosition + 256; ++limit) {
    ASSERT_EQ(read_record_header(bytes, kUuid, kPosition, kPrevious, limit).code(),
              Code::corrupt) << limit;
  }
  EXPECT_TRUE(read_record_header(bytes, kUuid, kPosition, kPrevious, kPosition + 256).ok());
  EXPECT_TRUE(read_record_header(bytes, kUuid, kPosition, kPrevious, kFileBytesMax).ok());
  EXPECT_FALSE(read_record_header(bytes, kUuid, kPosition, kPrevious, kFileBytesMax + 1).ok());
}

TEST(RecordHeader, LengthsThatCannotBeAreCorruptEvenWithTheSumRight) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  struct Case {
    std::uint64_t bytes, body_bytes;
    bool ok;
  };
  const Case cases[] = {
      {64, 0, true},     {128, 64, true},   {128, 0, true},     {64, 1, false},
      {128, 65, false},  {0, 0, false},     {130, 60, false},   {kMost, 0, false},
      {kMost - 63, 0, false}, {kMost - 63, kMost - 127, false}, {128, kMost, false},
      {128, kMost - 62, false}, {0, kMost - 63, false}, {kFileBytesMax, 64, false},
      {kFileBytesMax - kPosition, 64, true}, {kFileBytesMax - kPosition + 64, 64, false},
  };
  for (const Case& one : cases) {
    Small bytes;
    (void)write_record_header(bytes, kUuid, some_header());
    put(bytes, 16, one.bytes);
    put(bytes, 24, one.body_bytes);
    seal64(bytes, kUuid);
    EXPECT_EQ(read_record_header(bytes, kUuid, kPosition, kPrevious, kFileBytesMax).ok(), one.ok)
        << one.bytes << " " << one.body_bytes;
  }
}

TEST(RecordHeader, StandsWhereRecordsMayEvenWithTheSumRight) {
  for (const std::uint64_t position :
       {std::uint64_t{0}, kLogStart - 64, kLogStart + 1, kLogStart + 32, kFileBytesMax + 64}) {
    Small bytes;
    (void)write_record_header(bytes, kUuid, some_header());
    put(bytes, 8, position);
    seal64(bytes, kUuid);
    EXPECT_EQ(read_record_header(bytes, kUuid, position, kPrevious, kFileBytesMax).code(),
              Code::corrupt) << position;
  }
}

TEST(RecordHeader, HasOneOfEightKindsAndZerosBehindIt) {
  for (std::uint32_t kind = 0; kind < 65536; ++kind) {
    Small bytes;
    (void)write_record_header(bytes, kUuid, some_header());
    put(bytes, 4, static_cast<std::uint16_t>(kind));
    seal64(bytes, kUuid);
    const auto found = read_record_header(bytes, kUuid, kPosition, kPrevious, kFileBytesMax);
    ASSERT_EQ(found.ok(), kind >= 1 && kind <= 8) << kind;
    if (found.ok()) {
      EXPECT_EQ(is_reserved(found->kind), kind >= 5 && kind != 7) << kind;
    }
  }
  Small bytes;
  (void)write_record_header(bytes, kUuid, some_header());
  put(bytes, 6, std::uint16_t{1});
  seal64(bytes, kUuid);
  EXPECT_EQ(read_record_header(bytes, kUuid, kPosition, kPrevious, kFileBytesMax).code(),
            Code::corrupt);
}

TEST(RecordHeader, ABodyIsComparedByItsLengthAndItsSum) {
  Bytes body(130);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(i * 11);
  RecordHeader header = some_header();
  header.body_sum = checksum64(body.data(), body.size());
  EXPECT_TRUE(body_is_intact(header, body));
  for (std::size_t bytes = 0; bytes < body.size(); ++bytes) {
    EXPECT_FALSE(body_is_intact(header, std::span(body).first(bytes))) << bytes;
  }
  with_each_bit_flipped(body, [&](std::size_t bit) {
    EXPECT_FALSE(body_is_intact(header, body)) << bit;
  });
}

TEST(PositionMix, DiffersByFileAndByPosition) {
  // mix(uuid, p) = mix64(first 8 bytes of the uuid ^ mix64(p)), whatever the machine.
  Uuid uuid;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) uuid.bytes[i] = static_cast<std::byte>(i + 1);
  EXPECT_EQ(position_mix(uuid, 4096), mix64(0x0807060504030201u ^ mix64(4096)));
  EXPECT_NE(position_mix(uuid, 4096), position_mix(uuid, 8192));
  with_each_bit_flipped(std::span(uuid.bytes).first<8>(), [&](std::size_t bit) {
    EXPECT_NE(position_mix(uuid, 4096), mix64(0x0807060504030201u ^ mix64(4096))) << bit;
  });
}

}  // namespace
}  // namespace vicinal::test
