#include "engine/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "platform/futex.hpp"
#include "platform/realm.hpp"

namespace vicinal::engine {
namespace {

// A bound alone: who gives the token back wakes who waits.
constexpr std::uint64_t kLeaveUsMax = 10'000;

}  // namespace

Journal::Journal(const sync::VersionRoot& root, sync::ReaderSlots& slots,
                 std::unique_ptr<platform::File> file, const quant::CodeLayout& layout,
                 const State& state) noexcept
    : root_(root),
      slots_(slots),
      file_(std::move(file)),
      writer_(*file_, layout, state.place),
      directory_(state.directory),
      directory_bytes_(state.directory_bytes),
      turn_(state.turn),
      live_(*file_) {}

Result<std::unique_ptr<Journal>> Journal::create(const sync::VersionRoot& root,
                                                 sync::ReaderSlots& slots,
                                                 std::unique_ptr<platform::File> file,
                                                 const quant::CodeLayout& layout,
                                                 const State& state) noexcept {
  std::unique_ptr<Journal> journal(new (std::nothrow)
                                       Journal(root, slots, std::move(file), layout, state));
  if (journal == nullptr) return Status(Code::full, sizeof(Journal));
  for (std::uint32_t* slot : {&journal->holds_, &journal->free_}) {
    const auto claimed = slots.claim();
    if (!claimed.ok()) return claimed.status();
    *slot = *claimed;
  }
  const Status mapped = journal->live_.map();
  if (!mapped.ok()) return mapped;
  return journal;
}

Journal::~Journal() {
  let_go_of_versions();
  for (const std::uint32_t slot : {holds_, free_}) {
    if (slot != kNoSlot) slots_.release_slot(slot);
  }
  close_file();
}

Status Journal::start() noexcept {
  logged_ = static_cast<const segment::Version*>(root_.hold(slots_.slot(holds_)));
  logged_sequence_.store(logged_->sequence, sync::relaxed);
  // What a process before left in the file may not be on the disk yet.
  Status certain = file_->sync();
  if (certain.ok()) certain = make_certain();
  if (!certain.ok()) return failed(certain);
  durable_.store(logged_->sequence, sync::relaxed);
  live_.begin();
  live_.announce(writer_.place().end, logged_->sequence);
  return {};
}

Status Journal::status() const noexcept {
  const auto ended = static_cast<Ended>(ended_.load(sync::relaxed));
  if (ended == Ended::no) return {};
  return Status(ended == Ended::stopped ? Code::closed : Code::read_only);
}

bool Journal::try_take() noexcept {
  if (!token_.try_acquire(platform::realm())) return false;
  if (token_.epoch() != mended_epoch_) {  // I5
    mended_epoch_ = token_.epoch();
    if (status().ok()) (void)failed(Status(Code::io, EIO));
  }
  return true;
}

bool Journal::take() noexcept {
  for (;;) {
    const std::uint32_t seen = left_.prepare();
    if (try_take()) return true;
    if (!platform::may_wait()) return false;
    left_.wait(seen, kLeaveUsMax);
  }
}

void Journal::give_back() noexcept {
  token_.give_back();  // (G)
  left_.ring();
}

void Journal::follow() noexcept {
  if (!status().ok() || root_.sequence() == logged_sequence_.load(sync::relaxed)) return;
  news_.ring();  // (B)
  // Once more for whoever was refused in between; they are done when nothing was published.
  for (;;) {
    if (!try_take()) return;  // (T)
    const std::uint32_t heard = news_.prepare();  // (L)
    // What it comes to is told to who asks for certainty.
    if (status().ok()) (void)log_newest(false);
    give_back();
    if (news_.prepare() == heard) return;  // (A)
  }
}

Status Journal::make_durable(std::uint64_t sequence) noexcept {
  if (durable_.load(sync::relaxed) >= sequence) return {};  // I2
  if (!take()) return Status(Code::would_block);
  const std::uint32_t heard = news_.prepare();
  Status certain;
  if (durable_.load(sync::relaxed) < sequence) {
    certain = status();
    if (certain.ok()) {
      certain = log_newest(true);
    } else if (!failure_.ok()) {
      certain = failure_;  // I1: nobody has been told
    }
    failure_ = Status();
  }
  give_back();
  if (news_.prepare() != heard) follow();  // (A)
  return certain;
}

std::optional<Journal::Served> Journal::serve() noexcept {
  const std::uint32_t asks = asks_.load(sync::relaxed);
  if (asks == served_) return {};
  const Status certain = make_durable(root_.sequence());
  served_ = asks;
  return Served{asks, durable_.load(sync::relaxed), certain};
}

void Journal::take_from(std::uint32_t realm) noexcept {
  if (token_.take_from(realm)) left_.ring();
}

Status Journal::log_newest(bool durable) noexcept {
  const Status appended = append_newest();
  if (!appended.ok()) return failed(appended);
  if (!durable) {
    live_.announce(writer_.place().end, logged_->sequence);
    return {};
  }
  const std::uint64_t sequence = logged_->sequence;
  Status certain = file_->sync();  // (3)
  if (certain.code() == Code::full) certain = Status(Code::io, ENOSPC);
  if (certain.ok()) {
    live_.announce(writer_.place().end, sequence);  // (4)
    certain = make_certain();
  }
  if (!certain.ok()) return failed(certain);
  durable_.store(sequence, sync::relaxed);
  return {};
}

Status Journal::append_newest() noexcept {
  const auto* newest = static_cast<const segment::Version*>(root_.hold(slots_.slot(free_)));  // (V)
  Status appended;
  if (newest->sequence != logged_->sequence) appended = writer_.append_commit(*logged_, *newest);
  if (!appended.ok() || newest->sequence == logged_->sequence) {
    sync::VersionRoot::leave(slots_.slot(free_));
    return appended;
  }
  sync::VersionRoot::leave(slots_.slot(holds_));
  std::swap(holds_, free_);
  logged_ = newest;
  logged_sequence_.store(newest->sequence, sync::relaxed);
  return append_directory();
}

Status Journal::append_directory() noexcept {
  const std::uint64_t behind = writer_.place().end - directory_ - directory_bytes_;
  if (behind <= std::max(kDirectoryBytesMin, kDirectoryShare * directory_bytes_)) return {};
  const Status appended =
      writer_.append_directory(*logged_, LogWriter::Extents::as_in_memory);
  // Without memory for it opening takes longer, no more.
  if (appended.code() == Code::full) return {};
  if (!appended.ok()) return appended;
  directory_ = writer_.record();
  directory_bytes_ = writer_.place().end - directory_;
  return {};
}

// (5): the other slot than last time.
Status Journal::make_certain() noexcept {
  Status written = write_meta();
  if (written.ok()) written = file_->sync();
  // FULL is for what may be tried again (log_writer.hpp I3), and neither may.
  return written.code() == Code::full ? Status(Code::io, ENOSPC) : written;
}

Status Journal::write_meta() noexcept {
  storage::MetaSlot meta;
  meta.turn = ++turn_;
  meta.sequence = logged_->sequence;
  meta.end = writer_.place().end;
  meta.directory = directory_;
  meta.rows = logged_->live_rows;
  const auto slot = static_cast<std::uint32_t>(turn_ % storage::kMetaSlots);
  std::byte bytes[storage::kMetaBytes];
  storage::write_meta(bytes, writer_.place().uuid, slot, meta);
  return file_->write_at(storage::meta_position(slot), bytes);
}

Status Journal::failed(Status status) noexcept {
  if (status.code() == Code::full) return status;  // log_writer.hpp I3
  ended_.store(static_cast<std::uint32_t>(Ended::failed), sync::relaxed);
  failure_ = status;
  let_go_of_versions();
  return status;
}

void Journal::let_go_of_versions() noexcept {  // I3
  if (logged_ != nullptr) sync::VersionRoot::leave(slots_.slot(holds_));
  logged_ = nullptr;
}

bool Journal::is_at(const char* path) noexcept {
  if (!take()) return false;
  const bool same = file_ != nullptr && [&] {
    const auto found = file_->is_at(path);
    return found.ok() && *found;
  }();
  give_back();
  return same;
}

void Journal::stop() noexcept {
  if (!take()) return;
  if (status().ok()) (void)log_newest(false);
  ended_.store(static_cast<std::uint32_t>(Ended::stopped), sync::relaxed);
  let_go_of_versions();
  close_file();
  give_back();
}

void Journal::close_file() noexcept {
  if (file_ != nullptr) live_.end();
  file_.reset();
}

}  // namespace vicinal::engine
