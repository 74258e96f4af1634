// The public side of writes that nobody waits for.
#include <utility>

#include "base/assert.hpp"
#include "engine/core.hpp"
#include "engine/message.hpp"
#include "platform/memory.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {

PendingWrite::PendingWrite(std::shared_ptr<engine::Core> core, engine::Message* message) noexcept
    : core_(std::move(core)), message_(message) {}
PendingWrite::PendingWrite(PendingWrite&& other) noexcept
    : core_(std::move(other.core_)),
      message_(std::exchange(other.message_, nullptr)),
      submitted_(other.submitted_) {}
PendingWrite& PendingWrite::operator=(PendingWrite&& other) noexcept {
  std::swap(core_, other.core_);
  std::swap(message_, other.message_);
  std::swap(submitted_, other.submitted_);
  return *this;
}
PendingWrite::~PendingWrite() {
  if (message_ == nullptr) return;
  // A message in flight is the writer's: given up, it stays, and the memory with it.
  if (submitted_ && !done()) return;
  engine::Message::destroy(message_);
}

std::span<std::uint64_t> PendingWrite::ids() noexcept {
  return {message_->ids(), static_cast<std::size_t>(message_->id_count())};
}

std::span<std::uint32_t> PendingWrite::string_ends() noexcept {
  return {message_->string_ends(), static_cast<std::size_t>(message_->string_count())};
}

std::span<char> PendingWrite::text() noexcept {
  return {message_->text(), static_cast<std::size_t>(message_->text_bytes())};
}

std::uint64_t PendingWrite::count() const noexcept { return message_->count(); }

std::span<float> PendingWrite::staging() noexcept {
  return {message_->staging(), std::size_t{message_->staging_rows()} * message_->dim()};
}

Status PendingWrite::encode(std::uint64_t first, std::span<const float> vectors) {
  const std::size_t dim = message_->dim();
  const std::uint64_t count = message_->count();
  if (vectors.size() % dim != 0) return Status(Code::dimension, vectors.size() % dim, dim);
  const std::uint64_t rows = vectors.size() / dim;
  if (submitted_ || message_->staging() == nullptr || first > count || rows > count - first) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::ids_length));
  }
  return message_->encode(first, vectors.data(), rows);
}

Status PendingWrite::encode_apart(std::uint64_t first, std::span<const float> vectors) const {
  const std::size_t dim = message_->dim();
  const std::uint64_t count = message_->count();
  if (vectors.size() % dim != 0) return Status(Code::dimension, vectors.size() % dim, dim);
  const std::uint64_t rows = vectors.size() / dim;
  const bool has_rows = message_->kind() == engine::MessageKind::add ||
                        message_->kind() == engine::MessageKind::upsert;
  if (!has_rows || first > count || rows > count - first) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::ids_length));
  }
  void* scratch = platform::allocate(message_->scratch_bytes());
  if (scratch == nullptr) return Status(Code::full, message_->scratch_bytes());
  const Status encoded =
      message_->encode_apart(first, vectors.data(), rows, static_cast<std::byte*>(scratch));
  platform::release(scratch);
  return encoded;
}

void PendingWrite::count_encoded(std::uint64_t rows) { message_->count_filled(rows); }

bool PendingWrite::done() const noexcept { return message_->completion.done(); }

const void* PendingWrite::done_word() const noexcept { return message_->completion.address(); }

Result<Receipt> PendingWrite::result() const {
  if (!done()) return Status(Code::would_block);
  if (!message_->status.ok()) return message_->status;
  return message_->receipt;
}

WriteQueue::WriteQueue(std::shared_ptr<engine::Core> core, bool read_only) noexcept
    : core_(std::move(core)), read_only_(read_only) {}
WriteQueue::WriteQueue(WriteQueue&& other) noexcept
    : core_(std::move(other.core_)),
      lane_(std::exchange(other.lane_, kNoLane)),
      read_only_(other.read_only_) {}
WriteQueue& WriteQueue::operator=(WriteQueue&& other) noexcept {
  std::swap(core_, other.core_);
  std::swap(lane_, other.lane_);
  std::swap(read_only_, other.read_only_);
  return *this;
}
WriteQueue::~WriteQueue() {
  if (lane_ != kNoLane) core_->give_lane_back(lane_);
}

Result<PendingWrite> WriteQueue::make(WriteKind kind, std::uint64_t count,
                                      std::uint64_t text_bytes) {
  if (kind > WriteKind::compact) return Status(Code::bad_option);
  auto message = core_->make_message(static_cast<engine::MessageKind>(kind), count, text_bytes);
  if (!message.ok()) return message.status();
  return PendingWrite(core_, message->release());
}

Status WriteQueue::submit(PendingWrite& write) {
  if (read_only_) return Status(Code::read_only);
  const bool whole = write.message_ != nullptr &&
                     (write.message_->staging() == nullptr ||
                      write.message_->rows_filled() >= write.message_->count());
  if (!whole || write.submitted_ || write.core_ != core_) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::handle));
  }
  if (const Status strings = write.message_->check_strings(); !strings.ok()) return strings;
  if (lane_ == kNoLane) {
    auto lane = core_->take_lane();
    if (!lane.ok()) return lane.status();
    lane_ = *lane;
  }
  const Status submitted = core_->submit(lane_, *write.message_);
  write.submitted_ = submitted.ok();
  return submitted;
}

}  // namespace vicinal
