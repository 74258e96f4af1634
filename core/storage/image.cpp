#include "storage/image.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/checksum.hpp"

namespace vicinal::storage {
namespace {

constexpr char kImageMagic[8] = {'V', 'I', 'C', 'I', 'N', 'A', 'L', '\n'};

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

void write_header(std::span<std::byte, kImageHeaderBytes> bytes,
                  const ImageHeader& of) noexcept {
  VICINAL_ASSERT(of.version >= kImageVersionPlain && of.version <= kImageVersion);
  Header header{};
  std::memcpy(header.magic, kImageMagic, sizeof kImageMagic);
  header.version = of.version;
  header.header_bytes = kImageHeaderBytes;
  header.payload_bytes = of.payload_bytes;
  header.payload_checksum = of.payload_checksum;
  header.header_checksum = checksum_of_header(header);
  std::memcpy(bytes.data(), &header, sizeof header);
}

Result<ImageHeader> read_header(
    std::span<const std::byte, kImageHeaderBytes> bytes) noexcept {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kImageMagic, sizeof kImageMagic) != 0) return Status(Code::corrupt);
  if (header.header_checksum != checksum_of_header(header)) return Status(Code::corrupt);
  if (header.version > kImageVersion) {
    return Status(Code::version, header.version, kImageVersion);
  }
  if (header.version < kImageVersionPlain || header.header_bytes != kImageHeaderBytes) {
    return Status(Code::corrupt);
  }
  for (const std::uint64_t word : header.reserved) {
    if (word != 0) return Status(Code::corrupt);
  }
  return ImageHeader{header.version, header.payload_bytes, header.payload_checksum};
}

void seal_image(std::span<std::byte> image, std::uint32_t version) noexcept {
  VICINAL_ASSERT(image.size() >= kImageHeaderBytes);
  const auto payload = image.subspan(kImageHeaderBytes);
  write_header(image.first<kImageHeaderBytes>(),
               {version, payload.size(), checksum64(payload.data(), payload.size())});
}

Result<ImagePayload> open_image(std::span<const std::byte> image) noexcept {
  if (image.size() < kImageHeaderBytes) return Status(Code::corrupt);
  const auto header = read_header(image.first<kImageHeaderBytes>());
  if (!header.ok()) return header.status();
  const auto payload = image.subspan(kImageHeaderBytes);
  if (header->payload_bytes != payload.size() ||
      header->payload_checksum != checksum64(payload.data(), payload.size())) {
    return Status(Code::corrupt);
  }
  return ImagePayload{payload, header->version};
}

}  // namespace vicinal::storage
