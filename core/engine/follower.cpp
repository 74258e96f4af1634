#include "engine/follower.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "platform/clock.hpp"
#include "storage/log_format.hpp"

namespace vicinal::engine {

static_assert(static_cast<std::uint32_t>(storage::LiveState::moved) == sync::LivePage::kMoved);

namespace {

// Two indexes of this kind can be versions of one another.
[[nodiscard]] bool is_same_kind(const storage::Superblock& a,
                                const storage::Superblock& b) noexcept {
  return a.dim == b.dim && a.metric == b.metric && a.bits == b.bits &&
         a.originals == b.originals && a.id_kind == b.id_kind && a.seed == b.seed &&
         a.coded_dim == b.coded_dim;
}

}  // namespace

Follower::Follower(platform::FileSystem& files, std::unique_ptr<char[]> path,
                   std::unique_ptr<OpenLog> log, LogApplier::Slabs slabs) noexcept
    : files_(files), path_(std::move(path)), log_(std::move(log)), slabs_(slabs) {}

Result<std::unique_ptr<Follower>> Follower::create(platform::FileSystem& files, const char* path,
                                                   std::unique_ptr<OpenLog> log,
                                                   LogApplier::Slabs slabs) noexcept {
  const std::size_t bytes = std::strlen(path) + 1;
  std::unique_ptr<char[]> copy(new (std::nothrow) char[bytes]);
  if (copy == nullptr) return Status(Code::full, bytes);
  std::memcpy(copy.get(), path, bytes);
  std::unique_ptr<Follower> follower(
      new (std::nothrow) Follower(files, std::move(copy), std::move(log), slabs));
  if (follower == nullptr) return Status(Code::full, sizeof(Follower));
  follower->map_live();
  return follower;
}

Follower::~Follower() {
  if (live_ == nullptr) return;
  platform::unmap_file(const_cast<sync::LivePage*>(live_), storage::kFilePageBytes);
}

// The file has one: its superblock was read from a file that is long enough.
void Follower::map_live() noexcept {
  auto live = log_->file->map(storage::kLivePagePosition, storage::kFilePageBytes,
                              platform::Mapping::read);
  if (!live.ok()) {
    always_ = live.code() != Code::unsupported;
  } else if (slabs_ == LogApplier::Slabs::read) {  // I6
    always_ = true;
    platform::unmap_file(*live, storage::kFilePageBytes);
  } else {
    live_ = static_cast<const sync::LivePage*>(*live);
  }
}

bool Follower::may_retry() const noexcept {
  return platform::monotonic_ns() >= retry_at_ns_.load(sync::relaxed);
}

void Follower::put_off(std::uint64_t wait_us) noexcept {
  retry_at_ns_.store(platform::monotonic_ns() + wait_us * 1000, sync::relaxed);
}

Result<Follower::Seen> Follower::read_live() noexcept {
  if (live_ != nullptr) return Seen{live_->announced(), live_->moved()};  // (L)
  std::byte bytes[storage::kLiveState + sizeof(std::uint32_t)];
  const Status read = log_->file->read_at(storage::kLivePagePosition, bytes);
  if (!read.ok()) return read;
  Seen seen;
  std::uint32_t state = 0;
  std::memcpy(&seen.end, bytes, sizeof seen.end);
  std::memcpy(&state, bytes + storage::kLiveState, sizeof state);
  seen.moved = state == sync::LivePage::kMoved;
  return seen;
}

Result<bool> Follower::look(std::uint64_t sequence_now) noexcept {
  retry_at_ns_.store(0, sync::relaxed);
  auto seen = read_live();
  if (seen.ok() && (seen->moved || lost_)) {
    const auto other = reopen(sequence_now);
    // Without one the old file is what there is, to its end.
    if (!other.ok() || !*other) put_off(other.ok() ? kRenameUs : kRetryUs);
    if (!other.ok() && lost_) return other.status();
    if (other.ok() && *other) seen = read_live();
  }
  if (!seen.ok()) {
    put_off();
    return seen.status();
  }
  seen_end_ = seen->end;
  auto news = look_in(*seen, sequence_now);
  if (news.ok() ? !*news : !tries_again(news.status())) looked_at();
  return news;
}

void Follower::looked_at() noexcept { looked_.store(seen_end_, sync::relaxed); }  // (K)

// I2: what is wrong with the records stays wrong.
bool Follower::tries_again(const Status& why) noexcept {
  if (why.code() == Code::corrupt || why.code() == Code::unsupported) return false;
  put_off();
  return true;
}

Result<bool> Follower::look_in(const Seen& seen, std::uint64_t sequence_now) noexcept {
  if (lost_) return false;
  LogReader& reader = log_->reader;
  if (!anew_ || reader.sequence() <= sequence_now) {
    if (seen.end <= reader.end()) return false;
    const Status advanced = reader.advance(seen.end);
    if (!advanced.ok()) return advanced;
    if (!anew_) return reader.records() != 0;
    const bool any = reader.records() != 0;
    reader.take_back();
    if (!any) return false;
  }
  // I4: all of it, from its newest directory on.
  const Status found = reader.find_end();
  lost_ = !found.ok();
  if (found.ok() && reader.sequence() > sequence_now) return true;
  if (!found.ok()) return found;
  return false;
}

Result<bool> Follower::reopen(std::uint64_t sequence_now) noexcept {
  if (!lost_) {
    const auto same = log_->file->is_at(path_.get());
    if (!same.ok()) return same.status();
    if (*same) return false;  // the name has not moved yet
  }
  auto file = files_.open(path_.get(), platform::Access::read);
  if (!file.ok()) return file.status();
  std::unique_ptr<OpenLog> log(new (std::nothrow) OpenLog(std::move(file).value(), slabs_));
  if (log == nullptr) return Status(Code::full, sizeof(OpenLog));
  Status found = log->reader.read_superblock();
  if (found.ok()) found = log->reader.find_end();
  if (found.ok()) found = log->reader.check_extents();
  if (!found.ok()) return found;
  if (!is_same_kind(log->reader.superblock(), log_->reader.superblock()) ||
      log->reader.sequence() < sequence_now) {
    return false;
  }
  if (live_ != nullptr) {
    const Status mapped =
        log->file->map_over(const_cast<sync::LivePage*>(live_), storage::kLivePagePosition,
                            storage::kFilePageBytes, platform::Mapping::read);
    if (!mapped.ok()) return mapped;
  }
  if (torn_) (void)log_.release();  // nobody knows in which state it is
  log_ = std::move(log);
  anew_ = true;
  lost_ = false;
  torn_ = false;
  return true;
}

Status Follower::apply(segment::Replay& replay, segment::Damage& damage) noexcept {
  applied_ = 0;
  Status ready = log_->reader.check_extents();
  if (ready.ok() && anew_) ready = replay.start_anew();
  if (!ready.ok()) return ready;
  return anew_ ? log_->applier.apply_all(replay, damage)
               : log_->applier.apply_new(replay, damage, &applied_);
}

void Follower::keep() noexcept {
  log_->reader.keep();
  anew_ = false;
  looked_at();
}

Result<bool> Follower::take_back(const Status& why) noexcept {
  LogReader& reader = log_->reader;
  if (anew_) {
    put_off();
    return false;
  }
  // Those before the one that does not fit are whole.
  const bool shorter =
      why.code() == Code::corrupt && applied_ != 0 && applied_ < reader.records();
  const std::uint64_t limit = shorter ? reader.position(applied_) : 0;
  reader.take_back();
  const bool again = tries_again(why);
  if (!shorter) {
    if (!again) looked_at();
    return false;
  }
  const Status advanced = reader.advance(limit);
  if (!advanced.ok()) return advanced;
  return reader.records() != 0;
}

void Follower::forget() noexcept {
  lost_ = true;
  torn_ = true;
  put_off();
}

}  // namespace vicinal::engine
