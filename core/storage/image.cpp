#include "storage/image.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/checksum.hpp"

namespace vicinal::storage {
namespace {

constexpr char kMagic[8] = {'V', 'I', 'C', 'I', 'N', 'A', 'L', '\n'};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;
  std::uint64_t payload_checksum;
  std::uint64_t reserved[3];
  std::uint64_t header_checksum;  // of the bytes before it
};
static_assert(sizeof(Header) == kImageHeaderBytes);
static_assert(offsetof(Header, header_checksum) == 56);

std::uint64_t checksum_of_header(const Header& header) noexcept {
  return checksum64(&header, offsetof(Header, header_checksum));
}

}  // namespace

void seal_image(std::span<std::byte> image, std::uint32_t version) noexcept {
  VICINAL_ASSERT(version >= kImageVersionPlain && version <= kImageVersion);
  VICINAL_ASSERT(image.size() >= kImageHeaderBytes);
  const auto payload = image.subspan(kImageHeaderBytes);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = version;
  header.header_bytes = kImageHeaderBytes;
  header.payload_bytes = payload.size();
  header.payload_checksum = checksum64(payload.data(), payload.size());
  header.header_checksum = checksum_of_header(header);
  std::memcpy(image.data(), &header, sizeof header);
}

Result<ImagePayload> open_image(std::span<const std::byte> image) noexcept {
  if (image.size() < kImageHeaderBytes) return Status(Code::corrupt);
  Header header;
  std::memcpy(&header, image.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return Status(Code::corrupt);
  if (header.header_checksum != checksum_of_header(header)) return Status(Code::corrupt);
  if (header.version > kImageVersion) {
    return Status(Code::version, header.version, kImageVersion);
  }
  const auto payload = image.subspan(kImageHeaderBytes);
  if (header.version < kImageVersionPlain || header.header_bytes != kImageHeaderBytes ||
      header.payload_bytes != payload.size() ||
      header.payload_checksum != checksum64(payload.data(), payload.size())) {
    return Status(Code::corrupt);
  }
  for (const std::uint64_t word : header.reserved) {
    if (word != 0) return Status(Code::corrupt);
  }
  return ImagePayload{payload, header.version};
}

}  // namespace vicinal::storage
