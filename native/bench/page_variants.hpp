// Ways to look at a page that is in memory, each behind the same two calls: `at(thread)` is a
// thread's own part, `find(page)` of it the page's bytes until the next `find`, or null.
//
// Thread safety: a part belongs to one thread; parts of one variant may be used at once.
// I1: what a part found stays as it is until the part's next `find`, or its end; all find a page
//     through the same table (core/cache/page_table.hpp), and differ in what protects it meanwhile.
// I2: kSharedRmw is how many read-modify-writes of memory that threads share a look does: a lock
//     and its release are one each (tests/unit/bench/page_variants_test.cpp counts them, but for a
//     std::mutex).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cache/page_cache.hpp"
#include "cli/failure.hpp"

namespace vicinal::bench {

inline constexpr const char* kPagesSubject = "the pages measured";

// Pages 0 .. count - 1 of a source, all of them in the table. `page_bytes`: of memory for each.
class TablePages {
 public:
  explicit TablePages(std::uint32_t count, std::size_t page_bytes = cache::kPageBytes)
      : memory_(count * page_bytes) {
    if (!table_.create(128, count)) {
      throw cli::status_failure(kPagesSubject, Status(Code::full, count));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      table_.insert(table_.frame(i), {&source_, i}, false);
      if (page_bytes != 0) memory_[i * page_bytes] = static_cast<std::byte>(i);
    }
  }
  [[nodiscard]] cache::Frame* find(std::uint32_t page) noexcept {
    return table_.find({&source_, page});
  }
  [[nodiscard]] std::uint32_t number_of(const cache::Frame& frame) const noexcept {
    return table_.number_of(frame);
  }
  [[nodiscard]] const std::byte* bytes_of(const cache::Frame& frame) const noexcept {
    return memory_.data() + std::size_t{table_.number_of(frame)} * cache::kPageBytes;
  }

 private:
  cache::MemorySource source_;
  cache::PageTable table_;
  std::vector<std::byte> memory_;
};

// What counts its owners, and ends with the last one.
class alignas(64) Counted {
 public:
  void take() noexcept { count_.fetch_add(1, sync::relaxed); }
  void give_back() noexcept { (void)count_.fetch_sub(1, sync::acq_rel); }

 private:
  sync::Atomic<std::uint32_t> count_{1};
};

// The lock of the back end is taken before anybody knows that the page is in memory, and held until
// who looks has read: a page may go when it is not.
class LockBeforeLookup {
 public:
  static constexpr const char* kName = "lock-before-lookup";
  static constexpr std::uint64_t kSharedRmw = 2;

  explicit LockBeforeLookup(std::uint32_t pages) : pages_(pages) {}
  class Part {
   public:
    explicit Part(LockBeforeLookup& all) : all_(all), held_(all.back_end_, std::defer_lock) {}
    const std::byte* find(std::uint32_t page) noexcept {
      let_go();
      held_.lock();
      const cache::Frame* frame = all_.pages_.find(page);
      return frame == nullptr ? nullptr : all_.pages_.bytes_of(*frame);
    }

   private:
    void let_go() noexcept {
      if (held_.owns_lock()) held_.unlock();
    }

    LockBeforeLookup& all_;
    std::unique_lock<std::mutex> held_;
  };
  Part at(std::size_t) { return Part(*this); }

 private:
  TablePages pages_;
  alignas(128) std::mutex back_end_;
};

// The page counts its readers; with kClones each also gets the back end's handle, counted too.
template <bool kClones>
class RefcountPages {
 public:
  static constexpr const char* kName =
      kClones ? "lock-on-miss-refcount-clone" : "lock-on-miss-refcount";
  static constexpr std::uint64_t kSharedRmw = kClones ? 4 : 2;

  explicit RefcountPages(std::uint32_t pages) : pages_(pages), counts_(pages) {}
  class Part {
   public:
    explicit Part(RefcountPages& all) : all_(all) {}
    Part(Part&& other) noexcept
        : all_(other.all_), mine_(std::exchange(other.mine_, nullptr)) {}
    ~Part() { let_go(); }
    const std::byte* find(std::uint32_t page) noexcept {
      let_go();
      const cache::Frame* frame = all_.pages_.find(page);
      if (frame == nullptr) return nullptr;
      mine_ = &all_.counts_[all_.pages_.number_of(*frame)];
      mine_->take();
      if (kClones) all_.back_end_.take();
      return all_.pages_.bytes_of(*frame);
    }

   private:
    void let_go() noexcept {
      if (mine_ == nullptr) return;
      mine_->give_back();
      if (kClones) all_.back_end_.give_back();
      mine_ = nullptr;
    }

    RefcountPages& all_;
    Counted* mine_ = nullptr;
  };
  Part at(std::size_t) { return Part(*this); }

 private:
  TablePages pages_;
  std::vector<Counted> counts_;
  Counted back_end_;
};

// The frame's header, as for a hold.
class PinnedPages {
 public:
  static constexpr const char* kName = "pin";
  static constexpr std::uint64_t kSharedRmw = 2;

  explicit PinnedPages(std::uint32_t pages) : pages_(pages) {}
  class Part {
   public:
    explicit Part(PinnedPages& all) : all_(all) {}
    Part(Part&& other) noexcept
        : all_(other.all_), mine_(std::exchange(other.mine_, nullptr)) {}
    ~Part() { let_go(); }
    const std::byte* find(std::uint32_t page) noexcept {
      let_go();
      cache::Frame* frame = all_.pages_.find(page);
      if (frame == nullptr || frame->header.pin() != cache::Pinned::yes) return nullptr;
      mine_ = frame;
      return all_.pages_.bytes_of(*frame);
    }

   private:
    void let_go() noexcept {
      if (mine_ != nullptr) (void)mine_->header.unpin();
      mine_ = nullptr;
    }

    PinnedPages& all_;
    cache::Frame* mine_ = nullptr;
  };
  Part at(std::size_t) { return Part(*this); }

 private:
  TablePages pages_;
};

// The page cache itself, with its statistics and the clock's bits.
class OurPages {
 public:
  static constexpr const char* kName = "ours";
  static constexpr std::uint64_t kSharedRmw = 0;

  explicit OurPages(std::uint32_t pages) {
    cli::require(kPagesSubject, source_.resize(pages));
    cache::PageCacheOptions options;
    // Room for a session each, however many threads there are.
    options.bytes_max = std::uint64_t{std::max(pages, 512u)} * cache::kPageBytes;
    cache_ = cli::require(kPagesSubject, cache::PageCache::create(options));
    auto session = cli::require(kPagesSubject, cache_->session());
    for (std::uint32_t i = 0; i < pages; ++i) {
      if (!session->get({&source_, i}).ok()) throw cli::Failure(Code::corrupt, "a page is missing");
    }
  }
  class Part {
   public:
    explicit Part(OurPages& all)
        : source_(&all.source_), session_(cli::require(kPagesSubject, all.cache_->session())) {}
    const std::byte* find(std::uint32_t page) noexcept { return session_->find({source_, page}); }
    Result<cache::PageHold> hold(std::uint32_t page) noexcept {
      return session_->hold({source_, page});
    }

   private:
    cache::MemorySource* source_;
    std::unique_ptr<cache::PageSession> session_;
  };
  Part at(std::size_t) { return Part(*this); }

 private:
  cache::MemorySource source_;
  std::unique_ptr<cache::PageCache> cache_;
};

}  // namespace vicinal::bench
