// Searches that share their rest with helpers find, to the bit, what they find alone: whichever
// chunks the helpers did, began and left, or never saw.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "search/help_pool.hpp"
#include "search/id_filter.hpp"
#include "support/test_scale.hpp"
#include "sync/reader_slots.hpp"
#include "world.hpp"

namespace vicinal::search {

struct HelpJobSteps {
  // As HelpJob::help, but ends after `count` chunks.
  static void help(HelpJob& job, std::uint32_t count, Scratch::Buffers& buffers) {
    const std::uint64_t eligible = std::min(job.chunk_rows_, job.version_->live_rows);
    const WaveMemory memory(*job.quantiser_, std::min<std::size_t>(job.k_, eligible), eligible,
                            job.exhaustive_);
    ASSERT_TRUE(memory.reserve_for(job.queries_, buffers).ok());
    for (std::uint32_t c = 0; count > 0 && (c = job.claim()) < job.chunks_; --count) {
      job.help_with(c, memory, buffers);
      job.done_[c].store(1, sync::release);
    }
  }
  // A helper that stops for ever, at once after each of its claims.
  static void freeze(HelpJob& job, std::uint32_t count) {
    for (; count > 0; --count) (void)job.claim();
  }
  static std::uint32_t chunks(const HelpJob& job) { return job.chunks_; }
};

}  // namespace vicinal::search

namespace vicinal::test {
namespace {

using search::AllowedBlocks;
using search::BlockPosition;
using search::HelpJobSteps;

// A search as search_wave makes it, with a job that is filled after `alone` blocks.
class SharedSearch {
 public:
  SharedSearch(const World& world, std::span<const float> queries, const SearchOptions& options)
      : world_(world), queries_(queries), options_(options) {
    scratch_ = search::Scratch::create(*world.quantiser).value();
    helpers_scratch_ = search::Scratch::create(*world.quantiser).value();
  }

  struct Plan {
    std::uint64_t alone = 0;    // blocks
    std::uint32_t helped = 0;   // chunks
    std::uint32_t frozen = 0;
    bool helped_later = false;  // after the frozen ones
  };

  // `shared`: whether there was enough to share.
  std::vector<std::vector<Hit>> run(const Plan& plan, search::HelpJob& job, bool* shared) {
    const segment::Version& version = world_.fixture->version();
    const quant::Quantiser& quantiser = *world_.quantiser;
    const std::size_t dim = world_.shape.dim;
    const std::size_t count = queries_.size() / dim;
    search::Scratch::Buffers& buffers = scratch_->buffers();
    AlignedBuffer masks, touched;
    search::AllowedRows listed(masks, touched);
    if (options_.filter) {
      EXPECT_TRUE(listed.resolve(version, *options_.filter).ok());
    }
    const AllowedBlocks allowed = listed.view();
    const std::uint64_t eligible = options_.filter ? listed.rows() : version.live_rows;
    const std::size_t k = std::min<std::uint64_t>(options_.k, eligible);
    const search::WaveMemory memory(quantiser, k, eligible, options_.exhaustive);
    EXPECT_TRUE(memory.reserve_for(count, buffers).ok());
    const search::Scan::Shared common{version, quantiser, k, eligible,
                                      buffers.rest.as<std::uint8_t>()};
    search::Wave wave(common, options_.filter ? &allowed : nullptr, options_.exhaustive);
    for (std::size_t i = 0; i < count; ++i) {
      wave.add(quantiser.prepare(queries_.data() + i * dim,
                                 options_.exhaustive ? kInfinity : options_.certainty,
                                 buffers.prepare.data() + i * memory.prepare_bytes),
               memory.top(i, options_.min_score, options_.after, buffers),
               memory.deferred(i, buffers), search::Scan::Start::first_rows);
    }
    std::uint64_t passed = 0;
    const BlockPosition from = search::advance(version, {}, plan.alone, &passed);
    wave.walk({}, from);
    wave.flush();
    *shared = job.fill(wave, options_, memory, buffers.prepare.data(), from, 64);
    if (*shared) {
      if (plan.helped_later) HelpJobSteps::freeze(job, plan.frozen);
      HelpJobSteps::help(job, plan.helped, helpers_scratch_->buffers());
      if (!plan.helped_later) HelpJobSteps::freeze(job, plan.frozen);
      job.work(wave);
    } else {
      wave.walk(from, search::end_of(version));
    }
    wave.finish();
    std::vector<std::vector<Hit>> all(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::uint64_t> ids(k);
      std::vector<float> scores(k);
      const std::size_t found = wave.scans()[i]->top().finish(ids.data(), scores.data());
      for (std::size_t j = 0; j < found; ++j) all[i].push_back({ids[j], scores[j]});
    }
    return all;
  }

