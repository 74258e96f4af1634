#include "builder_world.hpp"

#include <bit>
#include <cstring>
#include <set>

#include "base/assert.hpp"
#include "support/assert_report.hpp"

namespace vicinal::test {
namespace {

using segment::SegmentView;
using segment::Slot;
using segment::Version;

constexpr std::uint32_t kRows = simd::kBlockRows;
[[maybe_unused]] const bool kAssertsReported = report_asserts();

[[nodiscard]] std::uint64_t bytes_of(const Version& version) {
  std::uint64_t bytes = version.bytes + version.directory->bytes + version.ids->bytes;
  for (std::uint32_t i = 0; i < version.directory->leaf_capacity; ++i) {
    const segment::DirectoryLeaf* leaf = version.directory->leaves()[i];
    if (leaf != nullptr) bytes += leaf->bytes;
  }
  for (const segment::SubTable* table : version.ids->tables) {
    if (table != nullptr) bytes += table->bytes;
  }
  if (version.strings.any()) {
    const segment::StringDirectory& strings = *version.strings.directory;
    bytes += strings.bytes;
    for (std::uint32_t i = 0; i < strings.count; ++i) bytes += strings.entries()[i].chunk->bytes;
  }
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    bytes += view->segment->bytes;
    if (view->tail != nullptr) bytes += view->tail->bytes;
    if (view->live == nullptr) continue;
    bytes += view->live->bytes;
    for (const segment::LivePage* page : view->live->pages) {
      if (page != nullptr) bytes += page->bytes;
    }
  }
  return bytes;
}

// version.hpp I2 to I4 for one view, and its live rows in the model.
[[nodiscard]] testing::AssertionResult view_is_right(const SegmentView& view, std::uint32_t number,
                                                     const segment::Strings& strings,
                                                     const Model& model,
                                                     std::set<std::uint64_t>* seen) {
  const auto fail = [number] {
    return testing::AssertionFailure() << "segment " << number << ": ";
  };
  if (view.segment->number() != number) return fail() << "number " << view.segment->number();
  if (view.rows > view.segment->capacity()) return fail() << view.rows << " rows are too many";
  if ((view.tail != nullptr) != (view.rows % kRows != 0)) return fail() << "tail of " << view.rows;
  std::uint32_t live = 0;
  for (std::uint32_t block = 0; block < view.blocks(); ++block) {
    live += static_cast<std::uint32_t>(std::popcount(view.lanes(block)));
  }
  if (live + view.dead != view.rows) return fail() << live << " live, " << view.dead << " dead";
  if (live == 0 && view.rows == view.segment->capacity()) return fail() << "dead and still here";
  for (std::uint32_t row = 0; row < view.segment->capacity() && view.live != nullptr; ++row) {
    const segment::LivePage* page = view.live->pages[row / 4096];
    const bool bit = page == nullptr || (page->words[row / kRows % 128] >> row % kRows & 1) != 0;
    if (row >= view.rows && !bit) return fail() << "a dead bit past the rows at " << row;
  }
  for (std::uint32_t row = 0; row < view.rows; ++row) {
    if (!view.is_live(row)) continue;
    std::uint64_t id = view.segment->ids()[row];
    if (strings.any()) {
      const std::string_view text = strings.text(segment::Handle{id});
      id = Names::id_of(text);
      if (text != Names::text_of(id)) return fail() << "row " << row << " has a torn string";
    }
    if (!model.contains(id)) return fail() << "row " << row << " shows id " << id;
    if (!seen->insert(id).second) return fail() << "id " << id << " is there twice";
  }
  return testing::AssertionSuccess();
}

}  // namespace

std::string Names::text_of(std::uint64_t id) {
  if (id == 0) return {};
  const std::uint64_t mixed = mix64(id);
  const std::size_t filler =
      id % 389 == 5 ? kStringBytesMax - 30 : mixed % (id % 7 == 0 ? 900 : 40);
  return std::to_string(id) + std::string(filler, static_cast<char>('a' + mixed % 26));
}

std::uint64_t Names::id_of(std::string_view text) {
  std::uint64_t id = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    id = id * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return id;
}

