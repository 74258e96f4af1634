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

Journal::Journal(const Source& source, Home home, const State& state) noexcept
    : source_(source),
      home_(std::move(home)),
      commit_on_flush_(state.commit_on_flush),
      directory_(state.directory),
      directory_bytes_(state.directory_bytes),
      turn_(state.turn) {}

Result<std::unique_ptr<Journal>> Journal::create(const Source& source, Home home,
                                                 const State& state) noexcept {
  std::unique_ptr<Journal> journal(new (std::nothrow) Journal(source, std::move(home), state));
  if (journal == nullptr) return Status(Code::full, sizeof(Journal));
  journal->writer_.reset(
      new (std::nothrow) LogWriter(*journal->home_.file, source.layout, state.place));
  if (journal->writer_ == nullptr) return Status(Code::full, sizeof(LogWriter));
  for (std::uint32_t* slot : {&journal->holds_, &journal->free_, &journal->keeps_}) {
    const auto claimed = source.slots.claim();
    if (!claimed.ok()) return claimed.status();
    *slot = *claimed;
  }
  journal->live_.reset(new (std::nothrow) LiveFields(*journal->home_.file));
  if (journal->live_ == nullptr) return Status(Code::full, sizeof(LiveFields));
  const Status mapped = journal->live_->map();
  if (!mapped.ok()) return mapped;
  return journal;
}

Journal::~Journal() {
  let_go_of_versions();
  for (const std::uint32_t slot : {holds_, free_, keeps_}) {
    if (slot != kNoSlot) source_.slots.release_slot(slot);
  }
  close_file();
}

Status Journal::start() noexcept {
  logged_ = static_cast<const segment::Version*>(source_.root.hold(source_.slots.slot(holds_)));
  logged_sequence_.store(logged_->sequence, sync::relaxed);
  // What a process before left in the file may not be on the disk yet.
  Status certain = home_.file->sync();
  if (certain.ok()) certain = make_certain();
  if (!certain.ok()) return failed(certain);
  durable_.store(logged_->sequence, sync::relaxed);
  live_->begin();
  announce();
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
  if (commit_on_flush_ || !status().ok()) return;
  if (source_.root.sequence() == logged_sequence_.load(sync::relaxed)) return;
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
    if (certain.ok()) certain = log_newest(true);
    certain = tell(certain);
  }
  give_back();
  if (news_.prepare() != heard) follow();  // (A)
  return certain;
}

std::optional<Journal::Served> Journal::serve() noexcept {
  const std::uint32_t asks = asks_.load(sync::relaxed);
  if (asks == served_) return {};
  const Status certain = make_durable(source_.root.sequence());
  served_ = asks;
  return Served{asks, durable_.load(sync::relaxed), certain};
}

void Journal::take_from(std::uint32_t realm) noexcept {
  if (token_.take_from(realm)) left_.ring();
}

// I1: the first who asks is told what ended the log.
Status Journal::tell(const Status& status) noexcept {
  return failure_.ok() ? status : std::exchange(failure_, Status());
}

Status Journal::log_newest(bool durable) noexcept {
  const std::uint64_t written = writer_->bytes_written();
  const Status appended = append_newest();
  if (!appended.ok()) return failed(appended);
  const std::uint64_t bytes = writer_->bytes_written() - written;
  if (!durable) {
    announce();
    rewrite_some(bytes);
    return {};
  }
  const std::uint64_t sequence = logged_->sequence;
  Status certain = home_.file->sync();  // (3)
  if (certain.code() == Code::full) certain = Status(Code::io, ENOSPC);
  if (certain.ok()) {
    announce();  // (4)
    certain = make_certain();
  }
  if (!certain.ok()) return failed(certain);
  durable_.store(sequence, sync::relaxed);
  rewrite_some(bytes);
  return {};
}

Status Journal::append_newest() noexcept {
  const auto* newest = static_cast<const segment::Version*>(
      source_.root.hold(source_.slots.slot(free_)));  // (V)
  Status appended;
  if (newest->sequence != logged_->sequence) appended = writer_->append_commit(*logged_, *newest);
  if (!appended.ok() || newest->sequence == logged_->sequence) {
    sync::VersionRoot::leave(source_.slots.slot(free_));
    return appended;
  }
  sync::VersionRoot::leave(source_.slots.slot(holds_));
  std::swap(holds_, free_);
  logged_ = newest;
  logged_sequence_.store(newest->sequence, sync::relaxed);
  return append_directory();
}

