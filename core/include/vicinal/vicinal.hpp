// vicinal: nearest-neighbour search over compressed vectors where a reader never waits.
//
// Thread safety: an Index may be used from any number of threads at once; a Reader or Snapshot from
// one thread at a time. Index, Reader and Snapshot each keep the index alive. Moving from or
// assigning to an object while another thread uses it is a race, as for any value.
//
// Errors are values (status.hpp); nothing throws. After close() everything answers CLOSED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vicinal/file_report.hpp"
#include "vicinal/hits.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal {

namespace engine {
class Core;
class HelperCore;
class ImageLoader;
class ImageOut;
class Message;
class ReaderCore;
}  // namespace engine
namespace platform {
class FileSystem;
}  // namespace platform
namespace search {
class IdFilter;
}  // namespace search

// A list of the only ids that searches may return, prepared once and kept up to date: a search with
// it costs what the allowed rows cost, and a newer version only a look at the rows added since.
// Belongs to one thread at a time, as a reader does, whose every reader of the index may use it.
// Keeps the index's memory alive.
class Filter {
 public:
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // Different ids in the list, known to the index or not.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  friend class Reader;
  Filter(std::shared_ptr<engine::Core> core, std::unique_ptr<search::IdFilter> filter) noexcept;
  std::shared_ptr<engine::Core> core_;
  std::unique_ptr<search::IdFilter> filter_;
};

// The bytes of an index's file, a slice at a time: for those who may not wait for the whole, or
// have no memory for it twice. Belongs to one thread at a time; keeps its version, as a snapshot
// does.
class Saver {
 public:
  static constexpr std::size_t kRoomBytesMin = std::size_t{128} << 10;
  struct Slice {
    std::uint64_t offset = 0;  // where in the file it belongs
    std::size_t bytes = 0;     // 0: there is no more
  };

  Saver(Saver&&) noexcept;
  Saver& operator=(Saver&&) noexcept;
  ~Saver();

  // Of the whole file.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // Fills `room`, at least kRoomBytesMin, with what comes next. Every byte of the file comes once,
  // and last of all the one slice with offset 0: what was cut short before it is no file. CLOSED,
  // BAD_OPTION.
  [[nodiscard]] Result<Slice> next(std::span<std::byte> room);

 private:
  friend class Reader;
  explicit Saver(std::unique_ptr<engine::ImageOut> out) noexcept;
  std::unique_ptr<engine::ImageOut> out_;
};

// Searches without locks: one per thread. See the thread-safety note above.
class Reader {
 public:
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  // ok, or why this reader cannot read: BUSY when 4,096 readers exist, CLOSED, FULL. Every method
  // answers with it.
  [[nodiscard]] Status status() const noexcept;

