#include "support/log_composer.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/bits.hpp"
#include "base/checksum.hpp"

namespace vicinal::test {
namespace {

using namespace storage;

constexpr std::uint32_t kBlock = kFileBlockRows;

// Offsets of a slab's six arrays, as docs/format.md has them.
struct Slab {
  std::size_t planes, rests, scales, plane_scales, cosines, ids, bytes;

  Slab(const quant::CodeLayout& layout, std::size_t capacity) {
    std::size_t at = 0;
    const auto take = [&at](std::size_t bytes_taken) {
      const std::size_t start = at;
      at = round_up(at + bytes_taken + 64, 64);
      return start;
    };
    planes = take(capacity / kBlock * layout.plane_block_bytes);
    rests = take(capacity * layout.rest_bytes);
    scales = take(4 * capacity);
    plane_scales = take(4 * capacity);
    cosines = take(4 * capacity);
    ids = take(8 * capacity);
    bytes = round_up(at, kFilePageBytes);
  }
};

// Results of codecs that only a bug of the composer can make fail.
void must(bool held) {
  if (!held) std::abort();
}

}  // namespace

LogComposer::LogComposer(Superblock block)
    : block_(block),
      layout_(quant::CodeLayout::of(block.dim, block.bits)),
      writer_({layout_.dim, layout_.packed_row_bytes}) {
  block_.coded_dim = layout_.coded_dim;
  bytes_.resize(kLogStart);
  write_superblock(std::span(bytes_).first<kFilePageBytes>(), block_);
  directory();
}

void LogComposer::append(std::span<const std::byte> record, std::uint64_t sum) {
  bytes_.insert(bytes_.end(), record.begin(), record.end());
  previous_ = sum;
  // Where the next commit ends: what the live page says.
  const std::uint64_t end = bytes_.size();
  std::memcpy(bytes_.data() + kLivePagePosition + kLiveEnd, &end, sizeof end);
  std::memcpy(bytes_.data() + kLivePagePosition + kLiveSequence, &sequence_, sizeof sequence_);
}

void LogComposer::open(std::uint32_t number, std::uint32_t capacity) {
  Segment segment;
  segment.extent.segment = number;
  segment.extent.capacity = capacity;
  must(segments_.emplace(number, std::move(segment)).second);
}

void LogComposer::add(std::uint32_t number, std::uint64_t id, Random& random) {
  Segment& segment = segments_.at(number);
  must(segment.rows.size() < segment.extent.capacity);
  const auto fraction = [&random] { return static_cast<float>(random.below(1 << 20)) / (1 << 20); };
  LogRow row;
  row.id = id;
  row.factors = {fraction(), fraction(), fraction()};
  row.packed.resize(layout_.packed_row_bytes);
  for (std::uint8_t& byte : row.packed) byte = static_cast<std::uint8_t>(random.next());
  segment.rows.push_back(std::move(row));
}

void LogComposer::kill(std::uint32_t number, std::uint32_t row) {
  LogRow& killed = segments_.at(number).rows.at(row);
  must(killed.live);
  killed.live = false;
  dead_.insert(number << 15 | row);
}

void LogComposer::drop(std::uint32_t number) {
  const auto found = segments_.find(number);
  must(found != segments_.end() && !found->second.fresh);
  for (const LogRow& row : found->second.rows) rows_dropped_ += row.live ? 0 : 1;
  std::erase_if(dead_, [number](std::uint32_t slot) { return slot >> 15 == number; });
  dropped_.insert(number);
  segments_.erase(found);
}

void LogComposer::set_origin(std::vector<float> origin) {
  must(origin.size() == layout_.dim);
  origin_ = std::move(origin);
  origin_number_ = sequence_ + 1;
  origin_changed_ = true;
}

void LogComposer::write_extent(Segment& segment) {
  const Slab slab(layout_, segment.extent.capacity);
  segment.extent =
      extent_at(end(), segment.extent.segment, segment.extent.capacity, slab.bytes);
  std::array<std::byte, kExtentHeadBytes> head;
  const std::uint64_t sum =
      storage::write_extent(head, block_.uuid, segment.extent, sequence_, previous_);
  const std::uint64_t last = segment.extent.end();
  append(head, sum);
  bytes_.resize(last);
  segment.fresh = false;
}

BlockSums LogComposer::sums_of(const Segment& segment, std::uint32_t block) const {
  const Slab slab(layout_, segment.extent.capacity);
  const std::size_t start = segment.extent.slab;
  const std::size_t row = std::size_t{block} * kBlock;
  const std::size_t plane = start + slab.planes + block * layout_.plane_block_bytes;
  const std::size_t rests = start + slab.rests + row * layout_.rest_bytes;
  const std::size_t ids = start + slab.ids + row * 8;
  const auto sum = [this](std::size_t at, std::size_t bytes, std::uint64_t seed) {
    return checksum64(bytes_.data() + at, bytes, seed);
  };
  std::uint64_t planes = sum(plane, layout_.plane_block_bytes, 0);
  planes = sum(start + slab.scales + row * 4, kBlock * 4, planes);
  planes = sum(start + slab.plane_scales + row * 4, kBlock * 4, planes);
  planes = sum(start + slab.cosines + row * 4, kBlock * 4, planes);
  const std::uint64_t rows = sum(ids, kBlock * 8, sum(rests, kBlock * layout_.rest_bytes, 0));
  return {planes ^ position_mix(block_.uuid, plane),
          rows ^ position_mix(block_.uuid, layout_.rest_bytes == 0 ? ids : rests)};
}

void LogComposer::write_block(const Segment& segment, std::uint32_t block) {
  const Slab slab(layout_, segment.extent.capacity);
  std::byte* start = bytes_.data() + segment.extent.slab;
  for (std::uint32_t lane = 0; lane < kBlock; ++lane) {
    const std::size_t at = std::size_t{block} * kBlock + lane;
    const LogRow& row = segment.rows[at];
    std::byte* plane = start + slab.planes + block * layout_.plane_block_bytes;
    quant::for_each_sign_nibble(
        row.packed.data(), layout_.groups, [&](std::uint32_t group, std::uint8_t nibble) {
          plane[group * 16 + lane % 16] |= static_cast<std::byte>(nibble << lane / 16 * 4);
        });
    if (layout_.rest_bytes != 0) {
      std::memcpy(start + slab.rests + at * layout_.rest_bytes,
                  row.packed.data() + layout_.sign_bytes, layout_.rest_bytes);
    }
    std::memcpy(start + slab.scales + at * 4, &row.factors.scale, 4);
    std::memcpy(start + slab.plane_scales + at * 4, &row.factors.plane_scale, 4);
    std::memcpy(start + slab.cosines + at * 4, &row.factors.plane_cosine2, 4);
    std::memcpy(start + slab.ids + at * 8, &row.id, 8);
  }
  const BlockSums sums = sums_of(segment, block);
  std::memcpy(bytes_.data() + segment.extent.sums_position(block), &sums, sizeof sums);
}

void LogComposer::add_inline(const Segment& segment, std::uint32_t first) {
  const auto count = static_cast<std::uint32_t>(segment.rows.size()) - first;
  if (count == 0) return;
  auto room = writer_.add_rows(count);
  must(room.ok());
  for (std::uint32_t i = 0; i < count; ++i) {
    const LogRow& row = segment.rows[first + i];
    room->ids[i] = row.id;
    std::memcpy(room->factors + std::size_t{3} * i, &row.factors, sizeof row.factors);
    std::memcpy(room->packed_rows + i * row.packed.size(), row.packed.data(), row.packed.size());
  }
}

void LogComposer::add_grown(Segment& segment, std::uint32_t before) {
  const auto rows = static_cast<std::uint32_t>(segment.rows.size());
  if (rows == before) return;
  const std::uint32_t from = before / kBlock;
  const std::uint32_t to = rows / kBlock;
  std::uint64_t sum = 0;
  if (to > from) {
    sum = checksum64(bytes_.data() + segment.extent.sums_position(from),
                     (to - from) * sizeof(BlockSums));
  }
  must(writer_.add_grown({segment.extent.segment, rows, sum}).ok());
  add_inline(segment, before > to * kBlock ? before : to * kBlock);
}

void LogComposer::add_page(std::uint32_t number, std::uint32_t page) {
  std::array<std::uint32_t, kFileLivePageWords> words;
  words.fill(~std::uint32_t{0});
  const std::vector<LogRow>& rows = segments_.at(number).rows;
  for (std::uint32_t i = 0; i < kFileLivePageRows; ++i) {
    const std::size_t row = std::size_t{page} * kFileLivePageRows + i;
    if (row < rows.size() && !rows[row].live) words[i / 32] &= ~(std::uint32_t{1} << i % 32);
  }
  must(writer_.add_live_page(number, page, words).ok());
}

void LogComposer::add_deaths(std::uint32_t deaths_of_a_page) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> pages;
  for (const std::uint32_t slot : dead_) pages[slot / kFileLivePageRows].push_back(slot);
  for (const auto& [page, slots] : pages) {
    if (slots.size() >= deaths_of_a_page) {
      add_page(page / kFileLivePages, page % kFileLivePages);
    } else {
      for (const std::uint32_t slot : slots) must(writer_.add_dead(slot).ok());
    }
  }
  dead_.clear();
}

