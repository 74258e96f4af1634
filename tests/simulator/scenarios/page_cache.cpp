// The whole page cache, with few frames: sessions that get, put, hold and invalidate pages of a
// source whose calls are seen to be one at a time and page.
#include <cstring>

#include "cache/page_cache.hpp"
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"

namespace vicinal::sim {
namespace {

using cache::PageCache;
using cache::PageSession;
using cache::kPageBytes;

constexpr std::uint64_t kPages = 3;
constexpr std::uint64_t kCost = 2;

struct Text {
  std::uint64_t page;
  std::uint64_t version;
};

Text text_of(const std::byte* bytes) {
  sync::note_read(bytes);
  Text text;
  std::memcpy(&text, bytes, sizeof text);
  return text;
}

class Source final : public cache::PageSource {
 public:
  Source() : PageSource(0) {}

  Status read(std::uint64_t page, cache::PageRoom room) noexcept override {
    reads_ = reads_ + 1;
    calls_[page] = calls_[page] + 1;  // a race here: two calls of one page at once
    const Text text{page, version(page)};
    std::memcpy(room.data(), &text, sizeof text);
    return fails_ && pick(4) == 0 ? Status(Code::io, 5) : Status();
  }
  Status write(std::uint64_t page, cache::PageBytes bytes) noexcept override {
    calls_[page] = calls_[page] + 1;
    if (fails_ && pick(4) == 0) return Status(Code::io, 28);
    Text text;
    std::memcpy(&text, bytes.data(), sizeof text);
    check(text.page == page, "another page is written");
    check(text.version >= version(page), "an older content is written over a newer");
    set(page, text.version);
    return {};
  }
  std::uint64_t version(std::uint64_t page) const { return versions_[page].load(sync::relaxed); }
  // From outside, whoever calls meanwhile.
  void set(std::uint64_t page, std::uint64_t version) {
    versions_[page].store(version, sync::relaxed);
  }
  void let_fail(bool fails) { fails_ = fails; }
  std::uint64_t reads() const { return reads_; }

 private:
  sync::Plain<std::uint64_t> calls_[kPages];
  sync::Atomic<std::uint64_t> versions_[kPages];
  std::uint64_t reads_ = 0;
  bool fails_ = false;
};

struct World {
  Source source;
  std::unique_ptr<PageCache> cache;
  // The newest version put, known to who puts: one thread a page.
  std::uint64_t put[kPages] = {};

