// Threads that use the blocks of a file for the first time at once, with helpers and a writer.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/assert_report.hpp"
#include "support/filed_core.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using engine::ReaderCore;

[[maybe_unused]] const bool kAssertsReported = report_asserts();
constexpr std::uint32_t kDim = 64;
constexpr std::uint64_t kRows = 3000;
constexpr int kThreads = 4;

struct Answer {
  Status status;
  std::vector<std::uint64_t> ids;
};

Answer search_in(ReaderCore& reader, std::uint64_t key) {
  SearchOptions options;
  options.k = 20;
  search::Found found;
  std::uint64_t sequence = 0;
  Answer answer;
  answer.status = reader.search(vector_of(key, kDim), options, nullptr, &found, &sequence);
  answer.ids.assign(found.ids.begin(), found.ids.end());
  return answer;
}

template <class Work>
void in_threads(FiledCore& filed, Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&filed, &work, i] {
      auto reader = ReaderCore::open(filed.core).value();
      work(*reader, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(EngineFiles, FirstUsesAtOnceFindTheSame) {
  for (std::uint64_t turn = 0; turn < scaled(3); ++turn) {
    FiledCore filed(small_options(kDim), kRows);
    auto plain = ReaderCore::open(filed.plain).value();
    std::vector<Answer> wanted;
    for (int i = 0; i < kThreads; ++i) {
      wanted.push_back(search_in(*plain, static_cast<std::uint64_t>(i)));
    }
    in_threads(filed, [&](ReaderCore& reader, int i) {
      const Answer found = search_in(reader, static_cast<std::uint64_t>(i));
      EXPECT_TRUE(found.status.ok());
      EXPECT_EQ(found.ids, wanted[static_cast<std::size_t>(i)].ids);
      std::vector<float> vector(kDim);
      bool has = false;
      std::uint64_t sequence = 0;
      for (std::uint64_t id = 0; id < kRows; id += 97) {
        EXPECT_TRUE(reader.get(id, vector.data(), &has, &sequence).ok() && has);
      }
    });
    EXPECT_FALSE(filed.core->damage().any());
  }
}

TEST(EngineFiles, DamageIsMetByEachOfThemWhoeverComparesTheBlock) {
  for (std::uint64_t turn = 0; turn < scaled(3); ++turn) {
    FiledCore filed(small_options(kDim), kRows);
    filed.damage_rows(0, 3);
    in_threads(filed, [&](ReaderCore& reader, int i) {
      EXPECT_EQ(search_in(reader, static_cast<std::uint64_t>(i)).status.code(), Code::corrupt);
      EXPECT_EQ(search_in(reader, 9).status.code(), Code::corrupt);
    });
  }
}

TEST(EngineFiles, DamageThatAHelperMetIsItsOwnersToTell) {
  std::uint64_t helped = 0;
  for (std::uint32_t block = 0; block < kRows / 32; block += 5) {
    FiledCore filed(small_options(kDim), kRows);
    filed.core->help().set_limits(64, {0, 0, 1});
    ASSERT_TRUE(filed.core->helper_threads().set(2).ok());
    std::uint32_t number = 0;
    std::uint32_t at = block;
    for (; at >= filed.newest().view(number)->rows / 32; ++number) {
      at -= filed.newest().view(number)->rows / 32;
    }
    filed.damage_rows(number, at);
    auto reader = ReaderCore::open(filed.core).value();
    while (!filed.core->help().may_ask()) std::this_thread::yield();
    EXPECT_EQ(search_in(*reader, block).status.code(), Code::corrupt);
    helped += filed.core->help().chunks();
  }
  EXPECT_GT(helped, 0u);
}

TEST(EngineFiles, AWriterFillsTheLastBlockWhileOthersAreReadForTheFirstTime) {
  FiledCore filed(small_options(kDim), kRows);
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 40; ++i) {
      EXPECT_TRUE(write_rows(*filed.core, kRows + i * 5, 5).ok());
      EXPECT_TRUE(write_rows(*filed.core, i * 70, 3, engine::MessageKind::remove).ok());
    }
  });
  in_threads(filed, [&](ReaderCore& reader, int) {
    for (std::uint64_t key = 0; key < 20; ++key) {
      EXPECT_TRUE(search_in(reader, key).status.ok());
    }
  });
  writer.join();
  EXPECT_FALSE(filed.core->damage().any());
}

}  // namespace
}  // namespace vicinal::test
