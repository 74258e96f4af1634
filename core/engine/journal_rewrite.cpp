// The journal's rewriting of its file (journal.hpp, (r1) to (r4)).
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "engine/journal.hpp"

namespace vicinal::engine {
namespace {

// What `rewrite` copies at a time: others get at the log in between.
constexpr std::uint64_t kStepBytes = std::uint64_t{4} << 20;

}  // namespace

std::uint64_t Journal::garbage_bytes() const noexcept {
  const std::uint64_t used = writer_->needed_bytes() + directory_bytes_ + storage::kLogStart;
  return writer_->place().end - std::min(used, writer_->place().end);
}

void Journal::rewrite_some(std::uint64_t appended) noexcept {
  if (rewriting_ == nullptr) {
    const std::uint64_t garbage = garbage_bytes();
    const std::uint64_t much =
        kGarbageBytesMin + writer_->place().end / 100 * kGarbagePercent;
    if (ends_ || garbage <= std::max(much, garbage_goal_) || !begin_rewriting().ok()) return;
  }
  const bool held_long = source_.reclaimer.bytes() > source_.options.retired_bytes_max / 2;
  // Who commits seldom may not be here for the next step.
  (void)go_on_rewriting(held_long || commit_on_flush_
                            ? ~std::uint64_t{0}
                            : std::max(kRewriteBytesMin, kRewriteShare * appended));
}

bool Journal::leads_to(platform::File& file) const noexcept {
  const auto same = file.is_at(home_.path.get());
  return same.ok() && *same;
}

Status Journal::begin_rewriting() noexcept {
  VICINAL_ASSERT(rewriting_ == nullptr);
  ++rewritings_;
  // Whoever has renamed or removed the file wants no other in its place.
  if (!leads_to(*home_.file)) {
    const Status why(Code::io, ENOENT);
    give_up_rewriting(why);
    return why;
  }
  std::unique_ptr<Rewriting> begun(new (std::nothrow) Rewriting);
  if (begun == nullptr) return Status(Code::full, sizeof(Rewriting));
  auto temporary = home_.files.create_beside(home_.path.get());
  if (!temporary.ok()) {
    give_up_rewriting(temporary.status());
    return temporary.status();
  }
  begun->temporary = std::move(temporary).value();
  rewriting_ = std::move(begun);
  const auto* newest =
      static_cast<const segment::Version*>(source_.root.hold(source_.slots.slot(keeps_)));
  rewriting_->version = newest;
  if (commit_on_flush_ && newest->sequence != logged_->sequence) {
    const Status why(Code::busy);  // what nobody has asked for is not to reach the file
    give_up_rewriting(why);
    return why;
  }
  storage::Uuid uuid;
  platform::draw_random(uuid.bytes);
  auto maker = LogFileMaker::create(*rewriting_->temporary.file, uuid, source_.options,
                                    source_.layout, *newest, LogWriter::Extents::for_more_rows);
  if (maker.ok()) {
    rewriting_->maker = std::move(maker).value();
    return {};
  }
  give_up_rewriting(maker.status());
  return maker.status();
}

Status Journal::go_on_rewriting(std::uint64_t bytes) noexcept {
  const auto all = rewriting_->maker->advance(bytes);
  if (!all.ok()) {
    give_up_rewriting(all.status());
    return all.status();
  }
  return *all ? end_rewriting() : Status();
}

Status Journal::end_rewriting() noexcept {
  Status ended;
  if (logged_->sequence < rewriting_->version->sequence) {
    ended = append_newest();
    if (!ended.ok()) return failed(ended);
    announce();
  }
  ended = rewriting_->maker->finish(*logged_);
  if (ended.ok()) ended = rewriting_->temporary.file->lock();
  // Whoever gave the name to another file meanwhile wants that one there.
  if (ended.ok() && !leads_to(*home_.file)) ended = Status(Code::io, ENOENT);
  if (!ended.ok()) {
    give_up_rewriting(ended);
    return ended;
  }
  return take_name();
}

Status Journal::take_name() noexcept {
  const std::unique_ptr<Rewriting> done = std::move(rewriting_);
  std::unique_ptr<platform::File> file = std::move(done->temporary.file);
  std::unique_ptr<LiveFields> live(new (std::nothrow) LiveFields(*file));
  Status named = live == nullptr ? Status(Code::full, sizeof(LiveFields)) : live->map();
  const bool whole = named.ok();
  if (whole) {
    live->begin();
    live->announce(done->maker->end(), logged_->sequence);
    live_->say_moved();
    named = home_.files.rename_over(done->temporary);
  } else {
    home_.files.discard(done->temporary);
  }
  sync::VersionRoot::leave(source_.slots.slot(keeps_));
  // Which file has the name after a renaming that failed; an error: nobody knows.
  const Result<bool> there = !whole       ? Result<bool>(false)
                             : named.ok() ? Result<bool>(true)
                                          : file->is_at(home_.path.get());
  if (!there.ok()) return failed(there.status());
  if (!*there) {
    live_->begin();  // it has not moved
    rewriting_failed_ = named;
    garbage_goal_ = 2 * garbage_bytes();
    return named;
  }
  live_ = std::move(live);
  writer_ = done->maker->take_writer();
  directory_ = done->maker->directory();
  directory_bytes_ = done->maker->directory_bytes();
  turn_ = LogFileMaker::turn();
  home_.file = std::move(file);
  rewritten_ = rewritings_;
  garbage_goal_ = 0;
  if (!named.ok()) return failed(named);  // the name may not be on the disk
  durable_.store(logged_->sequence, sync::relaxed);
  return {};
}

void Journal::give_up_rewriting(const Status& why) noexcept {
  rewriting_failed_ = why;
  if (writer_ != nullptr) garbage_goal_ = 2 * garbage_bytes();
  if (rewriting_ == nullptr) return;
  sync::VersionRoot::leave(source_.slots.slot(keeps_));
  rewriting_->maker.reset();
  home_.files.discard(rewriting_->temporary);
  rewriting_.reset();
}

Status Journal::rewrite() noexcept {
  if (!take()) return Status(Code::would_block);
  const std::uint32_t heard = news_.prepare();
  Status done = status();
  if (done.ok()) done = log_newest(false);
  std::uint64_t number = 0;
  if (done.ok()) {
    // One under way may have rows that died since.
    if (rewriting_ != nullptr) give_up_rewriting(Status(Code::busy));
    done = begin_rewriting();
    number = rewritings_;
  }
  while (done.ok() && rewriting_ != nullptr && rewritings_ == number) {
    done = go_on_rewriting(kStepBytes);
    give_back();
    if (!take()) return Status(Code::would_block);
  }
  // Somebody else's is newer than ours.
  while (done.ok() && rewriting_ != nullptr) done = go_on_rewriting(kStepBytes);
  if (done.ok() && rewritten_ < number) done = rewriting_failed_;
  done = tell(done);
  give_back();
  if (news_.prepare() != heard) follow();  // (A)
  return done;
}

}  // namespace vicinal::engine
