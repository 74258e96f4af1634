// The shared heart of an index: readers' slots, the current version, and the writer's role.
//
// Thread safety: every method from any thread, unless it says otherwise.
// I1: the token's holder alone touches the builder and the reclaimer.
// I2: a batch of messages becomes one version, or several where one frees what the next needs; each
//     message is applied whole or not at all.
// I3: a message is completed after the version that shows it was published.
// I4: after close() no write is accepted and no search answered; memory goes with the last owner.
// I5: whoever stops working while messages wait or a compaction is under way rings the doorbell: a
//     pump that was refused may have gone to sleep on it.
// I6: `calibration_` is the number of the newest version's calibration, stored after that version
//     is published and before the message that brought it is completed. Who reads 0 makes messages
//     without looking at a version; what it has overlooked, the writer refuses (message.hpp I3).
// I7: a compaction never fails a write and is never failed by one: what does not fit is put off. It
//     works in slices of kSliceUs when no message waits, and between batches when there are more
//     dead rows than live ones.
//     Strings are moved in the same slices, between two runs of rows.
// I8: a holder may die between any two instructions. Its successor, who sees an epoch of the token
//     that it has not mended for, first makes whole what the dead one left: the generation, the
//     reclaimer, the builder, the compaction, the messages in hand, each as its header says. It
//     needs no memory, and may die, too. Published versions are not touched.
// I9: once damage was met in a file (segment_checks.hpp), nothing that reads rows is answered but
//     with CORRUPT, and no version is published any more: what was prepared may lack what a damaged
//     block has.
// I10: in an index that follows a file the role is for its follower (follower.hpp): no message
//     comes, and nothing is compacted.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/follower.hpp"
#include "engine/helpers.hpp"
#include "engine/in_hand.hpp"
#include "engine/journal.hpp"
#include "engine/message.hpp"
#include "quant/quantiser.hpp"
#include "segment/builder.hpp"
#include "search/help_pool.hpp"
#include "segment/compaction.hpp"
#include "segment/replay.hpp"
#include "sync/event.hpp"
#include "sync/message_ring.hpp"
#include "sync/reader_slots.hpp"
#include "sync/reclaimer.hpp"
#include "sync/slot_claims.hpp"
#include "sync/version_root.hpp"
#include "sync/writer_token.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::engine {

inline constexpr std::uint32_t kLanes = 64;
inline constexpr std::uint32_t kLaneMessages = 64;
// Retired memory that a stuck reader may hold before writes get BUSY, unless the options say else.
inline constexpr std::uint64_t kRetiredBytesMax = std::uint64_t{256} << 20;
// How long a batch may grow before its version is published.
inline constexpr std::uint32_t kBatchMessagesMax = 1024;
inline constexpr std::uint64_t kBatchUsMax = 1000;
// How long a compaction works before the rings are looked at again.
inline constexpr std::uint64_t kSliceUs = 1000;
// Segments with this many dead rows in a hundred are rewritten once the whole index has as many,
// and at least kCompactDeadMin of them; docs/decisions.md has the figures.
inline constexpr std::uint32_t kCompactDeadPercent = 33;
inline constexpr std::uint64_t kCompactDeadMin = 1024;
// While there are more dead rows than live ones, so many rows are looked at for each that died
// since the last slice, whatever time that takes: a compaction then ends before an eighth as many
// rows as it has to look at have died beside it.
inline constexpr std::uint64_t kMovedForADeadRow = 8;
// While the index has more strings of dead rows than of live ones, so many are looked at for each
// that was added since the last move: at least half of them go.
inline constexpr std::uint64_t kStringsForAString = 4;
// A compaction that was put off is tried again after so many versions.
inline constexpr std::uint64_t kCompactRetryVersions = 64;
// Waiting producers look after themselves this often, in case the holder stopped early.
inline constexpr std::uint64_t kWaitUsMax = 1000;
// So often who asked for a version waits that long for the thread that brings it.
inline constexpr int kFollowWaitsMax = 1000;

class Core {
 public:
  // BAD_OPTION(name), UNSUPPORTED for what later formats bring, FULL.
  [[nodiscard]] static Result<std::shared_ptr<Core>> create(const IndexOptions& options) noexcept;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  [[nodiscard]] const IndexOptions& options() const noexcept { return options_; }
  [[nodiscard]] const quant::Quantiser& quantiser() const noexcept { return *quantiser_; }
  [[nodiscard]] sync::ReaderSlots& slots() noexcept { return slots_; }
  [[nodiscard]] const sync::VersionRoot& root() const noexcept { return root_; }
  [[nodiscard]] search::HelpPool& help() noexcept { return help_; }
  [[nodiscard]] HelperThreads& helper_threads() noexcept { return helper_threads_; }