std::uint64_t Names::hash_of(std::string_view text) const {
  const std::uint64_t hash = segment::StringKey::of(text).hash;
  return collide ? mix64(hash % 5) : hash;
}

PlainRow read_row(const Version& version, Slot slot, const quant::CodeLayout& layout) {
  const SegmentView& view = *version.view(slot.segment());
  const std::uint32_t lane = slot.row() % kRows;
  const std::uint8_t* plane = view.plane(slot.row() / kRows);
  PlainRow row;
  row.packed.resize(layout.packed_row_bytes);
  for (std::uint32_t group = 0; group < layout.groups; ++group) {
    const unsigned byte = plane[group * simd::kGroupBytes + lane % 16];
    const unsigned nibble = lane < 16 ? byte & 15 : byte >> 4;
    const std::uint32_t half = layout.groups / 2;
    std::uint8_t& out = row.packed[group % half];
    out = static_cast<std::uint8_t>(out | (group < half ? nibble : nibble << 4));
  }
  std::memcpy(row.packed.data() + layout.sign_bytes, view.segment->rest(slot.row()),
              layout.rest_bytes);
  row.factors = view.segment->factors(slot.row());
  return row;
}

bool same_row(const PlainRow& a, const PlainRow& b) {
  return a.packed == b.packed && std::memcmp(&a.factors, &b.factors, sizeof a.factors) == 0;
}

testing::AssertionResult shows(const Version& version, const Model& model,
                               std::span<const std::uint64_t> absent,
                               const quant::CodeLayout& layout, const Names& names) {
  const auto find = [&](std::uint64_t id) {
    return names.with_key(id, [&](const auto& key) { return version.find(key); });
  };
  const auto fail = [&] {
    return testing::AssertionFailure() << "version " << version.sequence << ": ";
  };
  if (version.live_rows != model.size()) {
    return fail() << version.live_rows << " live rows, not " << model.size();
  }
  std::uint64_t dead = 0;
  std::set<std::uint64_t> seen;
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    auto right = view_is_right(*view, number, version.strings, model, &seen);
    if (!right) return fail() << right.message();
    dead += view->dead;
  }
  if (seen.size() != model.size()) return fail() << seen.size() << " rows are to be seen";
  if (dead != version.dead_rows) return fail() << dead << " dead, not " << version.dead_rows;
  for (const auto& [id, row] : model) {
    const Slot slot = find(id);
    if (!slot.valid()) return fail() << "id " << id << " is not found";
    if (!same_row(read_row(version, slot, layout), row)) return fail() << "id " << id << " differs";
  }
  for (const std::uint64_t id : absent) {
    if (!model.contains(id) && find(id).valid()) return fail() << "finds id " << id;
  }
  return testing::AssertionSuccess();
}

BuilderWorld::BuilderWorld(std::uint32_t dim, std::uint32_t bits, std::uint64_t memory_bytes_max,
                           const Names& names)
    : random(1), names_(names), layout_(quant::CodeLayout::of(dim, bits)),
      builder_(layout_, memory_bytes_max, names.kind), compaction_(builder_) {
  VICINAL_ASSERT(builder_.prepare().ok());
  auto first = builder_.make_first();
  root_.publish(*first, [] {});
}

BuilderWorld::~BuilderWorld() {
  while (!pins_.empty()) unpin(0);
  segment::VersionBuilder::destroy_version(const_cast<Version*>(&newest()));
}

const Version& BuilderWorld::newest() const {
  return static_cast<const Version&>(*root_.newest());
}

PlainRow BuilderWorld::random_row() {
  PlainRow row;
  row.packed.resize(layout_.packed_row_bytes);
  for (std::uint8_t& byte : row.packed) byte = static_cast<std::uint8_t>(random.next());
  row.factors.scale = static_cast<float>(random.below(1u << 20));
  row.factors.plane_scale = static_cast<float>(random.below(1u << 20));
  row.factors.plane_cosine2 = static_cast<float>(random.below(1u << 20)) * 0x1p-20f;
  return row;
}

