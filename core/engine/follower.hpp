// How an index that was opened for reading gets what another process commits to its file.
//
// Thread safety: `has_news` from any thread; everything else by the holder of the writer's token
// of this index (core.hpp I1), whom nobody waits for: who is refused goes on with the version that
// there is.
//
// The writer of the file, in another process, and a reader of the index here:
//   (1) blocks, extents and a record are written       the system's page cache
//   (4) the live page's end = behind the record        release [live]
//   (F) end = the live page's                          acquire [live]; as looked at: nothing is new
//   (T) tries the token of this index                  seq_cst [token]; refused: somebody is at it
//   (L) end = the live page's, once more               acquire [live]
//   (R) reads and checks the records up to it
//   (P) publishes one version of all of them           version_root.hpp (0) to (3)
//   (K) looked at = end                                relaxed, then the token goes back
// Nothing is overlooked for ever: whoever comes to (F) after a store of (4) sees that end or a
// later one once it has arrived, and as long as it is not what (K) stored last, tries (T). A holder
// that read an older end at (L) stores that one at (K). What (R) reads was written before the end
// that (L) has acquired. Whether the records are right does not depend on it: the live page is
// hostile, and so are they. An end that is not behind a record, or lies, leads to records that are
// checked as those of a file that is opened are (log_reader.hpp I4), and one that was not announced
// may be taken if it is whole: a later writer takes it, too.
//
// I1: a version of this index is the file's of the same sequence, whole; sequences may be skipped.
// I2: what cannot be taken changes nothing: the index goes on with what it has. What is not valid
//     is looked at again when another end is announced; where memory is short, the file cannot be
//     read or the path leads nowhere, it is tried again after kRetryUs.
// I3: the live page is mapped at one address for as long as the follower lives: another file's is
//     put in its place, so that (F) needs no protection. Where files cannot be mapped nobody is at
//     (F): news are for who calls `Index::refresh`. Where the index is not to be mapped (F) is
//     always true, and (L) reads the page.
// I4: the live page says that the file has moved: the path leads to another one, which has the same
//     versions and goes on. Its segments take the place of all that there are, in the version of
//     its first commit that is new here; slots and sequences stay what they are. One of another
//     kind of index, or that has less, is not the one: the index stays with the old file.
// I5: a file that gets another one's name without a word in its live page is followed no more: its
//     writer is gone, and nobody says so.
// I6: the file must not shrink. What is mapped of it would be gone, which ends the process
//     (docs/format.md); an index that is not mapped has what it has read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/log_applier.hpp"
#include "platform/file_system.hpp"
#include "sync/atomic.hpp"
#include "sync/live_page.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// How long a follower leaves alone what it could not read.
inline constexpr std::uint64_t kRetryUs = 10'000;
// The same of a path that does not lead to another file yet, though the page says moved.
inline constexpr std::uint64_t kRenameUs = 200;

class Follower {
 public:
  // Of an index that was just made from `log`, which the path has led to. FULL, IO.
  [[nodiscard]] static Result<std::unique_ptr<Follower>> create(
      platform::FileSystem& files, const char* path, std::unique_ptr<OpenLog> log,
      LogApplier::Slabs slabs) noexcept;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  ~Follower();

  // (F): whether it is worth to try the token.
  [[nodiscard]] bool has_news() const noexcept {
    if (live_ == nullptr ? !always_ : !live_has_news()) return false;
    return retry_at_ns_.load(sync::relaxed) == 0 || may_retry();
  }
  // Whether the news are looked for by whoever uses the index, or by `refresh` alone (I3).
  [[nodiscard]] bool is_automatic() const noexcept { return live_ != nullptr || always_; }

  // (L), (R): what is new for an index of this sequence. Whether there is anything; it is to be
  // applied to a version of `sequence()` then, or taken back. IO, FULL, CORRUPT, UNSUPPORTED.
  [[nodiscard]] Result<bool> look(std::uint64_t sequence_now) noexcept;
  [[nodiscard]] std::uint64_t sequence() const noexcept { return log_->reader.sequence(); }
  // In a transaction. An error: abandon it and `take_back`.
  Status apply(segment::Replay& replay, segment::Damage& damage) noexcept;
  // After (P).
  void keep() noexcept;
  // Whether there is less to apply now, which can be.
  [[nodiscard]] Result<bool> take_back(const Status& why) noexcept;
  // I2: for reasons of the index itself.
  void put_off(std::uint64_t wait_us = kRetryUs) noexcept;
  // The holder before died in the middle of it: everything is read anew, from the path.
  void forget() noexcept;

 private:
  struct Seen {
    std::uint64_t end = 0;
    bool moved = false;
  };

  Follower(platform::FileSystem& files, std::unique_ptr<char[]> path,
           std::unique_ptr<OpenLog> log, LogApplier::Slabs slabs) noexcept;
  [[nodiscard]] bool live_has_news() const noexcept {
    return live_->announced() != looked_.load(sync::relaxed) || live_->moved();
  }
  [[nodiscard]] bool may_retry() const noexcept;
  void map_live() noexcept;
  void looked_at() noexcept;
  [[nodiscard]] bool tries_again(const Status& why) noexcept;
  [[nodiscard]] Result<Seen> read_live() noexcept;
  // I4. Whether the log is another one now.
  [[nodiscard]] Result<bool> reopen(std::uint64_t sequence_now) noexcept;
  [[nodiscard]] Result<bool> look_in(const Seen& seen, std::uint64_t sequence_now) noexcept;

  platform::FileSystem& files_;
  std::unique_ptr<char[]> path_;
  std::unique_ptr<OpenLog> log_;
  LogApplier::Slabs slabs_;
  const sync::LivePage* live_ = nullptr;  // mapped
  bool always_ = false;                   // I3
  bool anew_ = false;                     // the version's segments are another file's
  bool lost_ = false;                     // what the log says is not to be trusted
  bool torn_ = false;                     // nor what it is: its holder died in it
  std::size_t applied_ = 0;               // records, by the last `apply`
  std::uint64_t seen_end_ = 0;            // at the last (L)
  sync::Atomic<std::uint64_t> looked_;       // (K)
  sync::Atomic<std::uint64_t> retry_at_ns_;  // I2; 0: at once
};

}  // namespace vicinal::engine