  void close() noexcept;
  // Ends the log (Journal::stop), when no write is on its way any more. By a thread that may not
  // wait, while another writes: nothing.
  Status close_log() noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_.load(sync::acquire) != 0; }

  // I9. Where segments in files have their checks report.
  [[nodiscard]] segment::Damage& damage() noexcept { return damage_; }
  // CORRUPT(where) once damage was met.
  [[nodiscard]] Status damaged() const noexcept;

  // Before anybody else knows the index: its version becomes what `restore` makes of the empty one,
  // with this sequence. CORRUPT, FULL.
  class Restore {
   public:
    virtual Status apply(segment::Replay& replay, segment::Damage& damage) noexcept = 0;

   protected:
    ~Restore() = default;
  };
  // `appends`: rows will be put behind those that are there.
  Status restore(std::uint64_t sequence, Restore& restore, bool appends = true) noexcept;
  // The same: from now on versions go to a file.
  void attach(std::unique_ptr<Journal> journal) noexcept { journal_ = std::move(journal); }
  [[nodiscard]] Journal::Source journal_source() noexcept {
    return {root_, slots_, reclaimer_, options_, quantiser_->layout()};
  }
  // Null: the index has no file.
  [[nodiscard]] Journal* journal() const noexcept { return journal_.get(); }
  // The same: from now on its versions are those that another process commits to a file (I10).
  void attach(std::unique_ptr<Follower> follower) noexcept { follower_ = std::move(follower); }
  // Before a version is entered: the newest one of the file, unless another thread is at it.
  void follow() noexcept {
    if (follower_ != nullptr && follower_->has_news()) (void)refresh();
  }
  // The same, and waits for that thread while this version is not there and may come (natively).
  void follow_to(std::uint64_t sequence) noexcept;
  // Whether a newer version of the file was published. IO, CORRUPT, FULL, BUSY (too much waits for
  // readers), UNSUPPORTED: the index stays as it is. CLOSED.
  [[nodiscard]] Result<bool> refresh() noexcept;
  // Whether a write can be made certain to survive a loss of power. UNSUPPORTED, READ_ONLY, CLOSED.
  [[nodiscard]] Status can_be_durable() const noexcept;

  // A message whose rows will be measured from the newest version's origin. Errors as
  // Message::create, BUSY without a free slot to look at the version through.
  // `text_bytes`: of its strings, where ids are strings.
  [[nodiscard]] Result<Message::Owner> make_message(MessageKind kind, std::uint64_t count,
                                                    std::uint64_t text_bytes = 0) noexcept;

  // A producer's lane: messages of one lane are applied in the order of their submits. BUSY when
  // all are taken. The same lane may be used by one thread at a time.
  [[nodiscard]] Result<std::uint32_t> take_lane() noexcept;
  void give_lane_back(std::uint32_t lane) noexcept;
  // BUSY when the lane is full, CLOSED. The message is then still the producer's. Rings the
  // doorbell.
  Status submit(std::uint32_t lane, Message& message) noexcept;
  // Takes the writer's role if it is free and works until nothing is pending; used by whoever
  // submits and may wait. `until` ends it early when done. Returns the number of messages
  // completed.
  std::uint64_t drive(const Message* until) noexcept;
  // One batch or one slice of a compaction at most, if the role is free: what a writer's loop or a
  // thread-less build calls. 0: there is nothing to do at the moment; else the number of messages
  // completed, or 1 for a slice.
  std::uint32_t pump(std::uint64_t budget_us) noexcept;
  // Submits, drives or waits until the writer is done with the message; its outcome.
  Status write_and_wait(Message& message) noexcept;
  [[nodiscard]] sync::EventCount& doorbell() noexcept { return doorbell_; }
  // With proof that the realm (not 0) runs no more: frees the writer's role if that realm had it.
  void take_role_from(std::uint32_t realm) noexcept;

  // Of the rows that are shown; 0 without any, or without a free slot. Looks at every one.
  [[nodiscard]] std::uint64_t largest_id() noexcept;
  // Pins a version for the time of the call, through a slot of its own. BUSY without a free slot.
  [[nodiscard]] Result<Stats> stats() noexcept;
  [[nodiscard]] std::uint64_t sequence() const noexcept { return root_.sequence(); }

 private:
  friend struct CoreSteps;  // tests put segments of a file in

  using Lane = sync::MessageRing<Message, kLaneMessages>;

  explicit Core(const IndexOptions& options) noexcept;
  Status start() noexcept;

  [[nodiscard]] bool any_pending() const noexcept;
  // Takes the token, and mends what a dead holder left (I8). False: somebody else has it.
  [[nodiscard]] bool take_role() noexcept;
  // Gives it back, and logs what was published.
  void leave_role() noexcept;
  [[nodiscard]] Result<bool> follow_newest() noexcept;
  void recover() noexcept;
  void recover_messages() noexcept;
  [[nodiscard]] std::uint32_t run_batch(std::uint64_t budget_us) noexcept;
  // One version of `first`, which is in hand, and what waits behind it. One that did not fit stays
  // in hand, to begin the next one.
  [[nodiscard]] std::uint32_t run_version(Message* first, std::uint64_t deadline_ns) noexcept;
  // Applies a message that found no lane, past the messages that wait. False: the role is taken.
  [[nodiscard]] bool apply_alone(Message& message) noexcept;
  // The next message of the rings, in hand now; null: none.
  [[nodiscard]] Message* take_message() noexcept;
  // Gives the version of what is in hand up (I9); each message that it would have shown is told.
  void refuse_batch(Message* first, const Message* end) noexcept;
  // Plans and publishes the version of what is in hand from `first` to before `end`.
  void publish_batch(Message* first, const Message* end) noexcept;
  void apply(Message& message) noexcept;
  void apply_once(Message& message) noexcept;
  // What a message may be refused for before the writer sees it.
  Status apply_rows(Message& message) noexcept;
  template <class KeyOf>
  Status apply_rows_of(Message& message, KeyOf key_of) noexcept;
  Status apply_remove(Message& message) noexcept;
  template <class KeyOf>
  Status apply_remove_of(Message& message, KeyOf key_of) noexcept;
  Status apply_clear(Message& message) noexcept;
  Status apply_calibrate(Message& message) noexcept;
  // A slice of a compaction, if one is under way, asked for or worth it (I7). Whether there is more
  // to do at once. In an index that was closed: ends what was under way.
  [[nodiscard]] bool compact_slice(std::uint64_t budget_us) noexcept;
  [[nodiscard]] bool plan_compaction(const segment::Version& newest) noexcept;
  [[nodiscard]] bool advance_compaction(bool begins, std::uint64_t deadline_ns) noexcept;
  // Whether dead rows, or their strings, are so many that a slice comes before further messages.
  [[nodiscard]] bool compaction_is_urgent() const noexcept;
  [[nodiscard]] bool rows_are_urgent(const segment::Version& newest) const noexcept;
  [[nodiscard]] bool strings_are_urgent(const segment::Version& newest) const noexcept;
  // Moves strings, if any are worth it. Whether a version was published.
  [[nodiscard]] bool move_strings(const segment::Version& newest,
                                  std::uint64_t deadline_ns) noexcept;
  // Bytes that a slice may retire while readers hold versions; as many as it likes while none does.
  [[nodiscard]] std::uint64_t retirable_bytes() noexcept;
  // Blocks that the next slice moves at least.
  [[nodiscard]] std::uint64_t blocks_owed(const segment::Version& newest) noexcept;
  // The oldest message that waits for a compaction; null: none.
  [[nodiscard]] Message* waiting_compaction() const noexcept;
  // A message that asks for a compaction waits for its end.
  void await_compaction(Message& message) noexcept;
  // Whether there was one: whoever pumps looks at its messages after everything but a 0.
  [[nodiscard]] bool answer_compactions() noexcept;
  void undo(Message& message, std::uint64_t rows) noexcept;
  void publish() noexcept;
  void reclaim() noexcept;
  [[nodiscard]] Status check_retired() noexcept;
  void fill_version(const segment::Version& version, Stats* stats) const noexcept;
  void fill_shared(Stats* stats) const noexcept;

  IndexOptions options_;
  std::unique_ptr<quant::Quantiser> quantiser_;
  sync::Atomic<std::uint32_t> closed_;
  sync::Atomic<std::uint64_t> calibration_;
  segment::Damage damage_;

  sync::VersionRoot root_;
  sync::ReaderSlots slots_;
  search::HelpPool help_;

  sync::WriterToken token_;
  sync::EventCount doorbell_;
  sync::SlotClaims<kLanes> lane_claims_;
  // Made on first use, published seq_cst [lane], never removed.
  sync::Atomic<Lane*> lanes_[kLanes];

  // The token's holder's.
  segment::VersionBuilder builder_;
  segment::Compaction compaction_;
  sync::Reclaimer reclaimer_;
  InHand in_hand_;
  std::uint32_t recovered_epoch_ = 0;   // of the token: mended for (I8)
  std::uint32_t recovered_messages_ = 0;  // completed by that, not told yet
  std::uint64_t lost_buffers_ = 0;      // bytes lost beside those that the builder counts
  sync::Atomic<std::uint64_t> leaked_bytes_;
  std::uint64_t compact_goal_ = 0;      // segments up to this version are to be moved for them
  std::uint64_t compact_retry_ = 0;     // nothing is begun before this version
  std::uint64_t string_retry_ = 0;      // the same of strings
  std::uint64_t dead_rows_seen_ = 0;    // of the version that the last slice began with
  std::uint64_t string_end_seen_ = 0;   // of the version that the last move of strings began with
  std::uint32_t next_lane_ = 0;

  std::unique_ptr<Journal> journal_;    // set before others know the index
  std::unique_ptr<Follower> follower_;  // as well; an index has one of them at most
  sync::EventCount followed_;           // a version of a file was published
  HelperThreads helper_threads_;  // the last member: they end first
};

}  // namespace vicinal::engine