  // `query`: dim floats. The hits lie in this reader's memory and are valid until its next search;
  // a warm search allocates nothing. k above the live rows gives all of them; k = 0 or an empty
  // index gives none. Errors: DIMENSION, NOT_FINITE (row 0, coordinate), BAD_OPTION, WOULD_BLOCK
  // (min_sequence is not reached), CLOSED, FULL.
  [[nodiscard]] Result<Hits> search(std::span<const float> query,
                                    const SearchOptions& options = {});
  // count * dim floats; one result each, equal to the bit to single searches, all of one version.
  [[nodiscard]] Result<BatchHits> search_batch(std::span<const float> queries,
                                               const SearchOptions& options = {});
  // The same without memory of the results' own: visit(std::size_t query, const Hits&) for each
  // query in order, of hits that are valid until it returns. It must not throw or use this reader.
  // An error may come after some were visited.
  template <class Visit>
  Status search_each(std::span<const float> queries, const SearchOptions& options,
                     Visit&& visit) {
    using Called = std::remove_reference_t<Visit>;
    const HitsVisit call = [](void* context, std::size_t query, const Hits& hits) noexcept {
      (*static_cast<Called*>(context))(query, hits);
    };
    const void* context = std::addressof(visit);
    return visit_each(queries, options, call, const_cast<void*>(context), nullptr);
  }
  // For SearchOptions::compiled_filter, of this index's readers. Unknown ids may become known
  // later. FULL, CLOSED.
  // BAD_ID here and below for ids of the other kind than the index's.
  [[nodiscard]] Result<Filter> filter(std::span<const std::uint64_t> ids);
  [[nodiscard]] Result<Filter> filter(IdStrings ids);
  // Whether the newest version has the id. Constant time; false after close, or for an id of the
  // other kind.
  [[nodiscard]] bool has(std::uint64_t id);
  [[nodiscard]] bool has(std::string_view id);
  // Where the index keeps originals, the row as it was given (float16: rounded), dim floats; else
  // the vector that the codes stand for (unit length for cosine). UNKNOWN_ID.
  [[nodiscard]] Result<std::vector<float>> get(std::uint64_t id);
  [[nodiscard]] Result<std::vector<float>> get(std::string_view id);
  // The same into `vector` (dim floats), without allocating.
  Status get_into(std::uint64_t id, std::span<float> vector);
  Status get_into(std::string_view id, std::span<float> vector);
  // Live rows of one version, and which version that is; zeros after close.
  struct Size {
    std::uint64_t rows = 0;
    std::uint64_t sequence = 0;
  };
  [[nodiscard]] Size count();
  [[nodiscard]] std::uint64_t size() { return count().rows; }
  [[nodiscard]] std::uint64_t sequence() { return count().sequence; }
  // A reader of one fixed version, until it is destroyed. From a snapshot: of the same version.
  [[nodiscard]] Reader snapshot();
  // The file of the version that is newest now (of a snapshot's), slice by slice. BUSY when all
  // reader slots are taken, CLOSED, FULL.
  [[nodiscard]] Result<Saver> saver();
  // For bindings: this reader's user was ended in the middle of a call, and the caller has proof of
  // it. Gives back the slot (`reuse`: to be handed out again) and the share of the index, not the
  // memory of the reader's own. A time-out proves nothing and would free under a live reader.
  static void abandon(Reader reader, bool reuse) noexcept;

 private:
  friend class Index;
  Reader(std::unique_ptr<engine::ReaderCore> core, Status status) noexcept;
  template <class Id>
  Result<Filter> make_filter(std::span<const Id> ids);
  template <class Id>
  Result<std::vector<float>> get_vector(Id id);
  template <class Id>
  Status look_up(Id id, std::span<float> vector);
  Status filter_of(const SearchOptions& options, search::IdFilter** filter) const noexcept;
  using HitsVisit = void (*)(void* context, std::size_t query, const Hits& hits) noexcept;
  // `sequence` of the version, also where there is no query; may be null.
  Status visit_each(std::span<const float> queries, const SearchOptions& options, HitsVisit visit,
                    void* context, std::uint64_t* sequence) noexcept;
  std::unique_ptr<engine::ReaderCore> core_;
  Status status_;
};
using Snapshot = Reader;

class Index;

enum class WriteKind : std::uint8_t {
  add = 0, upsert = 1, remove = 2, clear = 3, calibrate = 4, compact = 5,
};

// A write that nobody waits for, for event loops: fill it, submit it through a WriteQueue, look for
// its end. Belongs to one thread and keeps the index alive. Between the submit and its end only
// done(), done_word() and result() may be called; one that is destroyed in between loses its memory
// for good, since the writer may be reading it.
class PendingWrite {
 public:
  PendingWrite(PendingWrite&&) noexcept;
  PendingWrite& operator=(PendingWrite&&) noexcept;
  ~PendingWrite();

