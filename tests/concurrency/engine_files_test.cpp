// Threads that use the blocks of a file for the first time at once, with helpers and a writer.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "search/buffers.hpp"
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

// Helpers for searches of any size, one block a chunk, and damage to a block that is whole.
void help_with_damage(FiledCore& filed, std::uint32_t block) {
  filed.core->help().set_limits(64, {0, 0, 1});
  ASSERT_TRUE(filed.core->helper_threads().set(2).ok());
  std::uint32_t number = 0;
  for (; block >= filed.newest().view(number)->rows / 32; ++number) {
    block -= filed.newest().view(number)->rows / 32;
  }
  filed.damage_rows(number, block);
  while (!filed.core->help().may_ask()) std::this_thread::yield();
}

TEST(EngineFiles, DamageIsToldByTheOwnerWhoeverMetIt) {
  for (std::uint32_t block = 0; block < kRows / 32; block += 5) {
    FiledCore filed(small_options(kDim), kRows);
    help_with_damage(filed, block);
    auto reader = ReaderCore::open(filed.core).value();
    EXPECT_EQ(search_in(*reader, block).status.code(), Code::corrupt);
  }
}

// As a search that asks for help before its first block, whose thread then stands still until its
// helpers have done all of it: what it knows of the blocks it knows from them.
Status search_by_helpers(FiledCore& filed, std::uint64_t key) {
  const segment::Version& version = filed.newest();
  const quant::Quantiser& quantiser = filed.core->quantiser();
  auto scratch = search::Scratch::create(quantiser).value();
  search::Scratch::Buffers& buffers = scratch->buffers();
  SearchOptions options;
  options.exhaustive = true;  // every row is used
  const search::WaveMemory memory(quantiser, options.k, kRows, true);
  if (Status status = memory.reserve_for(1, buffers); !status.ok()) return status;
  const search::Scan::Shared shared{version, quantiser, options.k, kRows,
                                    buffers.rest.as<std::uint8_t>()};
  search::Wave wave(shared, nullptr, true);
  auto* const prepared = buffers.prepare.data();
  wave.add(quantiser.prepare(vector_of(key, kDim).data(), options.certainty, prepared),
           memory.top(0, options.min_score, options.after, buffers), memory.deferred(0, buffers),
           search::Scan::Start::first_rows);
  search::HelpPool& pool = filed.core->help();
  const search::HelpPool::Asked asked = pool.ask(wave, options, memory, prepared, {});
  EXPECT_NE(asked.job, nullptr);
  std::uint64_t blocks = 0;
  (void)search::advance(version, {}, ~std::uint64_t{0}, &blocks);
  while (pool.chunks() < blocks) std::this_thread::yield();
  asked.job->work(wave);
  EXPECT_EQ(wave.scans()[0]->rows_scored(), kRows - (filed.core->damage().any() ? 32 : 0));
  pool.close(asked);
  return filed.core->damaged();
}

TEST(EngineFiles, DamageThatAHelperMetIsItsOwnersToTell) {
  for (std::uint32_t block = 0; block < kRows / 32; block += 5) {
    FiledCore filed(small_options(kDim), kRows);
    help_with_damage(filed, block);
    EXPECT_EQ(search_by_helpers(filed, block).code(), Code::corrupt);
    auto reader = ReaderCore::open(filed.core).value();
    EXPECT_EQ(search_in(*reader, block).status.code(), Code::corrupt);
  }
  FiledCore filed(small_options(kDim), kRows);
  filed.core->help().set_limits(64, {0, 0, 1});
  ASSERT_TRUE(filed.core->helper_threads().set(2).ok());
  EXPECT_TRUE(search_by_helpers(filed, 0).ok());  // and no damage where there is none
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
