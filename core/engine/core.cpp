#include "engine/core.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "platform/environment.hpp"
#include "platform/futex.hpp"
#include "platform/realm.hpp"
#include "platform/thread.hpp"
#include "simd/kernels.hpp"

namespace vicinal::engine {
namespace {

Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

Status check_options(const IndexOptions& options) noexcept {
  if (options.dim < 1 || options.dim > kDimMax) return bad_option(OptionName::dim);
  if (options.metric > Metric::l2) return bad_option(OptionName::metric);
  const std::uint32_t bits = options.bits;
  if (bits < 1 || bits > 8 || (bits > 4 && bits < 8)) return bad_option(OptionName::bits);
  if (options.originals > Originals::float32) return bad_option(OptionName::originals);
  if (options.partitions.mode > Partitions::Mode::count) return bad_option(OptionName::partitions);
  if (options.partitions.mode == Partitions::Mode::count) {
    return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::partitions));
  }
  if (options.ids > IdKind::string) return bad_option(OptionName::ids);
  return {};
}

Result<const simd::Kernels*> choose_kernels() noexcept {
  const char* forced = platform::forced_simd();
  if (forced == nullptr) return &simd::best_kernels();
  const simd::Kernels* found = simd::find_kernels(forced);
  if (found == nullptr) return Status(Code::unsupported);
  return found;
}

}  // namespace

Core::Core(const IndexOptions& options) noexcept
    : options_(options),
      help_(slots_, platform::processors()),
      builder_(quant::CodeLayout::of(options.dim, options.bits), options.memory_bytes_max,
               options.ids, options.originals),
      compaction_(builder_),
      helper_threads_(*this) {
  if (options_.retired_bytes_max == 0) options_.retired_bytes_max = kRetiredBytesMax;
}

Result<std::shared_ptr<Core>> Core::create(const IndexOptions& options) noexcept {
  const Status checked = check_options(options);
  if (!checked.ok()) return checked;
  std::shared_ptr<Core> core(new (std::nothrow) Core(options));
  if (core == nullptr) return Status(Code::full);
  const Status started = core->start();
  if (!started.ok()) return started;
  return core;
}

Status Core::start() noexcept {
  auto kernels = choose_kernels();
  if (!kernels.ok()) return kernels.status();
  auto quantiser = quant::Quantiser::create(options_.dim, options_.metric, options_.bits,
                                            options_.seed, **kernels);
  if (!quantiser.ok()) return quantiser.status();
  quantiser_ = std::move(quantiser).value();
  const Status prepared = builder_.prepare();
  if (!prepared.ok()) return prepared;
  auto first = builder_.make_first();
  if (!first.ok()) return first.status();
  root_.publish(*first, [] {});
  return {};
}

Core::~Core() {
  (void)helper_threads_.set(0);
  if (journal_ != nullptr) (void)journal_->stop();
  journal_.reset();
  // The last owner is alone: no reader, no producer, no writer. A pending write keeps its index, so
  // that what still waits here was given up by its producer.
  if (token_.epoch() != recovered_epoch_) recover();
  while (take_message() != nullptr) {
  }
  for (Message* message = in_hand_.first(); message != nullptr;) {
    Message* next = InHand::after(*message);
    Message::free_memory(message);
    message = next;
  }
  in_hand_.free_let_go();
  for (sync::Atomic<Lane*>& lane : lanes_) delete lane.load(sync::acquire);  // [lane]
  auto* newest = const_cast<sync::VersionHeader*>(root_.newest());
  if (newest != nullptr) {
    segment::VersionBuilder::destroy_version(static_cast<segment::Version*>(newest));
  }
}

Status Core::damaged() const noexcept {
  const std::uint64_t where = damage_.where();
  return where == 0 ? Status() : Status(Code::corrupt, where);
}

void Core::close() noexcept {
  closed_.store(1, sync::release);
  doorbell_.ring();
  (void)close_log();
}

Status Core::close_log() noexcept {
  if (journal_ == nullptr || journal_->status().code() == Code::closed) return {};
  // Who holds the role now may not have seen it: what it publishes belongs into the file, too.
  for (;;) {
    const std::uint32_t seen = doorbell_.prepare();
    if (take_role()) break;
    if (!platform::may_wait()) return {};
    doorbell_.wait(seen, kWaitUsMax);
  }
  const Status stopped = journal_->stop();
  token_.give_back();
  if (any_pending()) doorbell_.ring();  // I5
  return stopped;
}

void Core::leave_role() noexcept {
  token_.give_back();
  if (journal_ != nullptr) journal_->follow();
}

std::uint64_t Core::largest_id() noexcept {
  std::uint64_t largest = 0;
  if (options_.ids == IdKind::string) return largest;
  const auto slot = slots_.claim(platform::realm());
  if (!slot.ok()) return largest;
  sync::ReaderSlot& pin = slots_.slot(*slot);
  const auto& version = static_cast<const segment::Version&>(*root_.enter(pin));
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const segment::SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    const std::uint64_t* ids = view->segment->ids();
    for (std::uint32_t row = 0; row < view->rows; ++row) {
      if (ids[row] > largest && view->is_live(row)) largest = ids[row];
    }
  }
  sync::VersionRoot::leave(pin);
  slots_.release_slot(*slot);
  return largest;
}

Status Core::can_be_durable() const noexcept {
  if (journal_ != nullptr) return journal_->status();
  return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::durable));
}

