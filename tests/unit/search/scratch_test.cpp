#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/random.hpp"
#include "world.hpp"

namespace {

// Every way of this program to the heap, counted; while `fail` is set nothing is handed out.
std::uint64_t allocations = 0;
bool fail = false;

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  if (fail) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_end(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_end(bytes, kPlain); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, kPlain);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_end(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace vicinal::test {
namespace {

// The status of one search with these options, heap untouched by the harness.
Status try_search(const World& world, std::span<const float> query, const SearchOptions& options,
                  search::Scratch& scratch, search::Found* found) {
  return search::search(world.fixture->version(), *world.quantiser, query, options, scratch,
                        found);
}

TEST(Scratch, AWarmSearchAllocatesNothing) {
  const World world({100, Metric::cosine, 4}, 80, 1000, 300);
  auto made = search::Scratch::create(*world.quantiser);
  const auto queries = make_vectors(81, 8, 100);
  const auto ids = world.live_ids();
  for (const float certainty : {0.0f, 3.0f, kInfinity}) {
    SearchOptions options;
    options.certainty = certainty;
    options.filter = ids;
    options.k = 50;
    search::Found found;
    ASSERT_TRUE(try_search(world, queries[0], options, **made, &found).ok());
    const std::uint64_t before = allocations;
    for (const auto& query : queries) {
      for (const std::size_t k : {std::size_t{50}, std::size_t{1}, std::size_t{10}}) {
        options.k = k;
        options.filter = std::span(ids).first(ids.size() / k);
        ASSERT_TRUE(try_search(world, query, options, **made, &found).ok());
        options.filter.reset();
        ASSERT_TRUE(try_search(world, query, options, **made, &found).ok());
      }
    }
    EXPECT_EQ(allocations, before);
  }
}

TEST(Scratch, WithoutMemoryReportsFullAndStillServesWhatItServedBefore) {
  const World world({32, Metric::ip, 4}, 82, 900, 300);
  auto made = search::Scratch::create(*world.quantiser);
  const auto query = make_vectors(83, 1, 32)[0];
  const auto ids = world.live_ids();
  SearchOptions small;
  SearchOptions large;
  large.k = 500;
  SearchOptions filtered;
  filtered.filter = ids;
  const auto expected = world.expected(query, small);
  search::Found found;
  ASSERT_TRUE(try_search(world, query, small, **made, &found).ok());
  for (const SearchOptions& options : {large, filtered}) {
    fail = true;
    const Status status = try_search(world, query, options, **made, &found);
    const Status still = try_search(world, query, small, **made, &found);
    fail = false;
    EXPECT_EQ(status.code(), Code::full);
    ASSERT_TRUE(still.ok());
    ASSERT_EQ(found.ids.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found.ids[i], expected[i].id);
    EXPECT_TRUE(same_hits(world.found(query, options, made->get()).hits,
                          world.expected(query, options)));
  }
}

TEST(Scratch, CannotBeMadeWithoutMemory) {
  const auto quantiser = make_quantiser({32, Metric::ip, 4});
  fail = true;
  const auto made = search::Scratch::create(*quantiser);
  fail = false;
  EXPECT_EQ(made.code(), Code::full);
}

TEST(Decode, GivesEveryRowThatTheQuantiserGives) {
  for (const std::uint32_t bits : {1u, 2u, 3u, 4u, 8u}) {
    for (const std::uint32_t dim : {1u, 9u, 100u}) {
      const World world({dim, Metric::ip, bits}, 84, 170, 100, 2);
      auto made = search::Scratch::create(*world.quantiser);
      auto room = AlignedBuffer::create(world.quantiser->encode_scratch_bytes());
      const segment::Version& version = world.fixture->version();
      for (const EncodedRow& row : world.rows) {
        const segment::Slot slot = version.find(row.id);
        ASSERT_EQ(slot.valid(), row.live);
        if (!row.live) continue;
        std::vector<float> expected(dim);
        world.quantiser->decode(row.packed.data(), row.factors, room->data(), expected.data());
        std::vector<float> vector(dim);
        ASSERT_TRUE(
            search::decode_row(version, *world.quantiser, slot, **made, vector.data()).ok());
        EXPECT_EQ(vector, expected) << name_of(world.shape);
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::test