Status Journal::append_directory() noexcept {
  const std::uint64_t behind = writer_->place().end - directory_ - directory_bytes_;
  if (behind <= std::max(kDirectoryBytesMin, kDirectoryShare * directory_bytes_)) return {};
  const Status named = append_ids(kRowsWithoutIds, kPercentWithoutIds);
  return named.ok() ? append_directory_now() : named;
}

Status Journal::append_directory_now() noexcept {
  const std::uint64_t position = writer_->place().end;
  const Status appended = writer_->append_directory(*logged_, LogWriter::Extents::for_more_rows);
  // Without memory for it opening takes longer, no more.
  if (appended.code() == Code::full) return {};
  if (!appended.ok()) return appended;
  directory_ = writer_->record();
  directory_bytes_ = writer_->place().end - position;
  return {};
}

Status Journal::append_ids(std::uint64_t rows_min, std::uint64_t percent) noexcept {
  const std::uint64_t rows = logged_->live_rows + logged_->dead_rows;
  const std::uint64_t lacks = writer_->rows_without_ids(*logged_);
  if (lacks <= rows_min || lacks * 100 <= rows * percent) return {};
  const Status appended = writer_->append_ids(*logged_);
  return appended.code() == Code::full ? Status() : appended;
}

// (5): the other slot than last time.
Status Journal::make_certain() noexcept {
  Status written = write_meta();
  if (written.ok()) written = home_.file->sync();
  // FULL is for what may be tried again (log_writer.hpp I3), and neither may.
  return written.code() == Code::full ? Status(Code::io, ENOSPC) : written;
}

Status Journal::write_meta() noexcept {
  storage::MetaSlot meta;
  meta.turn = ++turn_;
  meta.sequence = logged_->sequence;
  meta.end = writer_->place().end;
  meta.directory = directory_;
  meta.rows = logged_->live_rows;
  const auto slot = static_cast<std::uint32_t>(turn_ % storage::kMetaSlots);
  std::byte bytes[storage::kMetaBytes];
  storage::write_meta(bytes, writer_->place().uuid, slot, meta);
  return home_.file->write_at(storage::meta_position(slot), bytes);
}

void Journal::announce() noexcept {
  live_->announce(writer_->place().end, logged_->sequence);
}

Status Journal::failed(Status status) noexcept {
  if (status.code() == Code::full) return status;  // log_writer.hpp I3
  ended_.store(static_cast<std::uint32_t>(Ended::failed), sync::relaxed);
  failure_ = status;
  give_up_rewriting(status);
  let_go_of_versions();
  return status;
}

void Journal::let_go_of_versions() noexcept {  // I3
  if (logged_ != nullptr) sync::VersionRoot::leave(source_.slots.slot(holds_));
  logged_ = nullptr;
}

bool Journal::is_at(const char* path) noexcept {
  if (!take()) return false;
  const bool same = home_.file != nullptr && [&] {
    const auto found = home_.file->is_at(path);
    return found.ok() && *found;
  }();
  give_back();
  return same;
}

Status Journal::stop() noexcept {
  if (!take()) return {};
  ends_ = true;
  Status last;
  if (status().ok() && !commit_on_flush_ && !is_all_durable()) last = log_newest(true);
  last = tell(last);
  if (status().ok() && is_all_durable()) leave_quick_to_open();
  ended_.store(static_cast<std::uint32_t>(Ended::stopped), sync::relaxed);
  give_up_rewriting(Status(Code::closed));
  let_go_of_versions();
  close_file();
  give_back();
  return last;
}

bool Journal::is_all_durable() const noexcept {
  return source_.root.sequence() == durable_.load(sync::relaxed);
}

void Journal::leave_quick_to_open() noexcept {
  const std::uint64_t end = writer_->place().end;
  Status left = append_ids(kRowsWithoutIdsAtEnd, kPercentWithoutIdsAtEnd);
  if (left.ok() && writer_->place().end != end) left = append_directory_now();
  if (!left.ok() || writer_->place().end == end) return;
  left = home_.file->sync();
  if (left.ok()) (void)make_certain();
}

void Journal::close_file() noexcept {
  if (home_.file != nullptr && live_ != nullptr) live_->end();
  home_.file.reset();
}

}  // namespace vicinal::engine
