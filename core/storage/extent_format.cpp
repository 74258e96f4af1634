#include "storage/extent_format.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/checksum.hpp"

namespace vicinal::storage {
namespace {

struct ExtentBytes {
  std::uint32_t segment;
  std::uint32_t capacity;
  std::uint64_t slab;
  std::uint64_t slab_bytes;
  std::uint64_t sums;
  std::uint64_t reserved[4];
};
static_assert(sizeof(ExtentBytes) == kExtentBodyBytes && offsetof(ExtentBytes, sums) == 24);

}  // namespace

std::uint64_t write_extent(std::span<std::byte, kExtentHeadBytes> bytes, const Uuid& uuid,
                           const Extent& extent, std::uint64_t sequence,
                           std::uint64_t previous) noexcept {
  VICINAL_ASSERT(extent.segment < kFileSegmentsMax && is_extent_capacity(extent.capacity));
  VICINAL_ASSERT(extent.slab_bytes != 0 && extent.slab_bytes % kFilePageBytes == 0);
  ExtentBytes body{};
  body.segment = extent.segment;
  body.capacity = extent.capacity;
  body.slab = extent.slab;
  body.slab_bytes = extent.slab_bytes;
  body.sums = extent.sums;
  RecordHeader header;
  header.kind = RecordKind::extent;
  header.position = extent.position;
  header.bytes = extent.bytes();
  header.body_bytes = sizeof body;
  header.sequence = sequence;
  header.body_sum = checksum64(&body, sizeof body);
  header.previous = previous;
  std::memcpy(bytes.data() + kRecordHeaderBytes, &body, sizeof body);
  return write_record_header(bytes.first<kRecordHeaderBytes>(), uuid, header);
}

Result<Extent> read_extent(const RecordHeader& header, std::span<const std::byte> body) noexcept {
  if (header.kind != RecordKind::extent || body.size() != kExtentBodyBytes) {
    return Status(Code::corrupt);
  }
  ExtentBytes bytes;
  std::memcpy(&bytes, body.data(), sizeof bytes);
  for (const std::uint64_t word : bytes.reserved) {
    if (word != 0) return Status(Code::corrupt);
  }
  if (bytes.segment >= kFileSegmentsMax || !is_extent_capacity(bytes.capacity) ||
      bytes.slab_bytes == 0 || bytes.slab_bytes % kFilePageBytes != 0 ||
      bytes.slab_bytes > header.bytes) {
    return Status(Code::corrupt);
  }
  const Extent extent =
      extent_at(header.position, bytes.segment, bytes.capacity, bytes.slab_bytes);
  if (extent.slab != bytes.slab || extent.sums != bytes.sums || extent.bytes() != header.bytes) {
    return Status(Code::corrupt);
  }
  return extent;
}

}  // namespace vicinal::storage