  // What it was made for: ids, rows, or rows of a sample.
  [[nodiscard]] std::uint64_t count() const noexcept;
  // Room for the ids; `clear`, `calibrate` and `compact` have none.
  [[nodiscard]] std::span<std::uint64_t> ids() noexcept;
  // Where ids are strings there is room for their bytes instead, one string after the other, and
  // for where each ends. All are empty at first.
  [[nodiscard]] std::span<std::uint32_t> string_ends() noexcept;
  [[nodiscard]] std::span<char> text() noexcept;
  // Room for one slice of vectors (at least one row of dim floats, 64-byte aligned), from which
  // `encode` may read; empty for kinds without rows.
  [[nodiscard]] std::span<float> staging() noexcept;
  // Validates and encodes whole vectors as rows first.. of this write. Every row must be encoded
  // before the submit. DIMENSION, NOT_FINITE(row, coordinate), BAD_OPTION when they do not fit.
  Status encode(std::uint64_t first, std::span<const float> vectors);
  // For bindings: as `encode` for rows of an add or upsert, called by another thread that the owner
  // lends these rows to and hears from again; then the owner counts them. Between, the owner leaves
  // these rows alone and neither submits nor destroys the write. FULL without memory for scratch.
  Status encode_apart(std::uint64_t first, std::span<const float> vectors) const;
  void count_encoded(std::uint64_t rows);
  [[nodiscard]] bool done() const noexcept;
  // A 32-bit word that is 0 until done, for futexes and Atomics.wait.
  [[nodiscard]] const void* done_word() const noexcept;
  // What the write came to; WOULD_BLOCK before it is done.
  [[nodiscard]] Result<Receipt> result() const;

 private:
  friend class WriteQueue;
  PendingWrite(std::shared_ptr<engine::Core> core, engine::Message* message) noexcept;
  std::shared_ptr<engine::Core> core_;  // the message refers to its quantiser
  engine::Message* message_ = nullptr;
  bool submitted_ = false;
};

// Writes of one queue are applied in the order of their submits. Belongs to one thread at a time.
class WriteQueue {
 public:
  WriteQueue(WriteQueue&&) noexcept;
  WriteQueue& operator=(WriteQueue&&) noexcept;
  ~WriteQueue();

  // `count` ids, rows with ids, or rows of a sample (calibrate; errors as Index::calibrate). FULL.
  // Rows are encoded for the calibration of this moment: what is made before a calibrate is done
  // and submitted behind it comes to BAD_OPTION(stale_write). `text_bytes`: of all ids together,
  // where they are strings.
  [[nodiscard]] Result<PendingWrite> make(WriteKind kind, std::uint64_t count,
                                          std::uint64_t text_bytes = 0);
  // Hands the write to whoever calls Index::pump. BUSY: too many are waiting, try later.
  // READ_ONLY, CLOSED; BAD_OPTION for a write that was submitted before or has rows that were not
  // encoded; BAD_ID for a string that is too long. On an error the write is the caller's as before.
  Status submit(PendingWrite& write);

 private:
  friend class Index;
  static constexpr std::uint32_t kNoLane = ~std::uint32_t{0};
  WriteQueue(std::shared_ptr<engine::Core> core, bool read_only) noexcept;
  std::shared_ptr<engine::Core> core_;
  std::uint32_t lane_ = kNoLane;  // taken at the first submit
  bool read_only_ = false;
};

// A thread's part in the long searches of others. Belongs to that thread and keeps the index alive.
class Helper {
 public:
  Helper(Helper&&) noexcept;
  Helper& operator=(Helper&&) noexcept;
  ~Helper();

  // Helps where a search asks for it; without one waits for the next, `wait_us_max` microseconds at
  // most. Whether it has helped. The result of a search does not depend on who helped.
  bool help(std::uint64_t wait_us_max);

 private:
  friend class Index;
  Helper(std::shared_ptr<engine::Core> core, std::unique_ptr<engine::HelperCore> helper) noexcept;
  std::shared_ptr<engine::Core> core_;
  std::unique_ptr<engine::HelperCore> helper_;
};