CommitHead LogComposer::head() const {
  CommitHead head;
  for (const auto& [number, segment] : segments_) {
    for (const LogRow& row : segment.rows) ++(row.live ? head.live_rows : head.dead_rows);
    head.segment_end = number + 1;
  }
  head.rows_dropped = rows_dropped_;
  head.ids_record = ids_record_;
  return head;
}

void LogComposer::seal(RecordKind kind) {
  const auto record = writer_.seal(block_.uuid, kind, end(), sequence_, previous_, head());
  must(record.ok());
  append(record->bytes, record->sum);
}

void LogComposer::commit(std::uint32_t deaths_of_a_page) {
  ++sequence_;
  writer_.clear();
  for (auto& [number, segment] : segments_) {
    const bool fresh = segment.fresh;
    if (fresh) write_extent(segment);
    if (fresh) {
      must(writer_.add_opened({number, segment.extent.capacity, segment.extent.position}).ok());
    }
    const auto whole = static_cast<std::uint32_t>(segment.rows.size()) / kBlock;
    for (std::uint32_t block = segment.shown / kBlock; block < whole; ++block) {
      write_block(segment, block);
    }
  }
  for (const std::uint32_t number : dropped_) must(writer_.add_dropped(number).ok());
  dropped_.clear();
  for (auto& [number, segment] : segments_) {
    add_grown(segment, segment.shown);
    segment.shown = static_cast<std::uint32_t>(segment.rows.size());
  }
  add_deaths(deaths_of_a_page);
  if (origin_changed_) must(writer_.set_origin(origin_number_, origin_.data()).ok());
  origin_changed_ = false;
  seal(RecordKind::commit);
}

