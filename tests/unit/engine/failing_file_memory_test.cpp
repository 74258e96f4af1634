// An index in a file when memory is refused at every single place where it is asked for: a typed
// error, and nothing that was acknowledged lost.
#include <gtest/gtest.h>

#include "support/assert_report.hpp"
#include "support/file_world.hpp"
#include "support/memory_hook.hpp"

namespace vicinal::test {
namespace {

[[maybe_unused]] const bool kAssertsReported = report_asserts();

// A file with whole blocks, an unfinished one, deaths, a table of ids and commits behind it.
void make_file(const std::string& path, const History& history) {
  Index index = std::move(Index::open(path, open_options(history))).value();
  for (std::size_t i = 0; i < history.steps().size(); ++i) {
    ASSERT_TRUE(history.steps()[i](index, {}).ok());
    if (i + 3 == history.steps().size()) {
      ASSERT_TRUE(index.compact().ok());
    }
  }
}

TEST(FailingFileMemory, AnOpeningThatIsRefusedAnywhereIsFullAndLeavesNothing) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  const History history = varied_history(8, 4);
  ASSERT_NO_FATAL_FAILURE(make_file(path, history));
  const std::uint64_t content = history.states(kHistoryIds).back();
  for (const bool read_only : {true, false}) {
    for (const bool mapped : {true, false}) {
      OpenOptions options;
      options.read_only = read_only;
      options.mapped = mapped;
      std::uint64_t failed = 1;
      for (std::uint64_t nth = 1; failed != 0; ++nth) {
        SCOPED_TRACE(nth);
        const std::uint64_t live_before = live_allocations();
        {
          auto index = [&] {
            const FailingAllocations failing(nth, nth);
            auto opened = Index::open(path, options);
            failed = failing.failed();
            return opened;
          }();
          if (index.ok()) {
            ASSERT_EQ(content_of(*index, kHistoryIds), content);
          } else {
            ASSERT_EQ(index.code(), Code::full) << index.status().message();
          }
        }
        ASSERT_EQ(live_allocations(), live_before);
      }
    }
  }
}

TEST(FailingFileMemory, AWriteOrACompactionThatIsRefusedAnywhereLosesNothing) {
  const History history = varied_history(8, 4);
  const std::uint64_t content = history.states(kHistoryIds).back();
  const auto ids = ids_from(390, 3);
  WriteOptions durable;
  durable.durable = true;
  for (const bool compacts : {false, true}) {
    std::uint64_t failed = 1;
    for (std::uint64_t nth = 1; failed != 0; ++nth) {
      SCOPED_TRACE(nth);
      const Folder folder;
      const std::string path = folder.file("a.vic");
      ASSERT_NO_FATAL_FAILURE(make_file(path, history));
      {
        Index index = std::move(Index::open(path)).value();
        Status done;
        {
          const FailingAllocations failing(nth, nth);
          done = compacts ? index.compact().status()
                          : index.add(ids, rows_of(ids, 8), durable).status();
          failed = failing.failed();
        }
        ASSERT_TRUE(done.ok() || done.code() == Code::full) << done.message();
        // Tried again it is done, unless the row is there and was not made certain.
        if (!compacts) {
          const auto again = index.upsert(ids, rows_of(ids, 8), durable);
          ASSERT_TRUE(again.ok()) << again.status().message();
        } else {
          ASSERT_EQ(content_of(index, kHistoryIds), content);
          ASSERT_TRUE(index.compact().ok());
        }
      }
      Index index = std::move(Index::open(path)).value();
      if (compacts) {
        ASSERT_EQ(content_of(index, kHistoryIds), content);
      } else {
        ASSERT_TRUE(index.remove(ids).ok());
        ASSERT_EQ(content_of(index, 390), content);
      }
      ASSERT_TRUE(verify_file(path).ok());
      ASSERT_EQ(folder.files(), 1u);
    }
  }
}

}  // namespace
}  // namespace vicinal::test
