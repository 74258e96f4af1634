#include "engine/reader.hpp"

#include <limits>
#include <new>

#include "base/assert.hpp"
#include "platform/realm.hpp"

namespace vicinal::engine {

ReaderCore::FixedPin::FixedPin(std::shared_ptr<Core> owner, std::uint32_t number) noexcept
    : core(std::move(owner)), slot(number) {
  version = static_cast<const segment::Version*>(core->root().hold(core->slots().slot(slot)));
}

ReaderCore::FixedPin::~FixedPin() {
  sync::VersionRoot::leave(core->slots().slot(slot));
  core->slots().release_slot(slot);
}

ReaderCore::Entry::Entry(ReaderCore& reader, std::uint64_t sequence_wanted) noexcept
    : reader_(reader) {
  if (reader.core_->closed()) {
    status_ = Status(Code::closed);
  } else if (reader.fixed_ != nullptr) {
    version_ = reader.fixed_->version;
  } else {
    if (sequence_wanted == 0) {
      reader.core_->follow();
    } else {
      reader.core_->follow_to(sequence_wanted);
    }
    version_ = static_cast<const segment::Version*>(reader.core_->root().enter(*reader.slot_));
  }
}

ReaderCore::Entry::~Entry() {
  if (version_ != nullptr && reader_.fixed_ == nullptr) {
    sync::VersionRoot::leave(*reader_.slot_);
  }
}

ReaderCore::ReaderCore(std::shared_ptr<Core> core,
                       std::unique_ptr<search::Scratch> scratch) noexcept
    : core_(std::move(core)), scratch_(std::move(scratch)) {}

ReaderCore::~ReaderCore() {
  if (slot_ != nullptr) core_->slots().release_slot(slot_number_);
}

void ReaderCore::abandon(std::unique_ptr<ReaderCore> reader, sync::Afterwards after) noexcept {
  ReaderCore* left = reader.release();
  if (left->slot_ != nullptr) left->core_->slots().retire(left->slot_number_, after);
  // The pin of a snapshot is not its user's alone, and the user only reads it: it goes as always.
  left->fixed_.reset();
  left->core_.reset();
}

Result<std::unique_ptr<ReaderCore>> ReaderCore::open(std::shared_ptr<Core> core) noexcept {
  if (core->closed()) return Status(Code::closed);
  auto scratch = search::Scratch::create(core->quantiser(), &core->help());
  if (!scratch.ok()) return scratch.status();
  auto slot = core->slots().claim(platform::realm());
  if (!slot.ok()) return slot.status();
  std::unique_ptr<ReaderCore> reader(
      new (std::nothrow) ReaderCore(core, std::move(scratch).value()));
  if (reader == nullptr) {
    core->slots().release_slot(*slot);
    return Status(Code::full);
  }
  reader->slot_number_ = *slot;
  reader->slot_ = &core->slots().slot(*slot);
  return reader;
}

Result<std::unique_ptr<ReaderCore>> ReaderCore::snapshot() noexcept {
  if (core_->closed()) return Status(Code::closed);
  auto scratch = search::Scratch::create(core_->quantiser(), &core_->help());
  if (!scratch.ok()) return scratch.status();
  std::unique_ptr<ReaderCore> copy(
      new (std::nothrow) ReaderCore(core_, std::move(scratch).value()));
  if (copy == nullptr) return Status(Code::full);
  if (fixed_ != nullptr) {
    copy->fixed_ = fixed_;  // I2
    return copy;
  }
  core_->follow();
  auto slot = core_->slots().claim(platform::realm());
  if (!slot.ok()) return slot.status();
  auto* pin = new (std::nothrow) FixedPin(core_, *slot);
  if (pin == nullptr) {
    core_->slots().release_slot(*slot);
    return Status(Code::full);
  }
  copy->fixed_ = std::shared_ptr<FixedPin>(pin);
  return copy;
}

Result<SearchOptions> ReaderCore::options_for(const segment::Version& version,
                                              const SearchOptions& options) const noexcept {
  const bool strings = version.strings.any();
  if (strings ? options.filter || options.after : options.string_filter || options.string_after) {
    return wrong_kind(core_->options().ids);
  }
  SearchOptions resolved = options;
  const bool originals = core_->options().originals != Originals::none;
  if (options.rerank.value_or(0) != 0 && !originals) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::rerank));
  }
  if (!options.rerank && originals) {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    resolved.rerank = options.k > kMost / kRerankFactor ? kMost : kRerankFactor * options.k;
  }
  if (options.string_after) resolved.after = search::place_of(version, *options.string_after);
  return resolved;
}

Status ReaderCore::search(std::span<const float> query, const SearchOptions& options,
                          search::IdFilter* filter, search::Found* found,
                          std::uint64_t* sequence) noexcept {
  const Entry entry(*this, options.min_sequence);
  if (!entry.status().ok()) return entry.status();
  if (const Status damaged = core_->damaged(); !damaged.ok()) return damaged;
  *sequence = entry.version().sequence;
  const auto resolved = options_for(entry.version(), options);
  if (!resolved.ok()) return resolved.status();
  Status searched = search::search(entry.version(), core_->quantiser(), query, *resolved, filter,
                                   *scratch_, found);
  if (searched.ok()) searched = search::name_rows(entry.version(), *scratch_, found);
  return unless_damaged(searched);
}

// What a lookup came to: whether there is a row, and its vector if it is wanted.
Status ReaderCore::look_up(const Entry& entry, segment::Slot slot, float* vector, bool* found,
                           std::uint64_t* sequence) noexcept {
  *sequence = entry.version().sequence;
  *found = slot.valid();
  if (!*found || vector == nullptr) return unless_damaged({});
  return unless_damaged(
      search::decode_row(entry.version(), core_->quantiser(), slot, *scratch_, vector));
}

Status ReaderCore::get(std::uint64_t id, float* vector, bool* found,
                       std::uint64_t* sequence) noexcept {
  const Entry entry(*this);
  if (!entry.status().ok()) return entry.status();
  if (entry.version().strings.any()) return wrong_kind(IdKind::string);
  return look_up(entry, entry.version().find(id), vector, found, sequence);
}

Status ReaderCore::get(std::string_view id, float* vector, bool* found,
                       std::uint64_t* sequence) noexcept {
  const Entry entry(*this);
  if (!entry.status().ok()) return entry.status();
  if (!entry.version().strings.any()) return wrong_kind(IdKind::number);
  return look_up(entry, entry.version().find(segment::StringKey::of(id)), vector, found, sequence);
}

Status ReaderCore::has(std::uint64_t id, bool* found, std::uint64_t* sequence) noexcept {
  return get(id, nullptr, found, sequence);
}

Status ReaderCore::has(std::string_view id, bool* found, std::uint64_t* sequence) noexcept {
  return get(id, nullptr, found, sequence);
}

Status ReaderCore::count(std::uint64_t* rows, std::uint64_t* sequence) noexcept {
  const Entry entry(*this);
  if (!entry.status().ok()) return entry.status();
  *rows = entry.version().live_rows;
  *sequence = entry.version().sequence;
  return {};
}

}  // namespace vicinal::engine