struct OpenOptions {
  // True: writes get READ_ONLY, and the index follows whoever writes to the file, in this process
  // or another one: every call sees the newest commit, unless another thread is at taking it over.
  bool read_only = false;
  std::uint64_t memory_bytes_max = 0;  // 0: no limit; a file that needs more is FULL
  // Rows are searched where the file is mapped: opening reads next to nothing, processes share one
  // copy, and each part is checked before its first use. A file that somebody else cuts short then
  // ends the process. False: all is read and checked at once.
  bool mapped = true;
  // True: a copy in memory, as `from_bytes` makes it; what is written does not reach the file.
  bool detached = false;
  // Index::open alone, of a file that is written to. An image (docs/format.md) becomes a log first;
  // without it one is opened as a copy in memory.
  bool upgrade = false;
  // Index::open alone: only flush, compact and durable writes reach the file, each with all that
  // was written before it as one commit; what comes after the last of them is lost at the end.
  bool commit_on_flush = false;
  // Index::open alone, not with `read_only`: the options of the index to make where there is no
  // file. Where there is one, it has to be of the same options, else BAD_OPTION(name).
  std::optional<IndexOptions> create;
  // What opens and writes files; null: the operating system's. It outlives the index.
  platform::FileSystem* files = nullptr;
};

// Refers to an index without keeping it alive. May be used from any number of threads at once.
class WeakIndex {
 public:
  // An owner, or CLOSED when the last one is gone.
  [[nodiscard]] Result<Index> lock() const;

 private:
  friend class Index;
  std::weak_ptr<engine::Core> core_;
  bool read_only_ = false;
};

class Index {
 public:
  // An empty index in memory. BAD_OPTION(name), UNSUPPORTED, FULL.
  [[nodiscard]] static Result<Index> create(const IndexOptions& options);
  // The index in a file. Not read_only: every write goes to the file, too. It is there for whoever
  // opens the file later once the call has returned, and survives a loss of power with
  // WriteOptions::durable or after `flush`. One process may write: BUSY(its number) for the second.
  // A file of format 1 or 2 is loaded into memory, and writes do not reach it. IO, CORRUPT,
  // VERSION, UNSUPPORTED, FULL, BUSY, BAD_OPTION(name).
  [[nodiscard]] static Result<Index> open(const std::string& path, const OpenOptions& options = {});
  [[nodiscard]] static Result<Index> from_bytes(std::span<const std::byte> bytes,
                                                const OpenOptions& options = {});
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  [[nodiscard]] const IndexOptions& options() const noexcept;

  // `rows`: ids.size() * dim floats, row by row. Returns once the rows are visible to every search
  // that starts afterwards; a batch becomes visible in one step, or with `atomic` false in parts.
  // Errors, nothing changed but what WriteOptions::landed tells: DIMENSION, NOT_FINITE(row,
  // coordinate), DUPLICATE_ID(id), FULL, BUSY (a stuck reader holds too much retired memory),
  // BAD_ID (ids of the other kind than the index's, a string that is too long), READ_ONLY, CLOSED.
  Result<Receipt> add(std::span<const std::uint64_t> ids, std::span<const float> rows,
                      const WriteOptions& options = {});
  Result<Receipt> add(IdStrings ids, std::span<const float> rows,
                      const WriteOptions& options = {});
  // As add; rows whose id is present replace it. An id twice in one batch: the last row wins.
  Result<Receipt> upsert(std::span<const std::uint64_t> ids, std::span<const float> rows,
                         const WriteOptions& options = {});
  Result<Receipt> upsert(IdStrings ids, std::span<const float> rows,
                         const WriteOptions& options = {});
  // Unknown ids are no error; the receipt counts the rows that went. FULL, BUSY, READ_ONLY, CLOSED.
  Result<Receipt> remove(std::span<const std::uint64_t> ids, const WriteOptions& options = {});
  Result<Receipt> remove(IdStrings ids, const WriteOptions& options = {});
  Result<Receipt> clear(const WriteOptions& options = {});
  // Fits the index to where vectors lie: from now on they are measured from the centre of `sample`
  // (rows of dim floats, at least 32, more than 1,024 are thinned out), which makes recall better
  // where vectors do not lie around zero. Only while the index has no rows; `clear` keeps the
  // calibration, another one replaces it, `save` stores it. Errors, nothing changed:
  // BAD_OPTION(calibrate) when there are rows, BAD_OPTION(sample) for too few, DIMENSION,
  // NOT_FINITE(row, coordinate), UNSUPPORTED for the metric ip, FULL, BUSY, READ_ONLY, CLOSED.
  Result<Receipt> calibrate(std::span<const float> sample, const WriteOptions& options = {});
  // Rewrites the segments that have dead rows now, and small ones together, and returns when that
  // is done: their memory is free as soon as no reader holds a version from before. Searches and
  // other writes go on meanwhile; no result changes. What does not fit the memory budget is left as
  // it is. The receipt counts the dead rows that went. An index in a file is then written anew
  // beside it, and the new file, which has nothing of what was dead or replaced, takes its name: it
  // is there for certain when the call returns. Also IO and CORRUPT, with the file as it was.
  // READ_ONLY, CLOSED, FULL, BUSY.
  Result<Receipt> compact();

