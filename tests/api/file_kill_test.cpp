// Writers that are killed with no warning: what was acknowledged is there, in order, and nothing
// that was not submitted.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "base/random.hpp"
#include "support/file_world.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 24;

// Rows 0 .. n - 1, of both processes.
struct Progress {
  sync::Atomic<std::uint64_t> submitted;
  sync::Atomic<std::uint64_t> acknowledged;
};

Progress* make_progress() {
  void* memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Progress;
}

// Adds rows by ones and by sixes, every third write durable, and compacts now and then. In a child:
// an exit in place of the kill is a failure, by the number that the parent prints.
[[noreturn]] void write_until_killed(const std::string& path, IdKind kind, Progress& progress) {
  OpenOptions options;
  options.create = small_options(kDim);
  options.create->ids = kind;
  auto index = Index::open(path, options);
  if (!index.ok()) ::_exit(1);
  std::uint64_t next = index->reader().size();
  for (std::uint64_t write = 0;; ++write) {
    const std::uint64_t count = write % 5 == 0 ? 6 : 1;
    const auto ids = ids_from(next, count);
    next += count;
    progress.submitted.store(next, sync::release);
    WriteOptions how;
    how.durable = write % 3 == 0;
    const auto added = Names(*index, ids).with(
        [&](auto names) { return index->add(names, rows_of(ids, kDim), how); });
    if (!added.ok()) ::_exit(2);
    // Every version before a durable one is durable, too.
    if (how.durable) progress.acknowledged.store(next, sync::release);
    if (write % 40 == 39 && !index->compact().ok()) ::_exit(3);
  }
}

void check(const std::string& path, const Progress& progress) {
  OpenOptions options;
  options.read_only = true;
  auto index = Index::open(path, options);
  ASSERT_TRUE(index.ok()) << index.status().message();
  Reader reader = index->reader();
  const std::uint64_t recovered = reader.size();
  EXPECT_GE(recovered, progress.acknowledged.load(sync::acquire));
  EXPECT_LE(recovered, progress.submitted.load(sync::acquire));
  for (std::uint64_t id = 0; id < recovered; ++id) {
    ASSERT_TRUE(row_with(reader, index->options().ids, id).ok())
        << "rows are there in the order in which they were written";
  }
  const auto report = verify_file(path);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->rows, recovered);
}

void kill_writers(IdKind kind) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Progress* progress = make_progress();
  ASSERT_NE(progress, nullptr);
  Random random(7);
  for (std::uint64_t round = 0; round < scaled(10); ++round) {
    SCOPED_TRACE(round);
    const std::uint64_t before = progress->acknowledged.load(sync::acquire);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) write_until_killed(path, kind, *progress);
    // Somewhere after the first acknowledgement of this round: writes, syncs and compactions.
    for (int turn = 0; turn < 60'000; ++turn) {
      if (progress->acknowledged.load(sync::acquire) > before) break;
      ::usleep(500);
    }
    ::usleep(static_cast<useconds_t>(random.below(30'000)));
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << "ended by itself: " << status;
    ASSERT_GT(progress->acknowledged.load(sync::acquire), before);
    ASSERT_NO_FATAL_FAILURE(check(path, *progress));
  }
  ::munmap(progress, sizeof *progress);
}

TEST(KilledWriter, LosesNothingThatWasAcknowledgedAndInventsNothing) {
  kill_writers(IdKind::number);
}

TEST(KilledWriter, OfStringsTheSame) { kill_writers(IdKind::string); }

}  // namespace
}  // namespace vicinal::test
