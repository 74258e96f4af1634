#include "storage/ids_format.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "base/checksum.hpp"

namespace vicinal::storage {
namespace {

struct IdsHeadBytes {
  std::uint32_t tables;
  std::uint32_t coverage;
};
static_assert(sizeof(IdsHeadBytes) == 8);

constexpr std::uint64_t body_bytes(std::uint32_t coverage_count) noexcept {
  return sizeof(IdsHeadBytes) + kIdsTables * sizeof(IdsTable) +
         std::uint64_t{coverage_count} * sizeof(IdsCoverage);
}

// The first multiple of kRecordAlignment behind a table's entries.
constexpr std::uint64_t behind(std::uint64_t offset, std::uint32_t capacity) noexcept {
  return round_up(offset + std::uint64_t{capacity} * sizeof(std::uint32_t), kRecordAlignment);
}

}  // namespace

std::size_t ids_head_bytes(std::uint32_t coverage_count) noexcept {
  return static_cast<std::size_t>(record_bytes(body_bytes(coverage_count)));
}

std::uint64_t place_ids_tables(std::span<IdsTable, kIdsTables> tables,
                               std::uint32_t coverage_count) noexcept {
  std::uint64_t at = record_bytes(body_bytes(coverage_count));
  for (IdsTable& table : tables) {
    table.offset = table.capacity == 0 ? 0 : at;
    at = behind(at, table.capacity);
  }
  return at;
}

Result<SealedRecord> write_ids_head(GrowingBuffer& to, const Uuid& uuid, std::uint64_t position,
                                    std::uint64_t sequence, std::uint64_t previous,
                                    std::span<const IdsTable, kIdsTables> tables,
                                    std::span<const IdsCoverage> coverage) noexcept {
  const auto count = static_cast<std::uint32_t>(coverage.size());
  const std::uint64_t body = body_bytes(count);
  std::uint64_t end = record_bytes(body);
  to.clear();
  if (end > ~std::size_t{0} / 2) return Status(Code::full, end);
  const Status room = to.reserve(static_cast<std::size_t>(end));
  if (!room.ok()) return room;
  // Nothing of this can fail: the room is there.
  (void)to.append_zeros(kRecordHeaderBytes);
  (void)to.append_value(IdsHeadBytes{kIdsTables, count});
  for (const IdsTable& table : tables) {
    VICINAL_ASSERT(table.offset == (table.capacity == 0 ? 0 : end));  // I2
    VICINAL_ASSERT(table.used <= table.capacity);
    (void)to.append_value(table);
    end = behind(end, table.capacity);
  }
  for (const IdsCoverage& entry : coverage) (void)to.append_value(entry);
  VICINAL_ASSERT(to.size() == kRecordHeaderBytes + body);
  RecordHeader header;
  header.kind = RecordKind::ids;
  header.position = position;
  header.bytes = end;
  header.body_bytes = body;
  header.sequence = sequence;
  header.body_sum = checksum64(to.data() + kRecordHeaderBytes, static_cast<std::size_t>(body));
  header.previous = previous;
  (void)to.pad_to(kRecordAlignment);
  const std::uint64_t sum = write_record_header(
      std::span<std::byte, kRecordHeaderBytes>(to.data(), kRecordHeaderBytes), uuid, header);
  return SealedRecord{to.bytes(), sum};
}

Result<IdsView> IdsView::parse(const RecordHeader& header,
                               std::span<const std::byte> body) noexcept {
  IdsHeadBytes head;
  if (header.kind != RecordKind::ids || body.size() < sizeof head) return Status(Code::corrupt);
  std::memcpy(&head, body.data(), sizeof head);
  if (head.tables != kIdsTables || body.size() != body_bytes(head.coverage)) {
    return Status(Code::corrupt);
  }
  IdsView view;
  view.tables_ = RecordList<IdsTable>(body.data() + sizeof head, kIdsTables);
  view.coverage_ = RecordList<IdsCoverage>(
      body.data() + sizeof head + kIdsTables * sizeof(IdsTable), head.coverage);
  std::uint64_t at = record_bytes(body.size());
  for (std::uint32_t i = 0; i < kIdsTables; ++i) {
    const IdsTable table = view.tables_[i];
    if (table.offset != (table.capacity == 0 ? 0 : at) || table.used > table.capacity ||
        (table.capacity == 0 && table.sum != 0)) {
      return Status(Code::corrupt);
    }
    at = behind(at, table.capacity);
  }
  if (at != header.bytes) return Status(Code::corrupt);
  for (std::uint32_t i = 0; i < head.coverage; ++i) {
    const IdsCoverage entry = view.coverage_[i];
    const bool ascends = i == 0 || view.coverage_[i - 1].number < entry.number;
    if (!ascends || entry.number >= kFileSegmentsMax || entry.rows == 0 ||
        entry.rows > kFileSegmentRowsMax || !is_log_position(entry.extent) ||
        entry.extent >= header.position) {
      return Status(Code::corrupt);
    }
  }
  return view;
}

}  // namespace vicinal::storage