Slot BuilderWorld::find(std::uint64_t id) const {
  return names_.with_key(id, [&](const auto& key) { return builder_.find(key); });
}

Status BuilderWorld::begin() { return builder_.begin(newest()); }

void BuilderWorld::undo(std::span<const Replaced> replaced,
                        const segment::VersionBuilder::Savepoint& savepoint) {
  for (std::size_t i = replaced.size(); i-- > 0;) {
    if (replaced[i].slot.valid()) builder_.revive(replaced[i].slot);
  }
  builder_.rollback(savepoint);
}

Status BuilderWorld::upsert(std::span<const std::uint64_t> ids, std::uint64_t give_up_after) {
  const auto savepoint = builder_.savepoint();
  Model changed = model_;
  std::vector<Replaced> replaced;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Status step = i == give_up_after ? Status(Code::aborted) : Status();
    const Slot old = find(ids[i]);
    if (step.ok() && old.valid()) {
      step = builder_.kill(old);
      if (step.ok()) replaced.push_back({ids[i], old});
    }
    const PlainRow row = random_row();
    if (step.ok()) {
      step = names_.with_key(ids[i], [&](const auto& key) {
        return builder_.append(key, row.packed.data(), row.factors, ids.size() - i);
      });
    }
    if (!step.ok()) {
      undo(replaced, savepoint);
      return step;
    }
    changed[ids[i]] = row;
  }
  model_ = std::move(changed);
  return {};
}

Status BuilderWorld::remove(std::span<const std::uint64_t> ids, std::uint64_t give_up_after) {
  const auto savepoint = builder_.savepoint();
  std::vector<Replaced> replaced;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Status step = i == give_up_after ? Status(Code::aborted) : Status();
    const Slot slot = find(ids[i]);
    if (step.ok() && !slot.valid()) continue;
    if (step.ok()) step = builder_.kill(slot);
    if (!step.ok()) {
      undo(replaced, savepoint);
      return step;
    }
    replaced.push_back({ids[i], slot});
  }
  for (const Replaced& gone : replaced) model_.erase(gone.id);
  return {};
}

Status BuilderWorld::clear() {
  const Status cleared = builder_.clear();
  if (cleared.ok()) model_.clear();
  return cleared;
}

bool BuilderWorld::commit() {
  if (!builder_.changed()) {
    builder_.abandon();
    return false;
  }
  Version* version = builder_.finish();
  root_.publish(version, [this] { builder_.retire_replaced(reclaimer_); });
  newest_ = model_;
  return true;
}

void BuilderWorld::abandon() {
  builder_.abandon();
  model_ = newest_;
}

bool BuilderWorld::compact(const segment::Compaction::Goal& goal, std::uint32_t blocks) {
  using Step = segment::Compaction::Step;
  const bool begins = !compaction_.active();
  if (begins && !compaction_.plan(newest(), goal)) return false;
  if (!begin().ok()) {
    compaction_.give_up();
    return false;
  }
  Step step = begins && !compaction_.start() ? Step::failed : Step::more;
  for (; blocks > 0 && step == Step::more; --blocks) step = compaction_.move_block();
  const bool failed = step == Step::failed || (step == Step::moved && !compaction_.show());
  if (failed) {
    builder_.abandon();
    compaction_.give_up();
    return false;
  }
  builder_.keep_tables();
  commit();
  if (begins) compaction_.close_sources();
  return true;
}

void BuilderWorld::pin() {
  auto claimed = slots_.claim();
  if (!claimed.ok()) claimed = slots_.claim();  // where allocations fail on purpose
  const std::uint32_t slot = *claimed;
  const auto* version = static_cast<const Version*>(root_.enter(slots_.slot(slot)));
  pins_.push_back({slot, version, model_});
}

void BuilderWorld::unpin(std::size_t at) {
  const auto pinned = pins_.begin() + static_cast<std::ptrdiff_t>(at);
  sync::VersionRoot::leave(slots_.slot(pinned->slot));
  slots_.release_slot(pinned->slot);
  pins_.erase(pinned);
}

