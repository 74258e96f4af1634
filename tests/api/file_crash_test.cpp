// What an index file holds after a loss of power, a failed operation, or damage: the last
// acknowledged commit or a later one, or a typed error; never anything else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "support/file_world.hpp"
#include "support/recorded_files.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using Kind = FileOperation::Kind;

WriteOptions durable_when(bool wanted) {
  WriteOptions options;
  options.durable = wanted;
  return options;
}

// A history's record: how many operations there were, and what was acknowledged by then.
struct Acknowledged {
  std::size_t operations;
  std::size_t steps;
  bool durable;
};

std::size_t place_in(const std::vector<std::uint64_t>& states, std::uint64_t content,
                     std::size_t from) {
  for (std::size_t i = from; i < states.size(); ++i) {
    if (states[i] == content) return i;
  }
  return states.size();
}

constexpr Survival kSurvivals[] = {Survival::all, Survival::synced, Survival::any,
                                   Survival::sectors, Survival::sectors};

// Opens what may be left at every moment of a history, and writes on.
void lose_power_in(const History& history, bool compacts) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  const auto states = history.states(kHistoryIds);
  { ASSERT_TRUE(Index::open(path, open_options(history)).ok()); }
  const auto before = bytes_of_file(path);
  RecordedFiles files;
  std::vector<Acknowledged> known = {{0, 0, true}};
  OpenOptions options = open_options(history);
  options.files = &files;
  {
    Index index = std::move(Index::open(path, options)).value();
    for (std::size_t i = 0; i < history.steps().size(); ++i) {
      const bool durable = i % 4 != 1;
      ASSERT_TRUE(history.steps()[i](index, durable_when(durable)).ok());
      if (compacts && i % 3 == 2) {
        ASSERT_TRUE(index.compact().ok());
      }
      known.push_back({files.operations().size(), i + 1, durable || (compacts && i % 3 == 2)});
    }
  }
  const auto& operations = files.operations();
  ASSERT_EQ(files.count(Kind::rename) != 0, compacts);
  const auto first_write =
      std::find_if(operations.begin(), operations.end(),
                   [](const FileOperation& one) { return one.kind == Kind::write; });
  Random random(11);
  std::size_t beyond = 0;
  const std::string crashed = folder.file("b.vic");
  for (std::size_t count = 0; count <= operations.size(); ++count) {
    std::size_t certain = 0;
    for (const Acknowledged& one : known) {
      if (one.durable && one.operations <= count) certain = one.steps;
    }
    const std::uint32_t named = named_file(operations, count, first_write->file);
    const std::size_t every = compacts && scaled(1) == 1 ? 3 : 1;
    for (std::size_t kind = count % every; kind < std::size(kSurvivals); kind += every) {
      const Survival survival = kSurvivals[kind];
      SCOPED_TRACE("operation " + std::to_string(count) + ", survival " +
                   std::to_string(static_cast<int>(survival)));
      const auto start = named == first_write->file ? before : std::vector<std::byte>();
      put_file(crashed, after_power_loss(start, operations, named, count, survival, random));
      OpenOptions again;
      again.mapped = count % 2 == 0;
      auto opened = Index::open(crashed, again);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      const std::size_t found = place_in(states, content_of(*opened, kHistoryIds), certain);
      ASSERT_LT(found, states.size()) << "lost or mixed; certain were " << certain;
      beyond += found > certain;
      // And it can be written on.
      const auto ids = ids_from(390, 3);
      ASSERT_TRUE(Names(*opened, ids).with([&](auto names) {
        return opened->add(names, rows_of(ids, 8), durable_when(true));
      }).ok());
    }
  }
  EXPECT_GT(beyond, 0u);
}

TEST(PowerLoss, AtAnyMomentLeavesTheLastAcknowledgedCommitOrALaterOne) {
  lose_power_in(varied_history(8, 4), false);
}

TEST(PowerLoss, OfStringsTheSame) {
  lose_power_in(varied_history(8, 4, Metric::cosine, IdKind::string), false);
}

void lose_power_in_a_rewriting(IdKind ids) {
  IndexOptions options = small_options(8);
  options.ids = ids;
  History history(options);
  history.add(0, 70);
  history.remove(3, 30);
  history.add(100, 5);
  history.upsert(60, 20, 1);
  history.remove(0, 50);
  history.add(200, 40);
  lose_power_in(history, true);
}

