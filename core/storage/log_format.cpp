#include "storage/log_format.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/checksum.hpp"

namespace vicinal::storage {
namespace {

constexpr char kMagic[8] = {'V', 'I', 'C', 'I', 'N', 'A', 'L', '\n'};
constexpr char kMetaMagic[4] = {'M', 'E', 'T', 'A'};
constexpr char kRecordMagic[4] = {'V', 'R', 'E', 'C'};

// The first 64 bytes read as an image's header, whose versions end below this one: an older reader
// finds its sum right and says VERSION.
struct FileStart {
  char magic[8];
  std::uint32_t version;
  std::uint32_t page_bytes;
  std::byte uuid[16];
  std::uint64_t reserved[3];
  std::uint64_t sum;  // of the bytes before it
};
static_assert(sizeof(FileStart) == kFileStartBytes && offsetof(FileStart, sum) == 56);

struct SuperblockBytes {
  FileStart start;
  std::uint32_t dim;
  std::uint8_t metric;
  std::uint8_t bits;
  std::uint8_t originals;
  std::uint8_t id_kind;
  std::uint64_t seed;
  std::uint32_t coded_dim;
  std::uint32_t factors;
};
static_assert(sizeof(SuperblockBytes) == 88 && offsetof(SuperblockBytes, seed) == 72 &&
              offsetof(SuperblockBytes, coded_dim) == 80);
constexpr std::size_t kSuperblockSum = kFilePageBytes - 8;

struct MetaBytes {
  char magic[4];
  std::uint32_t slot;
  std::uint64_t turn;
  std::uint64_t sequence;
  std::uint64_t end;
  std::uint64_t directory;
  std::uint64_t rows;
  std::uint64_t reserved;
  std::uint64_t sum;  // of the uuid and the bytes before it
};
static_assert(sizeof(MetaBytes) == kMetaBytes && offsetof(MetaBytes, sum) == 56);

struct HeaderBytes {
  char magic[4];
  std::uint16_t kind;
  std::uint16_t reserved;
  std::uint64_t position;
  std::uint64_t bytes;
  std::uint64_t body_bytes;
  std::uint64_t sequence;
  std::uint64_t body_sum;
  std::uint64_t previous;
  std::uint64_t sum;  // of the uuid and the bytes before it
};
static_assert(sizeof(HeaderBytes) == kRecordHeaderBytes && offsetof(HeaderBytes, sum) == 56);

// The sum of the file's uuid followed by all of `of` but its last field, the sum.
template <class T>
std::uint64_t sum_in_file(const Uuid& uuid, const T& of) noexcept {
  static_assert(sizeof(T) == 64 && offsetof(T, sum) == 56);
  std::byte bytes[sizeof uuid.bytes + offsetof(T, sum)];
  std::memcpy(bytes, uuid.bytes.data(), sizeof uuid.bytes);
  std::memcpy(bytes + sizeof uuid.bytes, &of, offsetof(T, sum));
  return checksum64(bytes, sizeof bytes);
}

bool is_aligned(std::uint64_t bytes) noexcept { return bytes % kRecordAlignment == 0; }

// What an intact superblock may say that this version cannot read, or nobody can.
Status check_options(const SuperblockBytes& bytes) noexcept {
  const auto unsupported = [](OptionName name) {
    return Status(Code::unsupported, static_cast<std::uint64_t>(name));
  };
  if (bytes.dim == 0 || bytes.coded_dim < bytes.dim || bytes.coded_dim % 8 != 0) {
    return Status(Code::corrupt);
  }
  if (bytes.dim > kDimMax) return unsupported(OptionName::dim);
  if (bytes.coded_dim > 2 * kDimMax) return Status(Code::corrupt);
  if (bytes.metric > static_cast<std::uint8_t>(Metric::l2)) {
    return unsupported(OptionName::metric);
  }
  const std::uint8_t bits = bytes.bits;
  if ((bits < 1 || bits > 4) && bits != 8) return unsupported(OptionName::bits);
  if (bytes.originals != static_cast<std::uint8_t>(Originals::none)) {
    return unsupported(OptionName::originals);
  }
  if (bytes.id_kind > static_cast<std::uint8_t>(IdKind::string)) {
    return unsupported(OptionName::ids);
  }
  return bytes.factors == 3 ? Status() : unsupported(OptionName::none);
}

}  // namespace

bool is_zero(std::span<const std::byte> bytes) noexcept {
  for (const std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

Result<std::uint32_t> read_file_version(
    std::span<const std::byte, kFileStartBytes> start) noexcept {
  FileStart bytes;
  std::memcpy(&bytes, start.data(), sizeof bytes);
  if (std::memcmp(bytes.magic, kMagic, sizeof kMagic) != 0) return Status(Code::corrupt);
  if (bytes.sum != checksum64(&bytes, offsetof(FileStart, sum)) || bytes.version == 0) {
    return Status(Code::corrupt);
  }
  if (bytes.version > kLogVersion) return Status(Code::version, bytes.version, kLogVersion);
  return bytes.version;
}

void write_superblock(std::span<std::byte, kFilePageBytes> page, const Superblock& of) noexcept {
  SuperblockBytes bytes{};
  std::memcpy(bytes.start.magic, kMagic, sizeof kMagic);
  bytes.start.version = kLogVersion;
  bytes.start.page_bytes = kFilePageBytes;
  std::memcpy(bytes.start.uuid, of.uuid.bytes.data(), sizeof bytes.start.uuid);
  bytes.start.sum = checksum64(&bytes.start, offsetof(FileStart, sum));
  bytes.dim = of.dim;
  bytes.metric = static_cast<std::uint8_t>(of.metric);
  bytes.bits = of.bits;
  bytes.originals = static_cast<std::uint8_t>(of.originals);
  bytes.id_kind = static_cast<std::uint8_t>(of.id_kind);
  bytes.seed = of.seed;
  bytes.coded_dim = of.coded_dim;
  bytes.factors = of.factors;
  std::memset(page.data(), 0, page.size());
  std::memcpy(page.data(), &bytes, sizeof bytes);
  const std::uint64_t sum = checksum64(page.data(), kSuperblockSum);
  std::memcpy(page.data() + kSuperblockSum, &sum, sizeof sum);
}

bool is_log(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kFileStartBytes) return false;
  const auto version = read_file_version(bytes.first<kFileStartBytes>());
  return version.ok() && *version >= kLogVersion;
}

Result<Superblock> read_superblock(std::span<const std::byte, kFilePageBytes> page) noexcept {
  const auto version = read_file_version(page.first<kFileStartBytes>());
  if (!version.ok()) return version.status();
  if (*version < kLogVersion) return Status(Code::corrupt);
  std::uint64_t sum = 0;
  std::memcpy(&sum, page.data() + kSuperblockSum, sizeof sum);
  if (sum != checksum64(page.data(), kSuperblockSum)) return Status(Code::corrupt);
  SuperblockBytes bytes;
  std::memcpy(&bytes, page.data(), sizeof bytes);
  if (bytes.start.page_bytes != kFilePageBytes) return Status(Code::corrupt);
  for (const std::uint64_t word : bytes.start.reserved) {
    if (word != 0) return Status(Code::corrupt);
  }
  if (!is_zero(page.subspan(sizeof bytes, kSuperblockSum - sizeof bytes))) {
    return Status(Code::corrupt);
  }
  const Status options = check_options(bytes);
  if (!options.ok()) return options;
  Superblock found;
  std::memcpy(found.uuid.bytes.data(), bytes.start.uuid, sizeof bytes.start.uuid);
  found.dim = bytes.dim;
  found.metric = static_cast<Metric>(bytes.metric);
  found.bits = bytes.bits;
  found.originals = static_cast<Originals>(bytes.originals);
  found.id_kind = static_cast<IdKind>(bytes.id_kind);
  found.seed = bytes.seed;
  found.coded_dim = bytes.coded_dim;
  found.factors = bytes.factors;
  return found;
}

void write_meta(std::span<std::byte, kMetaBytes> bytes, const Uuid& uuid, std::uint32_t slot,
                const MetaSlot& of) noexcept {
  VICINAL_ASSERT(slot < kMetaSlots);
  VICINAL_ASSERT(is_log_position(of.end) && is_log_position(of.directory));
  VICINAL_ASSERT(of.directory < of.end);
  MetaBytes meta{};
  std::memcpy(meta.magic, kMetaMagic, sizeof kMetaMagic);
  meta.slot = slot;
  meta.turn = of.turn;
  meta.sequence = of.sequence;
  meta.end = of.end;
  meta.directory = of.directory;
  meta.rows = of.rows;
  meta.sum = sum_in_file(uuid, meta);
  std::memcpy(bytes.data(), &meta, sizeof meta);
}

Result<MetaSlot> read_meta(std::span<const std::byte, kMetaBytes> bytes, const Uuid& uuid,
                           std::uint32_t slot) noexcept {
  VICINAL_ASSERT(slot < kMetaSlots);
  MetaBytes meta;
  std::memcpy(&meta, bytes.data(), sizeof meta);
  if (std::memcmp(meta.magic, kMetaMagic, sizeof kMetaMagic) != 0 || meta.slot != slot ||
      meta.sum != sum_in_file(uuid, meta) || meta.reserved != 0) {
    return Status(Code::corrupt);
  }
  if (!is_log_position(meta.end) || !is_log_position(meta.directory) ||
      meta.directory >= meta.end) {
    return Status(Code::corrupt);
  }
  return MetaSlot{meta.turn, meta.sequence, meta.end, meta.directory, meta.rows};
}

std::uint64_t write_record_header(std::span<std::byte, kRecordHeaderBytes> bytes,
                                  const Uuid& uuid, const RecordHeader& of) noexcept {
  VICINAL_ASSERT(is_log_position(of.position) && is_aligned(of.bytes));
  VICINAL_ASSERT(of.bytes >= record_bytes(of.body_bytes));
  HeaderBytes header{};
  std::memcpy(header.magic, kRecordMagic, sizeof kRecordMagic);
  header.kind = static_cast<std::uint16_t>(of.kind);
  header.position = of.position;
  header.bytes = of.bytes;
  header.body_bytes = of.body_bytes;
  header.sequence = of.sequence;
  header.body_sum = of.body_sum;
  header.previous = of.previous;
  header.sum = sum_in_file(uuid, header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return header.sum;
}

Result<RecordHeader> read_record_header_unchained(
    std::span<const std::byte, kRecordHeaderBytes> bytes, const Uuid& uuid, std::uint64_t position,
    std::uint64_t limit) noexcept {
  HeaderBytes header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kRecordMagic, sizeof kRecordMagic) != 0 ||
      header.sum != sum_in_file(uuid, header)) {
    return Status(Code::corrupt);
  }
  if (header.position != position || !is_log_position(position) || header.reserved != 0 ||
      header.kind == 0 || header.kind > kRecordKindLast) {
    return Status(Code::corrupt);
  }
  // Lengths by what is left, so that no sum of two can overflow.
  if (limit > kFileBytesMax || position > limit || header.bytes > limit - position ||
      !is_aligned(header.bytes) || header.body_bytes > header.bytes ||
      record_bytes(header.body_bytes) > header.bytes) {
    return Status(Code::corrupt);
  }
  return RecordHeader{static_cast<RecordKind>(header.kind), position, header.bytes,
                      header.body_bytes, header.sequence, header.body_sum, header.previous,
                      header.sum};
}

Result<RecordHeader> read_record_header(std::span<const std::byte, kRecordHeaderBytes> bytes,
                                        const Uuid& uuid, std::uint64_t position,
                                        std::uint64_t previous, std::uint64_t limit) noexcept {
  auto header = read_record_header_unchained(bytes, uuid, position, limit);
  if (header.ok() && header->previous != previous) return Status(Code::corrupt);
  return header;
}

bool body_is_intact(const RecordHeader& header, std::span<const std::byte> body) noexcept {
  return body.size() == header.body_bytes &&
         checksum64(body.data(), body.size()) == header.body_sum;
}

}  // namespace vicinal::storage
