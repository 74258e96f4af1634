// The frame of an index file (docs/format.md): superblock, meta slots, live page, record headers.
//
// Thread safety: pure functions over bytes.
// I1: little-endian, the same bytes from every target.
// I2: what a read_* gives was written by the matching write_* for this file and this place: each
//     sum covers the file's uuid, and the place where there are several.
// I3: bytes are hostile until their sum is right, and lengths until they fit what surrounds them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/random.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::storage {

static_assert(std::endian::native == std::endian::little, "memory is the file's layout");

inline constexpr std::uint32_t kLogVersion = 3;
inline constexpr std::size_t kFilePageBytes = 4096;
inline constexpr std::uint64_t kMetaSlots = 2;
inline constexpr std::uint64_t kLivePagePosition = 3 * kFilePageBytes;
inline constexpr std::uint64_t kLogStart = 4 * kFilePageBytes;
// No length or position of a file lies beyond, so that sums of two of them do not overflow.
inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 62;

// Numbers that the file and memory share; segment/ asserts that they are equal.
inline constexpr std::uint32_t kFileBlockRows = 32;
inline constexpr std::uint32_t kFileSegmentRowsMax = 32768;
inline constexpr std::uint32_t kFileSegmentsMax = 131072;
inline constexpr std::uint32_t kFileLivePageRows = 4096;
inline constexpr std::uint32_t kFileLivePageWords = kFileLivePageRows / kFileBlockRows;
inline constexpr std::uint32_t kFileLivePages = kFileSegmentRowsMax / kFileLivePageRows;
inline constexpr std::size_t kFactorBytes = 12;  // of one row

// One file's own name, drawn when it is made; a rewritten file has another.
struct Uuid {
  std::array<std::byte, 16> bytes{};
  friend bool operator==(const Uuid&, const Uuid&) noexcept = default;
};
static_assert(sizeof(Uuid) == 16);

using vicinal::IdKind;

struct Superblock {
  Uuid uuid;
  std::uint32_t dim = 0;
  Metric metric = Metric::cosine;
  std::uint8_t bits = 0;
  Originals originals = Originals::none;
  IdKind id_kind = IdKind::number;
  std::uint64_t seed = 0;
  std::uint32_t coded_dim = 0;  // CORRUPT unless it is what dim and bits give: the caller compares
  std::uint32_t factors = 3;    // floats a row
};

// The format version of the file that starts with these bytes: 1 and 2 are images (image.hpp).
// CORRUPT: no vicinal file, or damaged. VERSION(found, kLogVersion): of a newer format.
inline constexpr std::size_t kFileStartBytes = 64;
[[nodiscard]] Result<std::uint32_t> read_file_version(
    std::span<const std::byte, kFileStartBytes> start) noexcept;

// Whether the bytes are a file's of format 3 or later, intact as far as their first 64.
[[nodiscard]] bool is_log(std::span<const std::byte> bytes) noexcept;

void write_superblock(std::span<std::byte, kFilePageBytes> page, const Superblock& of) noexcept;
// CORRUPT: not as it was written, or no superblock. VERSION(found, kLogVersion): of a newer format.
// UNSUPPORTED(option): intact, but with what this version cannot read.
[[nodiscard]] Result<Superblock> read_superblock(
    std::span<const std::byte, kFilePageBytes> page) noexcept;

// Where opening starts. The two slots take turns; the valid one of the higher turn is the newer.
struct MetaSlot {
  std::uint64_t turn = 0;
  std::uint64_t sequence = 0;   // of the newest commit
  std::uint64_t end = 0;        // behind that commit's record
  std::uint64_t directory = 0;  // position of the newest directory record before `end`
  std::uint64_t rows = 0;       // live
};
inline constexpr std::size_t kMetaBytes = 64;  // of a slot; its page's other bytes are zero

[[nodiscard]] constexpr std::uint64_t meta_position(std::uint32_t slot) noexcept {
  return (slot + std::uint64_t{1}) * kFilePageBytes;
}
void write_meta(std::span<std::byte, kMetaBytes> bytes, const Uuid& uuid, std::uint32_t slot,
                const MetaSlot& of) noexcept;
// CORRUPT.
[[nodiscard]] Result<MetaSlot> read_meta(std::span<const std::byte, kMetaBytes> bytes,
                                         const Uuid& uuid, std::uint32_t slot) noexcept;