void LogComposer::directory() {
  writer_.clear();
  for (auto& [number, segment] : segments_) {
    must(!segment.fresh);
    must(writer_.add_opened({number, segment.extent.capacity, segment.extent.position}).ok());
    add_grown(segment, 0);
    for (std::uint32_t page = 0; page < kFileLivePages; ++page) {
      bool dead = false;
      for (std::size_t row = std::size_t{page} * kFileLivePageRows;
           row < segment.rows.size() && row / kFileLivePageRows == page; ++row) {
        dead |= !segment.rows[row].live;
      }
      if (dead) add_page(number, page);
    }
  }
  if (!origin_.empty()) must(writer_.set_origin(origin_number_, origin_.data()).ok());
  directory_ = end();
  seal(RecordKind::directory);
}

void LogComposer::ids() {
  std::array<std::vector<std::uint32_t>, kIdsTables> entries;
  std::vector<IdsCoverage> coverage;
  for (const auto& [number, segment] : segments_) {
    must(segment.shown == segment.rows.size());
    coverage.push_back({number, segment.shown, segment.extent.position});
    for (std::uint32_t row = 0; row < segment.shown; ++row) {
      const std::uint64_t hash = mix64(segment.rows[row].id + 0x9e3779b97f4a7c15u);
      entries[hash >> 58].push_back((number << 15 | row) + 1);
    }
  }
  std::array<IdsTable, kIdsTables> tables{};
  for (std::size_t i = 0; i < kIdsTables; ++i) {
    tables[i].used = static_cast<std::uint32_t>(entries[i].size());
    tables[i].capacity = tables[i].used == 0 ? 0 : tables[i].used * 2;
  }
  const std::uint64_t bytes =
      place_ids_tables(tables, static_cast<std::uint32_t>(coverage.size()));
  std::vector<std::byte> record(bytes);
  for (std::size_t i = 0; i < kIdsTables; ++i) {
    std::vector<std::uint32_t> table(tables[i].capacity);
    for (const std::uint32_t entry : entries[i]) {
      const Segment& segment = segments_.at((entry - 1) >> 15);
      const std::uint64_t id = segment.rows[(entry - 1) & 0x7fff].id;
      const std::uint64_t hash = mix64(id + 0x9e3779b97f4a7c15u);
      std::size_t at = (hash & 0xffffffffu) * table.size() >> 32;
      while (table[at] != 0) at = (at + 1) % table.size();
      table[at] = entry;
    }
    if (table.empty()) continue;
    tables[i].sum = checksum64(table.data(), table.size() * 4);
    std::memcpy(record.data() + tables[i].offset, table.data(), table.size() * 4);
  }
  ids_record_ = end();
  GrowingBuffer buffer;
  const auto head = write_ids_head(buffer, block_.uuid, end(), sequence_ + 1, previous_, tables,
                                   coverage);
  must(head.ok());
  std::memcpy(record.data(), head->bytes.data(), head->bytes.size());
  append(record, head->sum);
}

void LogComposer::meta() {
  ++turn_;
  const auto slot = static_cast<std::uint32_t>(turn_ % kMetaSlots);
  const MetaSlot meta = {turn_, sequence_, end(), directory_, head().live_rows};
  write_meta(std::span(bytes_).subspan(meta_position(slot)).first<kMetaBytes>(), block_.uuid, slot,
             meta);
}

std::string LogComposer::lines() const {
  std::string text;
  const auto hex = [&text](std::uint64_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
      text += "0123456789abcdef"[value >> shift & 15];
    }
  };
  for (const auto& [number, segment] : segments_) {
    for (std::size_t i = 0; i < segment.shown; ++i) {
      const LogRow& row = segment.rows[i];
      if (!row.live) continue;
      text += std::to_string(std::size_t{number} << 15 | i) + ' ' + std::to_string(row.id) + ' ';
      for (const float factor :
           {row.factors.scale, row.factors.plane_scale, row.factors.plane_cosine2}) {
        hex(bit_cast<std::uint32_t>(factor), 8);
        text += ' ';
      }
      for (const std::uint8_t byte : row.packed) hex(byte, 2);
      text += '\n';
    }
  }
  return text;
}

}  // namespace vicinal::test
