// The log of an index's commits in its file: who writes it, when, and what is certain afterwards.
//
// Thread safety: any thread, once `start` is over; `stop` waits for who is at work.
//
// A version is published first and logged then, so that no reader ever waits for a disk. One thread
// at a time has the log; it holds the version last logged pinned, and writes what the newest one
// has more (log_writer.hpp). So group commit, compactions and `clear` need no special case, and
// versions between the two are never written. With
//   (P) a version is published          seq_cst [current], version_root.hpp (1)
//   (B) its publisher rings the bell    seq_cst [event]
//   (T) and tries the log's token       seq_cst [token]; refused, it leaves
// the holder
//   (L) looks at the bell               seq_cst [event]
//   (V) pins the newest version         version_root.hpp (a) to (d)
//   (1) writes extents and blocks, (2) a record; (3) where somebody asked for it: sync
//   (4) stores the live page            release [live]
//   (5) after (3): a meta slot, sync
//   (G) gives the token back            seq_cst [token]
//   (A) looks at the bell again         seq_cst [event]; if it has rung since (L): tries the token
// No version is left out. If (T) was refused, it read what was there before that holder's (G), so
// in the one order of seq_cst operations (B) < (T) < (G) < (A), and (A) hears (B); whoever is at
// (A) tries again. If the holder's (L) hears (B), then (P) happens before (V), which sees that
// version or a later one. Who wants to be certain takes the token itself and waits for it: then the
// version it has published is one that its own (V) sees, or the log has it.
//
// Who may not wait for a disk, as a page's main thread, asks instead (`ask`), and whoever works for
// the writer serves (`serve`), then tells the askers by a message of its own. With
//   (S) the asker has seen the outcome of its write, whose version the server published
//   (K) it counts its question       relaxed [asks]
//   (D) it rings the writer's bell   seq_cst [event], core.hpp
// the server counts the questions, makes the newest version certain, and answers all that it has
// counted. Nothing is carried by the count: the versions asked for were published by the server
// itself or by a dead one in whose place it is, and a question that it has not counted rings (D)
// after its look, so that it does not sleep.
//
// After a loss of power at any moment: what was not synced may be there in any part. (2) behind
// (1): the record's sum and the blocks' sums tell whether they are all there, and a record that is
// not whole was never acknowledged, since that comes after (3). A meta slot of (5) names what (3)
// has made certain; the two slots take turns, so one is always whole. Where (5) is lost, the walk
// behind the older slot's end finds the record all the same.
//
// A file that has much garbage (kGarbagePercent) is rewritten beside itself, a step behind each
// commit, so that no write waits for all of it:
//   (r1) pins the newest version, V, and begins a new file (log_file.hpp)
//   (r2) some of V's blocks are copied, more than what the commit has appended
//   (r3) when all of them are there: V's directory, and what the version last logged has more than
//        V; a sync. The new file is locked as the old one is
//   (r4) stores moved in the old live page, and only then gives the new file the name: who reads
//        along stays with the old file until the path leads to another one, and would never hear
//        of it if this process died in between. The log goes on in the new file
// Until the rename the old file has everything, and is what a loss of power leaves; from then on
// the new one has, which was synced before. Any error up to the rename gives the new file up, and
// the old one goes on. `rewrite` does the same at once. V is one version of which nothing may be
// freed: where much is retired meanwhile, the next (r2) copies all that is left.
//
// I1: a write or a sync that fails ends the log for good: nobody knows what is on the disk, and a
//     second sync may say OK for what the first one lost. Who wanted certainty gets IO(errno), all
//     later ones READ_ONLY; searches and other writes go on in memory.
// I2: `durable_` is never more than what (3) and (5), or (r3), have made certain.
// I3: without a log that works no version is pinned.
// I4: where files cannot be mapped, the live page is written (live_fields.hpp).
// I5: a holder of the log's token that died in it leaves nobody who knows how far it came: the log
//     ends, as in I1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/live_fields.hpp"
#include "engine/log_file.hpp"
#include "engine/log_writer.hpp"
#include "platform/file_system.hpp"
#include "segment/version.hpp"
#include "storage/log_format.hpp"
#include "sync/event.hpp"
#include "sync/reader_slots.hpp"
#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"
#include "sync/writer_token.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