TEST(PowerLoss, AtAnyMomentOfARewritingTheSame) { lose_power_in_a_rewriting(IdKind::number); }

TEST(PowerLoss, AtAnyMomentOfARewritingOfStringsTheSame) {
  lose_power_in_a_rewriting(IdKind::string);
}

void fail_each_operation(IdKind ids) {
  const History history = varied_history(8, 4, Metric::cosine, ids);
  const auto states = history.states(kHistoryIds);
  for (const int error : {EIO, ENOSPC}) {
    std::uint64_t failed = 1;
    for (std::uint64_t nth = 1; failed != 0; ++nth) {
      SCOPED_TRACE(std::to_string(error) + ": operation " + std::to_string(nth));
      const Folder folder;
      const std::string path = folder.file("a.vic");
      RecordedFiles files;
      OpenOptions options = open_options(history);
      options.files = &files;
      std::size_t acknowledged = 0;
      std::size_t applied = 0;
      bool created = false;
      files.fail(nth, nth, error);
      {
        auto index = Index::open(path, options);
        if (index.ok()) {
          created = true;
          bool broken = false;
          for (std::size_t i = 0; i < history.steps().size(); ++i) {
            const auto receipt = history.steps()[i](*index, durable_when(true));
            if (receipt.ok()) {
              ASSERT_FALSE(broken) << "certain after a failure";
              acknowledged = i + 1;
              applied = i + 1;
              continue;
            }
            ASSERT_EQ(receipt.code(), broken ? Code::read_only : Code::io);
            if (!broken) applied = i + 1;
            broken = true;
            ASSERT_EQ(content_of(*index, kHistoryIds), states[applied]);
          }
          ASSERT_EQ(index->flush().code(), broken ? Code::read_only : Code::ok);
        } else {
          ASSERT_EQ(index.code(), Code::io) << index.status().message();
          ASSERT_EQ(index.status().a(), static_cast<std::uint64_t>(error));
        }
        failed = files.failed();
      }
      if (!created) continue;
      const auto again = Index::open(path);
      ASSERT_TRUE(again.ok()) << again.status().message();
      const std::size_t found =
          place_in(states, content_of(*again, kHistoryIds), acknowledged);
      ASSERT_LE(found, applied);
    }
  }
}

TEST(FailingFiles, WhicheverOperationFailsNothingThatWasAcknowledgedIsLost) {
  fail_each_operation(IdKind::number);
}

TEST(FailingFiles, OfStringsTheSame) { fail_each_operation(IdKind::string); }

void damage_each_byte(IdKind ids) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  IndexOptions options = small_options(8);
  options.ids = ids;
  History history(options);
  history.add(0, 70);
  history.remove(3, 2);
  history.add(100, 3);
  const auto states = history.states(kHistoryIds);
  {
    Index index = std::move(Index::open(path, open_options(history))).value();
    for (const auto& step : history.steps()) ASSERT_TRUE(step(index, durable_when(true)).ok());
  }
  const auto bytes = bytes_of_file(path);
  std::uint64_t errors = 0;
  const auto check = [&](std::span<const std::byte> damaged) {
    const auto opened = Index::from_bytes(damaged);
    if (!opened.ok()) {
      ++errors;
      ASSERT_TRUE(opened.code() == Code::corrupt || opened.code() == Code::version);
      return;
    }
    ASSERT_EQ(content_of(*opened, kHistoryIds), states.back());
  };
  Random random(3);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    // One bit of each byte; all of them where the machine has the time.
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(8, scaled(1)); ++i) {
      const auto bit = static_cast<unsigned>(scaled(1) >= 8 ? i : random.below(8));
      damaged[at] ^= static_cast<std::byte>(1u << bit);
      ASSERT_NO_FATAL_FAILURE(check(damaged)) << at << " bit " << bit;
      damaged[at] = bytes[at];
    }
  }
  for (std::size_t size = 0; size < bytes.size(); size += 8) {
    ASSERT_NO_FATAL_FAILURE(check(std::span(bytes).first(size))) << size;
  }
  EXPECT_GT(errors, 1000u);
}

TEST(DamagedFile, EveryFlippedBitAndEveryTruncationIsAnErrorOrChangesNothing) {
  damage_each_byte(IdKind::number);
}

TEST(DamagedFile, OfStringsTheSame) { damage_each_byte(IdKind::string); }

}  // namespace
}  // namespace vicinal::test