// The live page: how processes that map the file tell each other of commits. Each field is stored
// and loaded atomically by itself; none is covered by a sum, none is trusted.
inline constexpr std::uint64_t kLiveEnd = 0;        // u64: behind the newest commit to be read
inline constexpr std::uint64_t kLiveSequence = 8;   // u64: of that commit
inline constexpr std::uint64_t kLiveState = 16;     // u32: a LiveState
inline constexpr std::uint64_t kLiveWriter = 24;    // u64: the writer's process, 0: none
inline constexpr std::size_t kLiveBytes = 32;       // the page's other bytes are zero
enum class LiveState : std::uint32_t {
  normal = 0,
  moved = 1,  // another file has this one's name: reopen the path
};

enum class RecordKind : std::uint16_t {
  extent = 1,     // a segment's memory (extent_format.hpp)
  commit = 2,     // the difference of two versions (commit_format.hpp)
  directory = 3,  // a whole version, the same way
  ids = 4,        // the id table (ids_format.hpp)
  strings = 7,    // ids that are strings (strings_format.hpp)
  // Reserved. They are framed like any record, and readers of this version refuse a file that has
  // one as UNSUPPORTED.
  centres = 5,
  originals = 6,
  factors = 8,
};
inline constexpr std::uint16_t kRecordKindLast = 8;
[[nodiscard]] constexpr bool is_reserved(RecordKind kind) noexcept {
  return kind >= RecordKind::centres && kind != RecordKind::strings;
}

inline constexpr std::size_t kRecordHeaderBytes = 64;
inline constexpr std::size_t kRecordAlignment = 64;  // of positions and lengths

struct RecordHeader {
  RecordKind kind = RecordKind::commit;
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;       // the whole record
  std::uint64_t body_bytes = 0;  // behind the header
  std::uint64_t sequence = 0;
  std::uint64_t body_sum = 0;
  std::uint64_t previous = 0;    // `sum` of the record before it in the log, 0 for the first
  std::uint64_t sum = 0;         // its own: read gives it, write ignores it

  [[nodiscard]] constexpr std::uint64_t end() const noexcept { return position + bytes; }
};

// Bytes of a record that is only header and body.
[[nodiscard]] constexpr std::uint64_t record_bytes(std::uint64_t body_bytes) noexcept {
  return kRecordHeaderBytes +
         (body_bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

// Returns the header's sum: the next record's `previous`.
std::uint64_t write_record_header(std::span<std::byte, kRecordHeaderBytes> bytes,
                                  const Uuid& uuid, const RecordHeader& of) noexcept;
// The header of the record at `position`, behind the record of the sum `previous`; it ends at or
// before `limit`. CORRUPT: anything else. The body is still to be compared with `body_is_intact`.
[[nodiscard]] Result<RecordHeader> read_record_header(
    std::span<const std::byte, kRecordHeaderBytes> bytes, const Uuid& uuid, std::uint64_t position,
    std::uint64_t previous, std::uint64_t limit) noexcept;
// The same of a record found by its position alone (a meta slot's directory): any `previous`.
[[nodiscard]] Result<RecordHeader> read_record_header_unchained(
    std::span<const std::byte, kRecordHeaderBytes> bytes, const Uuid& uuid, std::uint64_t position,
    std::uint64_t limit) noexcept;
// `body`: header.body_bytes bytes from behind the header.
[[nodiscard]] bool body_is_intact(const RecordHeader& header,
                                  std::span<const std::byte> body) noexcept;

// What ties a sum of bytes without a header of their own to a file and a position in it.
// `uuid_head`: the first eight bytes of the file's uuid, little-endian.
[[nodiscard]] constexpr std::uint64_t mix_position(std::uint64_t uuid_head,
                                                   std::uint64_t position) noexcept {
  return mix64(uuid_head ^ mix64(position));
}
[[nodiscard]] inline std::uint64_t head_of(const Uuid& uuid) noexcept {
  std::uint64_t head = 0;
  std::memcpy(&head, uuid.bytes.data(), sizeof head);
  return head;
}
[[nodiscard]] inline std::uint64_t position_mix(const Uuid& uuid, std::uint64_t position) noexcept {
  return mix_position(head_of(uuid), position);
}

// May a record or its end be there?
[[nodiscard]] constexpr bool is_log_position(std::uint64_t position) noexcept {
  return position >= kLogStart && position <= kFileBytesMax && position % kRecordAlignment == 0;
}

[[nodiscard]] bool is_zero(std::span<const std::byte> bytes) noexcept;

}  // namespace vicinal::storage
