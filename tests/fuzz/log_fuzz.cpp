// libFuzzer: the codecs of index files against hostile bytes. The first byte chooses a structure,
// the second whether its sums are made right first, so that what lies behind them is reached; the
// rest is the structure. Whatever a reader accepts is read to its end, and what has one form only
// must come out of the writer as it went in. AddressSanitizer watches what is read.
//
// VICINAL_FUZZ_DEFECT=NAME puts a careless reader in a codec's place, to show that the fuzzer finds
// it: `trust_the_count`, `ignore_the_padding`.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "base/checksum.hpp"
#include "storage/commit_format.hpp"
#include "storage/extent_format.hpp"
#include "storage/ids_format.hpp"
#include "storage/image.hpp"
#include "storage/log_format.hpp"

namespace vicinal::test {
namespace {

using namespace storage;

const char* const kDefect = std::getenv("VICINAL_FUZZ_DEFECT");
bool defect(const char* name) { return kDefect != nullptr && std::strcmp(kDefect, name) == 0; }

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

constexpr std::uint64_t kPosition = kLogStart + (std::uint64_t{1} << 20);
constexpr CommitShape kShape = {5, 7};

Uuid some_uuid() {
  Uuid uuid;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) uuid.bytes[i] = static_cast<std::byte>(i);
  return uuid;
}

// A copy in a block of its own, so that a read beyond it is one beyond what was allocated.
struct Copy {
  explicit Copy(std::span<const std::byte> from)
      : memory(new std::byte[from.size()]), bytes(memory.get(), from.size()) {
    if (!from.empty()) std::memcpy(memory.get(), from.data(), from.size());
  }
  std::unique_ptr<std::byte[]> memory;
  std::span<std::byte> bytes;
};

// The first Bytes of the input, the rest zeros.
template <std::size_t Bytes>
std::array<std::byte, Bytes> padded(std::span<const std::byte> input) {
  std::array<std::byte, Bytes> bytes{};
  std::memcpy(bytes.data(), input.data(), input.size() < Bytes ? input.size() : Bytes);
  return bytes;
}

void put_sum(std::span<std::byte> bytes, std::size_t at, std::uint64_t sum) {
  std::memcpy(bytes.data() + at, &sum, sizeof sum);
}

std::uint64_t sum_in_file(std::span<const std::byte> bytes, const Uuid& uuid) {
  std::byte covered[16 + 56];
  std::memcpy(covered, uuid.bytes.data(), 16);
  std::memcpy(covered + 16, bytes.data(), 56);
  return checksum64(covered, sizeof covered);
}

void try_superblock(std::span<const std::byte> input, bool reseal) {
  auto page = padded<kFilePageBytes>(input);
  if (reseal) {
    put_sum(page, 56, checksum64(page.data(), 56));
    put_sum(page, 4088, checksum64(page.data(), 4088));
  }
  (void)read_header(std::span(page).first<kImageHeaderBytes>());
  (void)read_file_version(std::span(page).first<kFileStartBytes>());
  const auto block = read_superblock(page);
  if (!block.ok()) return;
  std::array<std::byte, kFilePageBytes> again;
  write_superblock(again, *block);
  if (again != page) fail("a superblock was read that is not written so");
}

void try_meta(std::span<const std::byte> input, bool reseal) {
  auto bytes = padded<kMetaBytes>(input);
  const Uuid uuid = some_uuid();
  if (reseal) put_sum(bytes, 56, sum_in_file(bytes, uuid));
  for (const std::uint32_t slot : {0u, 1u}) {
    const auto meta = read_meta(bytes, uuid, slot);
    if (!meta.ok()) continue;
    std::array<std::byte, kMetaBytes> again;
    write_meta(again, uuid, slot, *meta);
    if (again != bytes) fail("a meta slot was read that is not written so");
  }
}

void try_header(std::span<const std::byte> input, bool reseal) {
  auto bytes = padded<kRecordHeaderBytes>(input);
  const Uuid uuid = some_uuid();
  if (reseal) put_sum(bytes, 56, sum_in_file(bytes, uuid));
  std::uint64_t position = 0;
  std::memcpy(&position, bytes.data() + 8, sizeof position);
  const auto header = read_record_header_unchained(bytes, uuid, position, kFileBytesMax);
  if (!header.ok()) return;
  if (header->bytes > kFileBytesMax - position || header->body_bytes > header->bytes) {
    fail("a record that ends beyond its limit was read");
  }
  std::array<std::byte, kRecordHeaderBytes> again;
  if (write_record_header(again, uuid, *header) != header->sum || again != bytes) {
    fail("a record header was read that is not written so");
  }
}

void try_extent(std::span<const std::byte> input) {
  const auto body = padded<kExtentBodyBytes>(input);
  std::uint64_t slab_bytes = 0;
  std::memcpy(&slab_bytes, body.data() + 16, sizeof slab_bytes);
  RecordHeader header;
  header.kind = RecordKind::extent;
  header.position = kPosition;
  header.body_bytes = kExtentBodyBytes;
  // As long as the input says, so that what is accepted is not only of one length.
  std::uint32_t capacity = 0;
  std::memcpy(&capacity, body.data() + 4, sizeof capacity);
  header.bytes = extent_at(kPosition, 0, capacity, slab_bytes).bytes();
  if (header.bytes > kFileBytesMax - kPosition) header.bytes = 1 << 20;
  const auto extent = read_extent(header, body);
  if (!extent.ok()) return;
  if (extent->end() != header.end() || extent->slab < kPosition + kExtentHeadBytes ||
      extent->sums_position(extent->blocks()) > extent->end()) {
    fail("an extent whose parts lie outside was read");
  }
  std::array<std::byte, kExtentHeadBytes> again;
  (void)write_extent(again, some_uuid(), *extent, 0, 0);
  if (std::memcmp(again.data() + kRecordHeaderBytes, body.data(), body.size()) != 0) {
    fail("an extent was read that is not written so");
  }
}

// Rows that a segment has before a commit: by its number, and not always right.
std::uint32_t rows_before(std::uint32_t number) {
  return number % 5 == 4 ? kNoSegment : number % 5 * 16;
}

// What the writer makes of all that a view gives.
Status rewrite(const CommitView& view, CommitWriter& writer) {
  Status status;
  const auto keep = [&status](Status next) {
    if (status.ok()) status = next;
  };
  for (std::uint32_t i = 0; i < view.opened().size(); ++i) {
    keep(writer.add_opened(view.opened()[i]));
  }
  for (std::uint32_t i = 0; i < view.dropped().size(); ++i) {
    keep(writer.add_dropped(view.dropped()[i]));
  }
  for (std::uint32_t i = 0; i < view.dead().size(); ++i) keep(writer.add_dead(view.dead()[i]));
  for (std::uint32_t i = 0; i < view.live_pages().size(); ++i) {
    const LivePageEntry entry = view.live_pages()[i];
    keep(writer.add_live_page(entry.number, entry.page, entry.words));
  }
  if (view.has_origin()) {
    float origin[kShape.dim];
    view.copy_origin(origin);
    keep(writer.set_origin(view.origin_number(), origin));
  }
  InlineRowsCursor cursor(view);
  for (std::uint32_t i = 0; i < view.grown().size(); ++i) {
    keep(writer.add_grown(view.grown()[i]));
    const auto rows = cursor.next(rows_before(view.grown()[i].number));
    if (!rows.ok()) fail("rows that were checked are not there");
    if (rows->count() == 0) continue;
    auto room = writer.add_rows(rows->count());
    if (!room.ok()) return room.status();
    for (std::uint32_t row = 0; row < rows->count(); ++row) {
      room->ids[row] = rows->id(row);
      const auto factors = rows->factors(row);
      std::memcpy(room->factors + 3 * row, factors.data(), kFactorBytes);
      std::memcpy(room->packed_rows + row * kShape.packed_row_bytes, rows->packed_row(row),
                  kShape.packed_row_bytes);
    }
  }
  return status;
}

// Reads as many elements as the body says there are.
void trust_the_count(std::span<const std::byte> body) {
  std::uint32_t count = 0;
  if (body.size() < 64) return;
  std::memcpy(&count, body.data() + 32, sizeof count);
  volatile std::uint64_t sum = 0;
  const RecordList<OpenedSegment> opened(body.data() + 64, count);
  for (std::uint32_t i = 0; i < opened.size(); ++i) sum = sum + opened[i].number;
}

// As if nobody looked at what follows an odd number of dropped segments.
void ignore_the_padding(std::span<std::byte> body) {
  std::uint32_t counts[3];
  if (body.size() < 64) return;
  std::memcpy(counts, body.data() + 32, sizeof counts);
  const auto [opened, grown, dropped] = counts;
  const std::uint64_t end = 64 + (std::uint64_t{opened} + grown) * 16 + std::uint64_t{dropped} * 4;
  if (dropped % 2 != 0 && end + 4 <= body.size()) std::memset(body.data() + end, 0, 4);
}

void try_commit(std::span<const std::byte> input, RecordKind kind) {
  const Copy body(input);
  RecordHeader header;
  header.kind = kind;
  header.position = kPosition;
  header.body_bytes = body.bytes.size();
  header.bytes = record_bytes(header.body_bytes);
  if (defect("trust_the_count")) trust_the_count(body.bytes);
  if (defect("ignore_the_padding")) ignore_the_padding(body.bytes);
  const auto view = CommitView::parse(header, body.bytes, kShape);
  if (!view.ok() || !check_rows(*view, rows_before).ok()) return;
  CommitWriter writer(kShape);
  const Status status = rewrite(*view, writer);
  const auto again = writer.seal(some_uuid(), kind, kPosition, 1, 0, view->head());
  if (!status.ok() || !again.ok()) fail("a commit was read that cannot be written");
  if (again->bytes.size() != header.bytes ||
      std::memcmp(again->bytes.data() + kRecordHeaderBytes, input.data(), input.size()) != 0) {
    fail("a commit was read that is not written so");
  }
}

void try_ids(std::span<const std::byte> input) {
  const Copy body(input);
  std::array<IdsTable, kIdsTables> tables{};
  RecordHeader header;
  header.kind = RecordKind::ids;
  header.position = kPosition;
  header.body_bytes = body.bytes.size();
  constexpr std::size_t kTablesAt = 8;
  // Lengths of the tables as the input has them, so that the record's fits.
  std::uint32_t count = 0;
  if (body.bytes.size() >= kTablesAt + sizeof tables) {
    std::memcpy(tables.data(), body.bytes.data() + kTablesAt, sizeof tables);
    std::memcpy(&count, body.bytes.data() + 4, sizeof count);
  }
  header.bytes = place_ids_tables(tables, count);
  const auto view = IdsView::parse(header, body.bytes);
  if (!view.ok()) return;
  auto coverage = std::make_unique<IdsCoverage[]>(view->coverage().size());
  for (std::uint32_t i = 0; i < kIdsTables; ++i) {
    tables[i] = view->tables()[i];
    if (tables[i].offset + std::uint64_t{tables[i].capacity} * 4 > header.bytes) {
      fail("an id table outside of its record was read");
    }
  }
  for (std::uint32_t i = 0; i < view->coverage().size(); ++i) coverage[i] = view->coverage()[i];
  GrowingBuffer buffer;
  const auto again = write_ids_head(buffer, some_uuid(), kPosition, 1, 0, tables,
                                    {coverage.get(), view->coverage().size()});
  if (!again.ok() || std::memcmp(again->bytes.data() + kRecordHeaderBytes, body.bytes.data(),
                                 body.bytes.size()) != 0) {
    fail("an id table was read that is not written so");
  }
}

}  // namespace
}  // namespace vicinal::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vicinal;
  if (size < 2) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(2);
  const bool reseal = data[1] % 2 != 0;
  switch (data[0] % 7) {
    case 0: test::try_superblock(input, reseal); break;
    case 1: test::try_meta(input, reseal); break;
    case 2: test::try_header(input, reseal); break;
    case 3: test::try_extent(input); break;
    case 4: test::try_commit(input, storage::RecordKind::commit); break;
    case 5: test::try_commit(input, storage::RecordKind::directory); break;
    default: test::try_ids(input); break;
  }
  return 0;
}