// A directory is written when the log behind the last one is longer than this, and than so many
// times the directory: opening reads no more, and writing costs no more.
inline constexpr std::uint64_t kDirectoryBytesMin = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kDirectoryShare = 4;
// A table of ids is written before a directory when the last one lacks this many rows, and than
// so many hundredths of all; at the end it may lack fewer.
inline constexpr std::uint64_t kRowsWithoutIds = 4096;
inline constexpr std::uint64_t kPercentWithoutIds = 50;
inline constexpr std::uint64_t kRowsWithoutIdsAtEnd = 1024;
inline constexpr std::uint64_t kPercentWithoutIdsAtEnd = 10;
// A file is rewritten when more of it than both of these is garbage: what no opening reads.
inline constexpr std::uint64_t kGarbagePercent = 25;
inline constexpr std::uint64_t kGarbageBytesMin = std::uint64_t{64} << 10;
// Bytes that (r2) copies: this many at least, and this many times what the commit has appended.
inline constexpr std::uint64_t kRewriteBytesMin = std::uint64_t{16} << 10;
inline constexpr std::uint64_t kRewriteShare = 4;

class Journal {
 public:
  // The index that is logged.
  struct Source {
    const sync::VersionRoot& root;
    sync::ReaderSlots& slots;
    const sync::Reclaimer& reclaimer;  // its bytes() alone
    const IndexOptions& options;
    const quant::CodeLayout& layout;
  };
  // Where the file is.
  struct Home {
    platform::FileSystem& files;
    std::unique_ptr<char[]> path;  // full: a process may change its folder
    std::unique_ptr<platform::File> file;
  };
  // What opening has found, or what a new file has.
  struct State {
    LogWriter::Place place;
    std::uint64_t directory = 0;        // position of the newest one
    std::uint64_t directory_bytes = 0;  // of its record
    std::uint64_t turn = 0;             // of the newest meta slot
    bool commit_on_flush = false;       // only what `make_durable` asks for is logged
  };

