// The id table's record: its sub-tables as they lie in memory, and which rows are entered
// (docs/format.md).
//
// Thread safety: pure functions over bytes.
// I1: entries are hints. A record whose tables are whole says where ids may be, no more: one that
//     belongs to another version does no harm, and a damaged one is left out.
// I2: where the tables lie follows from the counts; what a reader finds elsewhere is CORRUPT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/growing_buffer.hpp"
#include "storage/commit_format.hpp"
#include "storage/log_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::storage {

inline constexpr std::uint32_t kIdsTables = 64;

// A sub-table: `capacity` entries of 4 bytes, slot + 1 or 0. None: all zeros.
struct IdsTable {
  std::uint64_t offset = 0;    // of its entries from the record's first byte
  std::uint32_t capacity = 0;  // entries
  std::uint32_t used = 0;      // of them, not 0
  std::uint64_t sum = 0;       // checksum64 of the entries
};
// The first `rows` rows of a segment have their entries in the record.
struct IdsCoverage {
  std::uint32_t number = 0;
  std::uint32_t rows = 0;
  std::uint64_t extent = 0;  // position of its record: which segment of that number
};
static_assert(sizeof(IdsTable) == 24 && sizeof(IdsCoverage) == 16);

// Of header and body, and the zeros behind them.
[[nodiscard]] std::size_t ids_head_bytes(std::uint32_t coverage_count) noexcept;
// Gives each table of a capacity its offset. Returns the bytes of the whole record. The entries go
// there, each table's followed by zeros up to the next offset.
[[nodiscard]] std::uint64_t place_ids_tables(std::span<IdsTable, kIdsTables> tables,
                                             std::uint32_t coverage_count) noexcept;
// Header and body of a record whose tables were placed, and summed, before; up to where the first
// table's entries begin. `coverage` ascends by number. FULL.
[[nodiscard]] Result<SealedRecord> write_ids_head(
    GrowingBuffer& to, const Uuid& uuid, std::uint64_t position, std::uint64_t sequence,
    std::uint64_t previous, std::span<const IdsTable, kIdsTables> tables,
    std::span<const IdsCoverage> coverage) noexcept;

// An id table's body; the entries are still to be compared with their sums.
class IdsView {
 public:
  // CORRUPT: anything that write_ids_head does not make. The body's sum is checked by now.
  [[nodiscard]] static Result<IdsView> parse(const RecordHeader& header,
                                             std::span<const std::byte> body) noexcept;

  // kIdsTables of them.
  [[nodiscard]] const RecordList<IdsTable>& tables() const noexcept { return tables_; }
  [[nodiscard]] const RecordList<IdsCoverage>& coverage() const noexcept { return coverage_; }

 private:
  IdsView() = default;

  RecordList<IdsTable> tables_;
  RecordList<IdsCoverage> coverage_;
};

}  // namespace vicinal::storage