  // Returns when all that was written by then, in whatever way, survives a loss of power: the
  // sequence that does. UNSUPPORTED without a file; IO(errno) when the file cannot be written, and
  // READ_ONLY from then on, since nobody knows what is on the disk; FULL, CLOSED.
  Result<Receipt> flush();

  // Of an index that follows a file (OpenOptions::read_only): whether a newer version of it was
  // published. Only needed where files cannot be mapped, or so that no search has to do it; false
  // while another thread is at it, and for any other index. IO, CORRUPT, UNSUPPORTED (what was
  // appended cannot be read), FULL, BUSY (too much waits for readers): the index stays as it is.
  // CLOSED.
  [[nodiscard]] Result<bool> refresh();

  // Writes without waiting; somebody must call pump.
  [[nodiscard]] WriteQueue write_queue() const;
  // Does writes that are pending, about `budget_us` microseconds of them, unless another thread is
  // doing so; without any, a slice of compaction where dead rows have become many. 0: there is
  // nothing to do; else how many writes it completed, or 1 for a slice.
  std::uint32_t pump(std::uint64_t budget_us);
  // Of an index in a file, for threads that may not wait for a disk: asks whoever pumps to make
  // certain what has been written by now, as `flush`; the question's number. UNSUPPORTED,
  // READ_ONLY, CLOSED.
  Result<std::uint32_t> ask_flush();
  // By whoever pumps, and may wait, after a pump that returned 0. What became of the questions up
  // to `asks`, or of none: 0.
  struct Flushed {
    std::uint32_t asks = 0;
    std::uint64_t sequence = 0;  // certain, as far as is known
    Status status;               // errors as flush
  };
  [[nodiscard]] Flushed serve_flush();
  // When no write is on its way: the file has all of them and is closed; `close` finds it so. IO,
  // FULL: it is closed without what was written last, which no flush has told.
  Status close_file() noexcept;
  // Of the rows that are there; 0 without any. Looks at every one.
  [[nodiscard]] std::uint64_t largest_id() const;
  // A 32-bit word that changes with every submit: read it, pump until 0, then sleep on it.
  [[nodiscard]] const void* doorbell() const noexcept;

  // How many threads of its own the index has that help long searches: none at first, 32 at most.
  // Without them, and while as many callers search as there are processors, a search runs in its
  // caller alone. More or fewer by the return of the call; a search under way keeps its helpers.
  // BAD_OPTION(helpers), BUSY (another thread changes it, or outside helpers have the numbers),
  // FULL, CLOSED for more than none; UNSUPPORTED in WebAssembly, where workers come with `helper`.
  Status set_helpers(std::uint32_t count);
  // For threads of the caller's own that help. BUSY(helpers, 32), FULL, CLOSED.
  [[nodiscard]] Result<Helper> helper() const;
  // Ends the wait of every helper.
  void wake_helpers() noexcept;