Status Core::restore(std::uint64_t sequence, Restore& restore, bool appends) noexcept {
  const auto& empty = static_cast<const segment::Version&>(*root_.newest());
  if (sequence == empty.sequence) return {};  // nothing was ever written
  const bool taken = take_role();
  VICINAL_ASSERT(taken);
  Status made = builder_.begin(empty, sequence);
  if (made.ok()) {
    segment::Replay replay(builder_, options_.metric);
    made = restore.apply(replay, damage_);
    if (made.ok()) {
      publish();
      if (appends) builder_.reopen(static_cast<const segment::Version&>(*root_.newest()));
    } else {
      builder_.abandon();
    }
  }
  token_.give_back();
  return made;
}

Result<Message::Owner> Core::make_message(MessageKind kind, std::uint64_t count,
                                          std::uint64_t text_bytes) noexcept {
  const MessageCargo cargo{options_.ids, text_bytes, options_.originals};
  const bool rows = kind == MessageKind::add || kind == MessageKind::upsert;
  if (!rows || calibration_.load(sync::acquire) == 0) {  // [calibration]
    return Message::create(*quantiser_, kind, count, nullptr, cargo);
  }
  auto slot = slots_.claim(platform::realm());
  if (!slot.ok()) return slot.status();
  sync::ReaderSlot& pin = slots_.slot(*slot);
  const auto& version = static_cast<const segment::Version&>(*root_.enter(pin));
  auto message = Message::create(*quantiser_, kind, count, version.calibration, cargo);
  sync::VersionRoot::leave(pin);
  slots_.release_slot(*slot);
  return message;
}

Result<std::uint32_t> Core::take_lane() noexcept {
  const std::uint32_t lane = lane_claims_.take();
  if (lane == sync::SlotClaims<kLanes>::kNone) return Status(Code::busy, kLanes, kLanes);
  if (lanes_[lane].load(sync::acquire) == nullptr) {  // [lane]
    auto* fresh = new (std::nothrow) Lane;
    if (fresh == nullptr) {
      lane_claims_.give_back(lane);
      return Status(Code::full);
    }
    // seq_cst [lane]: before our first push and our try of the token in the one order, so that a
    // holder who refused us finds this ring when it looks again. The claim makes us the only one
    // who stores.
    lanes_[lane].store(fresh, sync::seq_cst);
  }
  return lane;
}

void Core::give_lane_back(std::uint32_t lane) noexcept { lane_claims_.give_back(lane); }

Status Core::submit(std::uint32_t lane, Message& message) noexcept {
  VICINAL_ASSERT(lane_claims_.taken(lane));
  if (closed()) return Status(Code::closed);
  if (!lanes_[lane].load(sync::acquire)->try_push(&message)) {  // [lane]
    return Status(Code::busy, kLaneMessages, kLaneMessages);
  }
  doorbell_.ring();
  return {};
}

bool Core::any_pending() const noexcept {
  for (const sync::Atomic<Lane*>& lane : lanes_) {
    // seq_cst [lane]: after the token's release in the one order, as MessageRing::pending (H2).
    const Lane* ring = lane.load(sync::seq_cst);
    if (ring != nullptr && ring->pending()) return true;
  }
  return false;
}

std::uint32_t Core::pump(std::uint64_t budget_us) noexcept {
  if (!take_role()) return 0;
  std::uint32_t completed = run_batch(budget_us);
  completed += std::exchange(recovered_messages_, 0);
  if (completed == 0) reclaim();
  const bool idle = completed == 0 && budget_us != 0;
  const bool more =
      (idle || compaction_is_urgent()) && compact_slice(std::min(budget_us, kSliceUs));
  leave_role();
  if (any_pending() || more) doorbell_.ring();  // I5
  return completed == 0 && more ? 1 : completed;
}

std::uint64_t Core::drive(const Message* until) noexcept {
  std::uint64_t completed = 0;
  bool left = false;
  bool more = false;
  // Stopping early is safe: waiting producers wake up every kWaitUsMax and drive themselves.
  while (until == nullptr || !until->completion.done()) {
    if (!take_role()) return completed;  // its holder looks again
    completed += run_batch(kBatchUsMax);
    more = (!any_pending() || compaction_is_urgent()) && compact_slice(kSliceUs);
    leave_role();
    left = any_pending();
    // A compaction goes on at other times, unless it is waited for.
    if (!left && (!more || until == nullptr)) break;
  }
  if (left || more) doorbell_.ring();  // I5
  return completed;
}

bool Core::apply_alone(Message& message) noexcept {
  if (!take_role()) return false;
  in_hand_.enter(message);
  // Behind what a holder that died had in hand.
  while (Message* first = in_hand_.first_unplanned()) (void)run_version(first, 0);
  leave_role();
  if (any_pending()) doorbell_.ring();  // I5
  return true;
}

Status Core::write_and_wait(Message& message) noexcept {
  for (;;) {
    auto lane = take_lane();
    Status submitted = lane.ok() ? submit(*lane, message) : lane.status();
    if (lane.ok()) give_lane_back(*lane);
    if (submitted.ok()) break;
    if (submitted.code() != Code::busy) return submitted;
    // Queues may keep every lane for as long as they live.
    if (!lane.ok() && apply_alone(message)) break;
    // The ring is full, or another thread is at work: work off what is there, or wait for it.
    const std::uint32_t seen = doorbell_.prepare();
    if (drive(nullptr) == 0) doorbell_.wait(seen, kWaitUsMax);
  }
  while (!message.completion.done()) {
    drive(&message);
    message.completion.wait(kWaitUsMax);
  }
  return message.status;
}

}  // namespace vicinal::engine
