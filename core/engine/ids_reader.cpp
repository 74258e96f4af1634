#include "engine/ids_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "segment/id_table.hpp"

namespace vicinal::engine {

using segment::SubTable;
using storage::kIdsTables;

static_assert(kIdsTables == segment::kSubTables);

namespace {

// A mapping that all sub-tables of a record stand on.
struct MappedTables : segment::MemoryOwner {
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::uint32_t users = 1;

  static void end_one(segment::MemoryOwner* owner) noexcept {
    auto* mapped = static_cast<MappedTables*>(owner);
    if (--mapped->users != 0) return;
    platform::unmap_file(mapped->memory, mapped->bytes);
    delete mapped;
  }
};

// As many as a version's rows may need (Replay::expect_rows), so that sizes never overflow.
constexpr std::uint32_t kEntriesMax = std::uint32_t{1} << 28;

[[nodiscard]] bool is_usable(const storage::IdsTable& entry) noexcept {
  return entry.capacity == 0 ||
         (entry.capacity >= segment::kSubTableEntriesMin && entry.capacity <= kEntriesMax);
}

[[nodiscard]] std::size_t bytes_of(const storage::IdsTable& entry) noexcept {
  return std::size_t{entry.capacity} * sizeof(std::uint32_t);
}

}  // namespace

Status IdsReader::attach(std::uint64_t position, segment::Replay& replay) noexcept {
  if (position == 0) return {};
  const auto ids = log_.ids(position);
  Status done = ids.status();
  if (ids.ok()) {
    for (std::uint32_t i = 0; i < kIdsTables; ++i) entries_[i] = ids->view.tables()[i];
    done = std::all_of(std::begin(entries_), std::end(entries_), is_usable)
               ? note_coverage(ids->view)
               : Status(Code::corrupt);
  }
  if (done.ok() && !mapped_) done = replay.have_room(ids->header.bytes);
  if (done.ok()) done = mapped_ ? map_tables(ids->header) : read_tables(ids->header);
  if (done.ok()) done = attach_all(replay);
  if (done.ok()) {
    bytes_ = ids->header.bytes;
    return {};
  }
  end_tables();
  covered_.clear();
  return done.code() == Code::corrupt ? Status() : done;  // I1
}

std::uint32_t IdsReader::covered(std::uint32_t number) const noexcept {
  if (number >= covered_.size() / sizeof(std::uint32_t)) return 0;
  return reinterpret_cast<const std::uint32_t*>(covered_.data())[number];
}

Status IdsReader::note_coverage(const storage::IdsView& view) noexcept {
  for (std::uint32_t i = 0; i < view.coverage().size(); ++i) {
    const storage::IdsCoverage entry = view.coverage()[i];
    const LogReader::FileSegment* at = log_.segment(entry.number);
    if (at == nullptr || at->extent.position != entry.extent) continue;
    const std::size_t before = covered_.size() / sizeof(std::uint32_t);
    const Status room = covered_.append_zeros((entry.number - before) * sizeof(std::uint32_t));
    if (!room.ok()) return room;
    const Status noted = covered_.append_value(std::min(entry.rows, at->rows));
    if (!noted.ok()) return noted;
  }
  return {};
}

Status IdsReader::map_tables(const storage::RecordHeader& header) noexcept {
  auto* mapped = new (std::nothrow) MappedTables;
  if (mapped == nullptr) return Status(Code::full, sizeof(MappedTables));
  mapped->leave = MappedTables::end_one;
  const std::uint64_t start = header.position / platform::kMapBytes * platform::kMapBytes;
  mapped->bytes = static_cast<std::size_t>(header.end() - start);
  auto memory = file_.map(start, mapped->bytes, platform::Mapping::read);
  if (!memory.ok()) {
    delete mapped;
    return memory.status();
  }
  mapped->memory = *memory;
  const auto* record = static_cast<const std::byte*>(*memory) + (header.position - start);
  Status made;
  for (std::uint32_t i = 0; made.ok() && i < kIdsTables; ++i) {
    const storage::IdsTable& entry = entries_[i];
    if (entry.capacity == 0) continue;
    const std::byte* at = record + entry.offset;
    if (checksum64(at, bytes_of(entry)) != entry.sum) {
      made = Status(Code::corrupt);
      break;
    }
    tables_[i] = SubTable::over(reinterpret_cast<const std::uint32_t*>(at), entry.capacity,
                                entry.used, *mapped);
    if (tables_[i] == nullptr) made = Status(Code::full);
    if (tables_[i] != nullptr) ++mapped->users;
  }
  MappedTables::end_one(mapped);  // our own part of it
  return made;
}

Status IdsReader::read_tables(const storage::RecordHeader& header) noexcept {
  for (std::uint32_t i = 0; i < kIdsTables; ++i) {
    const storage::IdsTable& entry = entries_[i];
    if (entry.capacity == 0) continue;
    auto bytes = AlignedBuffer::create(bytes_of(entry));
    if (!bytes.ok()) return bytes.status();
    const Status read =
        file_.read_at(header.position + entry.offset, {bytes->data(), bytes_of(entry)});
    if (!read.ok()) return read;
    if (checksum64(bytes->data(), bytes_of(entry)) != entry.sum) return Status(Code::corrupt);
    tables_[i] = SubTable::create(entry.capacity);
    if (tables_[i] == nullptr) return Status(Code::full, bytes_of(entry));
    const auto* from = bytes->as<std::uint32_t>();
    for (std::uint32_t at = 0; at < entry.capacity; ++at) {
      tables_[i]->own_entries()[at].store(from[at], sync::relaxed);  // id_table.hpp I2
    }
    tables_[i]->recount();  // the record's figure may lie
  }
  return {};
}

Status IdsReader::attach_all(segment::Replay& replay) noexcept {
  for (std::uint32_t i = 0; i < kIdsTables; ++i) {
    if (tables_[i] == nullptr) continue;
    const Status attached = replay.attach_table(i, tables_[i]);
    if (!attached.ok()) return attached;
    tables_[i] = nullptr;
  }
  return {};
}

void IdsReader::end_tables() noexcept {
  for (SubTable*& table : tables_) {
    if (table != nullptr) table->destroy(table);
    table = nullptr;
  }
}

}  // namespace vicinal::engine