 private:
  const World& world_;
  std::span<const float> queries_;
  SearchOptions options_;
  std::unique_ptr<search::Scratch> scratch_;
  std::unique_ptr<search::Scratch> helpers_scratch_;
};

std::vector<float> queries_of(std::uint64_t seed, std::uint32_t count, std::uint32_t dim) {
  std::vector<float> queries;
  for (const auto& vector : make_vectors(seed, count, dim)) {
    queries.insert(queries.end(), vector.begin(), vector.end());
  }
  return queries;
}

TEST(Help, FindsWhatASearchFindsAloneWhicheverChunksAreDoneByWhom) {
  Random random(41);
  std::uint32_t shared_searches = 0;
  search::HelpJob job;  // used again and again, as jobs are
  for (const char* kernels : {"scalar", simd::best_kernels().name}) {
    for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
      World world({40, metric, metric == Metric::ip ? 8u : 4u}, random.next(), 12'011, 4096);
      world.quantiser = make_quantiser(world.shape, kernels);
      const std::vector<std::uint64_t> ids = world.live_ids();
      for (int round = 0; round < 12; ++round) {
        SearchOptions options;
        static constexpr std::size_t kKs[] = {1, 10, 100, 3000, 50'000};
        options.k = kKs[random.below(5)];
        options.exhaustive = round % 4 == 3;
        if (round % 3 == 1) options.filter.emplace(ids.data(), ids.size() / 2);
        if (round % 5 == 2) options.min_score = metric == Metric::l2 ? -60.0f : 0.05f;
        const auto count = static_cast<std::uint32_t>(random.below(2) == 0 ? 1 : 7);
        std::vector<float> queries = queries_of(random.next(), count, 40);
        if (count > 1) std::fill_n(queries.begin() + 40, 40, 0.0f);  // one without a direction
        if (round % 5 == 4) {
          options.after = world.found({queries.data(), 40}, options).hits[0];
        }
        SharedSearch shared(world, queries, options);
        const SharedSearch::Plan plan{random.below(3) * 40, random.below(8), random.below(8),
                                      random.below(2) == 0};
        bool was_shared = false;
        const auto found = shared.run(plan, job, &was_shared);
        shared_searches += was_shared;
        for (std::size_t i = 0; i < count; ++i) {
          const Hits alone = world.found({queries.data() + i * 40, 40}, options);
          EXPECT_TRUE(same_hits(found[i], alone.hits))
              << kernels << ", metric " << static_cast<int>(metric) << ", round " << round
              << ", query " << i;
        }
      }
    }
  }
  EXPECT_GT(shared_searches, 40u);
}

TEST(Help, DividesAnyNumberOfBlocksIntoChunksThatCoverThem) {
  for (const std::uint32_t rows : {1u, 4096u, 4097u, 4129u, 30'000u}) {
    const World world({8, Metric::cosine, 1}, rows, rows, 128);  // many small segments
    const std::vector<float> query = queries_of(rows + 1, 1, 8);
    SearchOptions options;
    options.k = rows;
    SharedSearch shared(world, query, options);
    search::HelpJob job;
    bool was_shared = false;
    const auto found = shared.run({0, 1000, 0, false}, job, &was_shared);
    EXPECT_EQ(was_shared, rows > 64 * 32);
    EXPECT_TRUE(same_hits(found[0], world.found(query, options).hits)) << rows;
    if (was_shared) {
      EXPECT_EQ(HelpJobSteps::chunks(job), ((rows + 31) / 32 + 63) / 64);
    }
  }
}

TEST(Help, IsNotAskedForWithoutAnIdleHelperOrWhereEverybodyIsBusy) {
  const World world({8, Metric::cosine, 4}, 50, 9000);
  const std::vector<float> query = queries_of(51, 1, 8);
  const auto searches_shared = [&](std::uint32_t processors, bool idle, std::uint32_t busy) {
    sync::ReaderSlots slots;
    for (std::uint32_t i = 0; i < busy; ++i) {
      slots.slot(*slots.claim()).pin.store(sync::Pin::exact(1), sync::release);
    }
    // One that holds a version is not searching.
    slots.slot(*slots.claim()).pin.store(sync::Pin::held(1), sync::release);
    search::HelpPool pool(slots, processors, {0, 0});
    const std::uint32_t helper = *pool.enlist();
    slots.jobs().set_idle(helper, idle);
    auto scratch = search::Scratch::create(*world.quantiser, &pool);
    EXPECT_TRUE(same_hits(world.found(query, {}, scratch->get()).hits,
                          world.found(query, {}).hits));
    for (std::uint32_t i = 0; i < busy; ++i) slots.slot(i).pin.store(0, sync::release);
    slots.slot(busy).pin.store(0, sync::release);
    return pool.searches();
  };
  EXPECT_EQ(searches_shared(2, true, 1), 1u);
  EXPECT_EQ(searches_shared(2, false, 1), 0u);
  EXPECT_EQ(searches_shared(2, true, 2), 0u);
  EXPECT_EQ(searches_shared(16, true, 15), 1u);
}

TEST(Help, IsGivenByThreadsWithoutChangingAResult) {
  const World world({64, Metric::cosine, 4}, 60, 40'000, 16384, 1);
  sync::ReaderSlots slots;
  search::HelpPool pool(slots, 64, {0, 0});
  sync::Atomic<std::uint32_t> stop;
  std::vector<std::thread> helpers;
  for (int i = 0; i < 3; ++i) {
    helpers.emplace_back([&] {
      auto scratch = search::Scratch::create(*world.quantiser).value();
      const std::uint32_t number = *pool.enlist();
      std::uint32_t heard = pool.listen();
      while (stop.load(sync::acquire) == 0) pool.help(number, *scratch, heard, 1000);
      pool.dismiss(number);
    });
  }
  auto scratch = search::Scratch::create(*world.quantiser, &pool).value();
  auto filter = search::IdFilter::create(world.live_ids()).value();
  // Until helpers have done enough: what that takes is the scheduler's business.
  for (std::uint64_t round = 0; round < scaled(60) || pool.chunks() < 20; ++round) {
    ASSERT_LT(round, scaled(100'000));
    const std::uint32_t count = round % 3 == 0 ? 1 : 5;
    const std::vector<float> queries =
        queries_of(600 + round % 50, count, 64);
    SearchOptions options;
    options.k = round % 7 == 0 ? 500 : 10;
    std::vector<search::Found> found(count);
    ASSERT_TRUE(search::search_wave(world.fixture->version(), *world.quantiser, queries, 0, options,
                                    round % 2 == 0 ? filter.get() : nullptr, *scratch, found)
                    .ok());
    for (std::uint32_t i = 0; i < count; ++i) {
      std::vector<Hit> hits;
      for (std::size_t j = 0; j < found[i].ids.size(); ++j) {
        hits.push_back({found[i].ids[j], found[i].scores[j]});
      }
      ASSERT_TRUE(same_hits(hits, world.found({queries.data() + i * 64, 64}, options).hits));
    }
  }
  stop.store(1, sync::release);
  pool.ring();
  for (std::thread& helper : helpers) helper.join();
  EXPECT_GT(pool.searches(), 0u);
  EXPECT_EQ(pool.helpers(), 0u);
}

// The smallest chunks, so that a few rows are enough to share; whatever their number is next to the
// bounds of blocks and chunks, and whatever is asked for.
TEST(Help, OfAnySizeChangesNoResult) {
  std::uint64_t helped = 0;
  for (const std::uint32_t rows : {0u, 1u, 31u, 32u, 33u, 64u, 65u, 257u * 32 - 1, 257u * 32 + 1}) {
    for (const std::uint32_t dead_of_16 : {0u, 5u, 16u}) {
      const std::uint32_t dim = rows % 3 == 0 ? 1 : 19;
      const World world({dim, Metric::cosine, 8}, rows + 7, rows, 512, dead_of_16);
      sync::ReaderSlots slots;
      search::HelpPool pool(slots, 64, {0, 0, 1});
      sync::Atomic<std::uint32_t> stop;
      std::thread helper([&] {
        auto scratch = search::Scratch::create(*world.quantiser).value();
        const std::uint32_t number = *pool.enlist();
        std::uint32_t heard = pool.listen();
        while (stop.load(sync::acquire) == 0) pool.help(number, *scratch, heard, 1000);
        pool.dismiss(number);
      });
      auto scratch = search::Scratch::create(*world.quantiser, &pool).value();
      while (!pool.may_ask()) std::this_thread::yield();  // it sleeps again and again
      for (std::uint32_t round = 0; round < 12; ++round) {
        const std::vector<float> query = queries_of(rows + round, 1, dim);
        SearchOptions options;
        static constexpr std::size_t kKs[] = {1, 33, std::numeric_limits<std::size_t>::max()};
        options.k = kKs[round % 3];
        options.exhaustive = round % 2 == 1;
        if (round % 4 == 3) options.after = Hit{rows, 0.1f};
        if (round % 5 == 4) options.min_score = std::numeric_limits<float>::infinity();
        ASSERT_TRUE(same_hits(world.found(query, options, scratch.get()).hits,
                              world.found(query, options).hits))
            << rows << " rows, " << dead_of_16 << "/16 dead, round " << round;
      }
      stop.store(1, sync::release);
      pool.ring();
      helper.join();
      helped += pool.searches();
    }
  }
  EXPECT_GT(helped, 0u);
}

TEST(Help, KeepsNoMoreMemoryThanItsJobsNeed) {
  sync::ReaderSlots slots;
  search::HelpPool pool(slots, 4);
  EXPECT_EQ(pool.bytes(), 0u);
  const std::uint32_t helper = *pool.enlist();
  EXPECT_GE(pool.bytes(), sizeof(search::HelpJob));
  EXPECT_LT(pool.bytes(), 2 * sizeof(search::HelpJob));
  pool.dismiss(helper);
  EXPECT_EQ(*pool.enlist(), helper);
  EXPECT_LT(pool.bytes(), 2 * sizeof(search::HelpJob));
}

}  // namespace
}  // namespace vicinal::test
