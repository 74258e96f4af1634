// Processes that follow a file while others write to it and are killed in the middle of that.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <new>

#include "support/file_world.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint64_t kIds = 120;
constexpr std::uint32_t kDim = 8;
constexpr std::uint32_t kReaders = 4;
constexpr std::uint32_t kNotes = 40000;

// What a version of this sequence holds, by whoever has looked.
struct Note {
  std::uint64_t sequence;
  std::uint64_t content;
};

struct Notes {
  sync::Atomic<std::uint32_t> count;
  Note all[kNotes];

  void put(std::uint64_t sequence, std::uint64_t content) {
    const std::uint32_t at = count.load(sync::relaxed);
    if (at == kNotes) return;
    all[at] = {sequence, content};
    count.store(at + 1, sync::release);
  }
};

// Memory that processes have in common.
struct Table {
  sync::Atomic<std::uint32_t> stop;
  Notes written;
  Notes seen[kReaders];
};

Table* make_table() {
  void* memory = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Table;
}

// All that one version holds.
std::uint64_t content_of(Reader& snapshot) {
  std::uint64_t sum = 5;
  std::uint64_t rows = 0;
  for (std::uint64_t id = 0; id < kIds; ++id) {
    const auto vector = snapshot.get(id);
    if (!vector.ok()) continue;
    sum = checksum64(vector->data(), vector->size() * sizeof(float), sum ^ (id << 8));
    ++rows;
  }
  SearchOptions all;
  all.k = kIds + 10;
  const auto hits = snapshot.search(vector_of(3, kDim), all);
  return hits.ok() && hits->size() == rows && snapshot.size() == rows ? sum : 0;
}

void note(const Index& index, Notes& notes) {
  Reader reader = index.reader();
  Reader snapshot = reader.snapshot();
  notes.put(snapshot.sequence(), content_of(snapshot));
}

// One commit, or none where nothing changes; what lies between two of them is noted.
bool write_something(Index& index, Random& random, Notes& notes) {
  const std::uint64_t first = random.below(kIds);
  const std::uint64_t count = std::min<std::uint64_t>(1 + random.below(40), kIds - first);
  const auto ids = ids_from(first, random.below(3) == 0 ? count : 1);
  switch (random.below(40)) {
    case 0: return index.clear().ok();
    case 1: return index.compact().ok();
    case 2:
      if (!index.clear().ok()) return false;
      note(index, notes);
      return index.calibrate(rows_of(ids_from(0, 40), kDim, first)).ok();
    case 3: {
      WriteOptions certain;
      certain.durable = true;
      return index.upsert(ids, rows_of(ids, kDim, random.below(9)), certain).ok();
    }
    default: break;
  }
  if (random.below(3) == 0) return index.remove(ids).ok();
  return index.upsert(ids, rows_of(ids, kDim, random.below(9))).ok();
}

void be_writer(const std::string& path, std::uint64_t seed, Table& table) {
  OpenOptions options;
  options.create = small_options(kDim);
  auto index = Index::open(path, options);
  if (!index.ok()) return;
  Random random(seed);
  note(*index, table.written);
  while (table.stop.load(sync::relaxed) == 0) {
    if (!write_something(*index, random, table.written)) return;
    note(*index, table.written);
  }
}

void be_reader(const std::string& path, bool mapped, Table& table, Notes& notes) {
  OpenOptions options;
  options.read_only = true;
  options.mapped = mapped;
  auto index = Index::open(path, options);
  if (!index.ok()) return;
  std::uint64_t before = ~std::uint64_t{0};
  for (bool last = false; !last;) {
    last = table.stop.load(sync::acquire) == 2;
    if (last) ::usleep(50'000);  // what waits for another look (follower.hpp I2) has had it
    Reader reader = index->reader();
    Reader snapshot = reader.snapshot();
    if (snapshot.sequence() != before) notes.put(snapshot.sequence(), content_of(snapshot));
    before = snapshot.sequence();
  }
}

template <class Work>
pid_t start(const Work& work) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  work();
  ::_exit(0);
}

void end(pid_t process, bool kills) {
  if (kills) ::kill(process, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(process, &status, 0), process);
  EXPECT_TRUE(kills || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
}

// Until this many more are there; false: they do not come.
bool wait_for(const Notes& notes, std::uint32_t more) {
  const std::uint32_t wanted = notes.count.load(sync::acquire) + more;
  for (int turn = 0; turn < 60'000; ++turn) {
    if (notes.count.load(sync::acquire) >= std::min(wanted, kNotes)) return true;
    ::usleep(1000);
  }
  return false;
}

// Between two notes of writers the content is that of the first. What a writer has committed and
// could not note any more, the next one notes when it has opened the file.
void check(const Notes& seen, const std::map<std::uint64_t, std::uint64_t>& written) {
  std::uint64_t before = 0;
  const std::uint32_t count = seen.count.load(sync::acquire);
  ASSERT_GT(count, 0u);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Note& one = seen.all[i];
    EXPECT_GE(one.sequence, before);
    before = one.sequence;
    ASSERT_NE(one.content, 0u);
    const auto next = written.upper_bound(one.sequence);
    ASSERT_NE(next, written.begin());
    EXPECT_EQ(one.content, std::prev(next)->second) << one.sequence;
  }
}

TEST(FollowProcesses, SeeWholeCommitsAloneWhoeverIsKilled) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Table* table = make_table();
  ASSERT_NE(table, nullptr);
  std::vector<pid_t> readers;
  const int generations = 3 + static_cast<int>(scaled(3));
  for (int generation = 0; generation < generations; ++generation) {
    SCOPED_TRACE(generation);
    const pid_t writer = start([&] {
      be_writer(path, 100 + static_cast<std::uint64_t>(generation), *table);
    });
    ASSERT_TRUE(wait_for(table->written, 5));
    if (generation < static_cast<int>(kReaders)) {
      readers.push_back(start([&] {
        be_reader(path, generation % 2 == 0, *table, table->seen[generation]);
      }));
      ASSERT_TRUE(wait_for(table->seen[generation], 3));
    }
    ASSERT_TRUE(wait_for(table->written, 60));
    if (generation == 2) end(readers[1], true);  // nobody misses a reader
    const bool last = generation + 1 == generations;
    if (last) table->stop.store(1, sync::release);
    end(writer, !last);
  }
  table->stop.store(2, sync::release);
  std::map<std::uint64_t, std::uint64_t> written;
  for (std::uint32_t i = 0; i < table->written.count.load(sync::acquire); ++i) {
    written[table->written.all[i].sequence] = table->written.all[i].content;
  }
  for (std::uint32_t reader = 0; reader < kReaders; ++reader) {
    SCOPED_TRACE(reader);
    if (reader != 1) end(readers[reader], false);
    const Notes& seen = table->seen[reader];
    check(seen, written);
    if (reader == 1) continue;
    EXPECT_EQ(seen.all[seen.count.load(sync::acquire) - 1].sequence, written.rbegin()->first);
  }
  ::munmap(table, sizeof(Table));
}

}  // namespace
}  // namespace vicinal::test