  // BUSY without free reader slots; FULL, IO. `source` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> create(const Source& source, Home home,
                                                               const State& state) noexcept;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  // Before anybody else knows it: the log stands for the newest version. Stores a meta slot, so
  // that both are whole, and the live page. IO, FULL.
  Status start() noexcept;
  [[nodiscard]] LogWriter& writer() noexcept { return *writer_; }

  // After a version was published: logs the newest one, unless somebody is at it.
  void follow() noexcept;
  // Returns when the version of this sequence, which is published, survives a loss of power. IO for
  // the first who fails, then READ_ONLY; FULL without memory, or without room where files say so;
  // CLOSED after `stop`; WOULD_BLOCK for a thread that may not wait, which asks.
  Status make_durable(std::uint64_t sequence) noexcept;
  // The file without garbage: its newest version and, perhaps, what was written meanwhile. Returns
  // when that is on the disk, or there was nothing to gain. IO, FULL, CORRUPT (damage was met): the
  // file is as it was. UNSUPPORTED where files cannot be replaced. Else as `make_durable`.
  Status rewrite() noexcept;
  // READ_ONLY once the log has ended (I1).
  [[nodiscard]] Status status() const noexcept;
  // Whether `path` leads to the file.
  [[nodiscard]] bool is_at(const char* path) noexcept;
  // By who may not wait: everything published by now is to survive a loss of power. The question's
  // number, 1 for the first; whoever calls `serve` has to be woken.
  [[nodiscard]] std::uint32_t ask() noexcept { return asks_.fetch_add(1, sync::relaxed) + 1; }
  // By one thread at a time, which may wait. Nothing: nobody has asked since.
  struct Served {
    std::uint32_t asks;  // questions up to this number are answered
    std::uint64_t durable;
    Status status;  // as of make_durable
  };
  [[nodiscard]] std::optional<Served> serve() noexcept;

  // With proof that the realm (not 0) runs no more: frees the token if that realm had it (I5).
  void take_from(std::uint32_t realm) noexcept;

  // When nothing is published any more: what is gets certain, if it can be, and the file closed. By
  // a thread that may not wait, while somebody else has the log: nothing. IO, FULL: the file lacks
  // what was written last, and nobody was told.
  Status stop() noexcept;

  // Reader slots that it has.
  [[nodiscard]] static constexpr std::uint32_t slots() noexcept { return 3; }

 private:
  struct Rewriting {
    platform::TemporaryFile temporary;
    std::unique_ptr<LogFileMaker> maker;  // writes to that file
    const segment::Version* version;
  };

  Journal(const Source& source, Home home, const State& state) noexcept;

  enum class Ended : std::uint32_t { no = 0, failed = 1, stopped = 2 };

  // All of these with the token.
  [[nodiscard]] bool try_take() noexcept;
  // False: somebody else has it, and this thread may not wait.
  [[nodiscard]] bool take() noexcept;
  void give_back() noexcept;
  // Steps (V) to (5).
  Status log_newest(bool durable) noexcept;
  Status append_newest() noexcept;
  Status append_directory() noexcept;  // when it is time
  Status append_directory_now() noexcept;
  Status append_ids(std::uint64_t rows_min, std::uint64_t percent) noexcept;
  Status make_certain() noexcept;
  Status write_meta() noexcept;
  void announce() noexcept;
  // I1. Returns what to tell.
  Status failed(Status status) noexcept;
  [[nodiscard]] Status tell(const Status& status) noexcept;
  void let_go_of_versions() noexcept;
  [[nodiscard]] bool is_all_durable() const noexcept;
  // At the end: with nothing to be read but what a later opening needs.
  void leave_quick_to_open() noexcept;
  void close_file() noexcept;
  // journal_rewrite.cpp. What the file has that opening does not read.
  [[nodiscard]] std::uint64_t garbage_bytes() const noexcept;
  // Behind a commit that has appended so many bytes.
  void rewrite_some(std::uint64_t appended) noexcept;
  [[nodiscard]] bool leads_to(platform::File& file) const noexcept;
  Status begin_rewriting() noexcept;              // (r1)
  Status go_on_rewriting(std::uint64_t bytes) noexcept;  // (r2), at the end (r3) and (r4)
  Status end_rewriting() noexcept;                // (r3), (r4)
  Status take_name() noexcept;
  void give_up_rewriting(const Status& why) noexcept;

  Source source_;
  Home home_;
  bool commit_on_flush_;
  bool ends_ = false;  // `stop` is at work
  std::unique_ptr<LogWriter> writer_;
  std::uint64_t directory_;
  std::uint64_t directory_bytes_;
  std::uint64_t turn_;
  std::unique_ptr<LiveFields> live_;

  sync::WriterToken token_;
  sync::EventCount news_;  // the bell
  sync::EventCount left_;  // who waits for the token
  sync::Atomic<std::uint64_t> logged_sequence_;  // a hint
  sync::Atomic<std::uint64_t> durable_;
  sync::Atomic<std::uint32_t> ended_;
  sync::Atomic<std::uint32_t> asks_;
  std::uint32_t served_ = 0;        // the server's
  std::uint32_t mended_epoch_ = 0;  // of the token

  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  std::uint32_t holds_ = kNoSlot;  // the slot that pins `logged_`
  std::uint32_t free_ = kNoSlot;
  std::uint32_t keeps_ = kNoSlot;  // pins what is being rewritten
  std::unique_ptr<Rewriting> rewriting_;
  std::uint64_t rewritings_ = 0;     // that were begun
  std::uint64_t rewritten_ = 0;      // and ended, by their numbers
  std::uint64_t garbage_goal_ = 0;   // none is begun below this, after one that failed
  Status rewriting_failed_;          // why the last one was given up
  const segment::Version* logged_ = nullptr;
  Status failure_;  // what ended the log, until somebody is told
};

}  // namespace vicinal::engine