  // A reader of this index. Its status() tells when none could be had.
  [[nodiscard]] Reader reader() const;
  // One more owner of the same index, and a reference that owns nothing.
  [[nodiscard]] Index share() const;
  [[nodiscard]] WeakIndex weak() const;
  // For bindings whose threads can be ended from outside. An index over this one's, which with all
  // that is opened from it keeps `owner` alive in place of the index: who destroys what `owner`
  // holds ends their claim on the memory.
  [[nodiscard]] Index through(std::shared_ptr<void> owner) const;
  // To be called by whoever has proof that the realm with this number (not 0) runs no more, once
  // for each death and before the number is given to another: unpins the slots of its readers and
  // snapshots, and frees the writer's role if it died in `pump`; whoever pumps next goes on with
  // its writes, of which none is lost or applied twice. `reuse`: the slots may be handed out again,
  // else they are counted as slots_retired. A time-out proves nothing and would free under a live
  // reader. Native threads have no number: their readers are destroyed with them. Returns how many
  // slots there were.
  std::uint32_t bury(std::uint32_t realm, bool reuse) noexcept;
  // Writes the live rows of the newest version to a file, atomically: the old file or the new one.
  // Equal indexes make equal files. It can be mapped, and written on by whoever opens it. Onto the
  // file that this index was opened from and writes to: as `flush`. BUSY(process) where somebody
  // else writes to that file. IO, CLOSED, FULL, CORRUPT; UNSUPPORTED(originals), here and below.
  // `to_bytes`: those of an image, or, where ids are strings, of a file that `save` writes.
  Status save(const std::string& path) const;
  [[nodiscard]] Result<std::vector<std::byte>> to_bytes() const;
  // The figures of the newest version; all zero when they cannot be had: `try_stats` says why.
  // CLOSED, BUSY (they take a reader's slot for a moment).
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] Result<Stats> try_stats() const;
  // Nothing is answered or written from now on, and the file is free for another writer. What was
  // written and not made durable is there, if it had room, and survives all but a loss of power.
  void close() noexcept;

 private:
  friend class WeakIndex;
  friend class Loader;
  explicit Index(std::shared_ptr<engine::Core> core, bool read_only) noexcept;
  template <class Id>
  Result<Receipt> write_rows(int kind, std::span<const Id> ids, std::span<const float> rows,
                             const WriteOptions& options);
  template <class Id>
  Result<Receipt> write_part(int kind, std::span<const Id> ids, std::span<const float> rows,
                             std::uint64_t first, const WriteOptions& options);
  std::shared_ptr<engine::Core> core_;
  bool read_only_ = false;
};

// An index from the bytes of a file as they come, from the first to the last, in pieces of any
// size. They are hostile until all have come: nobody sees the index before. Belongs to one thread
// at a time.
class Loader {
 public:
  // FULL.
  [[nodiscard]] static Result<Loader> create(const OpenOptions& options = {});
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  ~Loader();

  // CORRUPT, VERSION, FULL (before any row is read, where the head of the file tells). After an
  // error every call answers with it.
  Status take(std::span<const std::byte> bytes);
  // After the last byte, once. CORRUPT when bytes are missing.
  [[nodiscard]] Result<Index> finish();

  // What the head of the file says of its length; 0 until it has come.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // The largest id of those that have come; 0 without any.
  [[nodiscard]] std::uint64_t largest_id() const noexcept;

 private:
  Loader(std::unique_ptr<engine::ImageLoader> loader, bool read_only) noexcept;
  std::unique_ptr<engine::ImageLoader> loader_;
  bool read_only_ = false;
};

}  // namespace vicinal