  explicit World(std::uint64_t frames, std::uint32_t partitions = 1) {
    cache::PageCacheOptions options;
    options.bytes_max = frames * kPageBytes;
    options.partitions = partitions;
    options.frame_wait_us_max = 1'000'000'000;
    auto made = PageCache::create(options);
    check(made.ok(), "no cache");
    cache = std::move(made).value();
  }
  std::unique_ptr<PageSession> session() {
    auto made = cache->session();
    check(made.ok(), "no session");
    return std::move(made).value();
  }
  // What it got, which must be of the page and no older than `version`.
  std::uint64_t get(PageSession& session, std::uint64_t page, std::uint64_t version) {
    const auto bytes = session.get({&source, page});
    if (!bytes.ok()) {
      check(bytes.code() == Code::io, "an error that nobody made");
      return version;
    }
    const Text text = text_of(*bytes);
    check(text.page == page, "another page is read");
    check(text.version >= version, "an old content is read");
    return text.version;
  }
  void put_next(PageSession& session, std::uint64_t page) {
    std::byte bytes[kPageBytes] = {};
    const Text text{page, put[page] + 1};
    std::memcpy(bytes, &text, sizeof text);
    const Status status = session.put({&source, page}, cache::PageBytes(bytes));
    check(status.ok() || status.code() == Code::io, "an error that nobody made");
    if (status.ok()) ++put[page];
  }
  void finish() {
    join_all();
    source.let_fail(false);
    auto last = session();
    check(last->flush().ok(), "a page that cannot be written");
    for (std::uint64_t page = 0; page < kPages; ++page) {
      check(source.version(page) == put[page], "a put is lost");
      check(get(*last, page, put[page]) == put[page], "a page is not what was put");
    }
  }
};

// Reads of more pages than frames: evictions under readers.
void page_reads() {
  World world(2 + pick(2));
  for (int reader = 0; reader < 2; ++reader) {
    spawn([&world] {
      auto session = world.session();
      for (int turn = 0; turn < 6; ++turn) world.get(*session, pick(kPages), 0);
      if (pick(2) == 0) session->leave();
    });
  }
  world.finish();
}

// Everybody wants one page at once.
void page_misses() {
  World world(4);
  const bool fails = pick(2) == 0;
  world.source.let_fail(fails);
  for (int reader = 0; reader < 3; ++reader) {
    spawn([&world] {
      auto session = world.session();
      world.get(*session, 1, 0);
    });
  }
  join_all();
  if (!fails) check(world.source.reads() == 1, "a page is read twice");
  world.finish();
}

// A thread puts, the others read and hold.
void page_puts() {
  World world(3);
  world.source.let_fail(pick(2) == 0);
  spawn([&world] {
    auto session = world.session();
    for (int turn = 0; turn < 4; ++turn) {
      const std::uint64_t page = pick(kPages);
      switch (pick(4)) {
        case 0: (void)session->flush(); break;
        case 1: world.get(*session, page, world.put[page]); break;
        default: world.put_next(*session, page);
      }
    }
  });
  spawn([&world] {
    auto session = world.session();
    std::uint64_t seen[kPages] = {};
    for (int turn = 0; turn < 5; ++turn) {
      const std::uint64_t page = pick(kPages);
      if (pick(3) != 0) {
        seen[page] = world.get(*session, page, seen[page]);
        continue;
      }
      const auto hold = session->hold({&world.source, page});
      if (!hold.ok()) continue;
      const Text text = text_of(hold->bytes().data());
      check(text.page == page && text.version >= seen[page], "not the page that is held");
      seen[page] = text.version;
      pause();
      check(text_of(hold->bytes().data()).version == text.version, "a held page changes");
    }
  });
  world.finish();
}

// Readers that only look, and begin and end a reading each time, beside evictions.
void page_looks() {
  World world(3);
  {
    auto session = world.session();
    for (std::uint64_t page = 0; page < kPages; ++page) world.get(*session, page, 0);
  }
  for (int reader = 0; reader < 2; ++reader) {
    spawn([&world] {
      auto session = world.session();
      for (int turn = 0; turn < 4; ++turn) {
        const std::uint64_t page = pick(kPages);
        if (const std::byte* bytes = session->find({&world.source, page})) {
          check(text_of(bytes).page == page, "another page is read");
        }
        session->leave();
      }
    });
  }
  spawn([&world] {
    auto session = world.session();
    for (int turn = 0; turn < 3; ++turn) {
      session->invalidate({&world.source, pick(kPages)});
      world.get(*session, pick(kPages), 0);
    }
  });
  world.finish();
}

// A frame that gets another page, and readers who may still know the old one.
void page_reuse() {
  World world(2);
  {
    auto session = world.session();
    world.get(*session, 0, 0);
    world.get(*session, 1, 0);
  }
  spawn([&world] {
    auto session = world.session();
    for (int turn = 0; turn < 2; ++turn) {
      if (const std::byte* bytes = session->find({&world.source, 0})) {
        check(text_of(bytes).page == 0, "another page is read");
      }
      session->leave();
    }
  });
  auto session = world.session();
  if (pick(2) == 0) session->invalidate({&world.source, 0});
  world.get(*session, 2, 0);
  session.reset();
  world.finish();
}

// A reading during which pages come and go before the one that it looks for.
void page_chain() {
  World world(4);
  spawn([&world] {
    auto session = world.session();
    world.get(*session, 0, 0);
    pause();
    if (const std::byte* bytes = session->find({&world.source, 1})) {
      check(text_of(bytes).page == 1, "another page is read");
    }
  });
  spawn([&world] {
    auto session = world.session();
    world.get(*session, 1, 0);
    world.get(*session, 2, 0);
    session->invalidate({&world.source, 2});
  });
  world.finish();
}

// Who waits for frames that others hold.
void page_holds() {
  World world(2);
  spawn([&world] {
    auto session = world.session();
    auto one = session->hold({&world.source, 0});
    auto two = session->hold({&world.source, 1});
    check(one.ok() && two.ok(), "no hold");
    check(text_of(one->bytes().data()).page == 0, "another page is held");
    if (pick(2) == 0) session->invalidate({&world.source, 1});
  });
  spawn([&world] {
    auto session = world.session();
    world.get(*session, 2, 0);
  });
  world.finish();
}

// Who waits for a frame that a reading holds, and the end of that reading: nothing else wakes it.
void page_waits() {
  World world(2);
  auto reading = world.session();
  world.get(*reading, 0, 0);
  world.get(*reading, 1, 0);
  spawn([&reading] {
    for (std::uint64_t left = pick(160); left > 0; --left) pause();  // as long as a miss, or so
    reading->leave();
  });
  spawn([&world] {
    auto session = world.session();
    world.get(*session, 2, 0);
  });
  join_all();
  reading.reset();
  world.finish();
}

// A source that is changed from outside, with an invalidation behind each change: who knows of the
// change sees it, and whoever reads meanwhile leaves nothing old, nor its error.
void page_changes() {
  World world(3);
  sync::Atomic<std::uint64_t> told;
  const bool fails = pick(2) == 0;
  world.source.let_fail(fails);
  spawn([&world, &told] {
    auto session = world.session();
    for (std::uint64_t version = 1; version < 4; ++version) {
      world.source.set(1, version);
      session->invalidate({&world.source, 1});
      world.put[1] = version;
      told.store(version, sync::release);
      if (pick(2) == 0) world.get(*session, 1, version);
    }
  });
  for (int reader = 0; reader < 2; ++reader) {
    spawn([&world, &told] {
      auto session = world.session();
      for (int turn = 0; turn < 4; ++turn) {
        world.get(*session, pick(4) == 0 ? 2 : 1, 0);
        const std::uint64_t version = told.load(sync::acquire);
        world.get(*session, 1, version);
      }
    });
  }
  world.finish();
}

// Flushes beside puts: what was put before one is in the source after it.
void page_flushes() {
  World world(4);
  sync::Atomic<std::uint64_t> told[kPages];
  spawn([&world, &told] {
    auto session = world.session();
    for (int turn = 0; turn < 5; ++turn) {
      const std::uint64_t page = pick(2);
      world.put_next(*session, page);
      told[page].store(world.put[page], sync::release);
    }
  });
  spawn([&world, &told] {
    auto session = world.session();
    for (int turn = 0; turn < 2; ++turn) {
      const std::uint64_t put[] = {told[0].load(sync::acquire), told[1].load(sync::acquire)};
      if (!session->flush().ok()) continue;
      for (std::uint64_t page = 0; page < 2; ++page) {
        check(world.source.version(page) >= put[page], "a flush has overlooked a page");
      }
    }
  });
  world.finish();
}

const Scenario kPageWaits("page_waits", page_waits);
const Scenario kPageChanges("page_changes", page_changes, kCost);
const Scenario kPageFlushes("page_flushes", page_flushes, kCost);
const Scenario kPageLooks("page_looks", page_looks, kCost);
const Scenario kPageReuse("page_reuse", page_reuse);
const Scenario kPageChain("page_chain", page_chain, kCost);
const Scenario kPageHolds("page_holds", page_holds, kCost);
const Scenario kPageReads("page_reads", page_reads, kCost);
const Scenario kPageMisses("page_misses", page_misses, kCost);
const Scenario kPagePuts("page_puts", page_puts, kCost);

}  // namespace
}  // namespace vicinal::sim