std::uint64_t BuilderWorld::reclaim() {
  const std::uint64_t freed = reclaimer_.scan(slots_);
  builder_.set_bytes_ended(reclaimer_.freed_bytes());
  return freed;
}

testing::AssertionResult BuilderWorld::working_state_is_right() const {
  if (builder_.live_rows() != model_.size()) {
    return testing::AssertionFailure()
           << builder_.live_rows() << " live rows, not " << model_.size();
  }
  for (const auto& [id, row] : model_) {
    if (!find(id).valid()) return testing::AssertionFailure() << "id " << id << " is lost";
  }
  for (const std::uint64_t id : universe) {
    if (!model_.contains(id) && find(id).valid()) {
      return testing::AssertionFailure() << "id " << id << " is there";
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult BuilderWorld::newest_is_right() const {
  auto right = shows(newest(), model_, universe, layout_, names_);
  return right ? strings_are_right() : right;
}

testing::AssertionResult BuilderWorld::strings_are_right() const {
  const segment::Strings& strings = newest().strings;
  if (!strings.any()) return testing::AssertionSuccess();
  const auto fail = [] { return testing::AssertionFailure() << "strings: "; };
  std::map<const segment::StringChunk*, std::uint32_t> live;
  for (std::uint32_t number = 0; number < newest().segment_end; ++number) {
    const SegmentView* view = newest().view(number);
    for (std::uint32_t row = 0; view != nullptr && row < view->rows; ++row) {
      if (!view->is_live(row)) continue;
      ++live[strings.find(segment::Handle{view->segment->ids()[row]}).chunk];
    }
  }
  std::uint64_t entries = 0;
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < strings.directory->count; ++i) {
    const segment::StringDirectory::Entry& entry = strings.directory->entries()[i];
    const std::uint32_t count = strings.entries_of(i);
    entries += count;
    if (entry.first < end) return fail() << "chunk " << i << " overlaps";
    const std::uint32_t* sparse = entry.chunk->sparse;
    end = entry.first + (sparse == nullptr ? count : sparse[count - 1] + 1);
    if (count == 0) return fail() << "chunk " << i << " is empty";
    if (entry.chunk->used(count) > entry.chunk->room) return fail() << "chunk " << i << " is full";
    if (count - live[entry.chunk] != entry.chunk->dead) {
      return fail() << "chunk " << i << " counts " << entry.chunk->dead << " dead of " << count
                    << ", and has " << live[entry.chunk] << " live";
    }
  }
  if (end > strings.end) return fail() << "an ordinal past the end";
  if (entries != strings.entries) return fail() << entries << " entries";
  return testing::AssertionSuccess();
}

bool BuilderWorld::move_strings(const segment::VersionBuilder::StringGoal& goal) {
  if (!segment::VersionBuilder::any_strings_to_move(newest(), goal) || !begin().ok()) return false;
  const auto moved = builder_.move_strings(goal);
  if (!moved.ok()) {
    builder_.abandon();
    return false;
  }
  commit();
  return *moved != 0;
}

testing::AssertionResult BuilderWorld::pinned_are_right() const {
  for (const Pinned& pinned : pins_) {
    auto right = shows(*pinned.version, pinned.model, universe, layout_, names_);
    if (!right) return right;
  }
  return testing::AssertionSuccess();
}

std::int64_t BuilderWorld::unreached_bytes() const {
  const auto in_use = builder_.bytes_made() - reclaimer_.freed_bytes();
  const std::int64_t rest =
      static_cast<std::int64_t>(in_use - bytes_of(newest()) - reclaimer_.bytes() -
                                (builder_.incoming() == nullptr ? 0 : builder_.incoming()->bytes));
  // The builder keeps a version and a tail in reserve, or one of them, or none.
  const auto version = static_cast<std::int64_t>(sizeof(Version));
  const auto tail = static_cast<std::int64_t>(sizeof(segment::TailPlane) +
                                              layout_.plane_block_bytes + simd::kOverread);
  for (const std::int64_t kept : {std::int64_t{0}, version, tail, version + tail}) {
    if (rest == kept) return 0;
  }
  return rest;
}

}  // namespace vicinal::test
