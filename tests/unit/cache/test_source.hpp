// A source whose pages say what they are, which counts its calls, fails when it is told to, and can
// hold a call back.
//
// Thread safety: any thread; what a test tells it, before others call.
// I1: every word of a page is its number and the content's version: a mix of two is seen.
#pragma once

#include <cstring>
#include <mutex>
#include <condition_variable>
#include <vector>

#include "cache/page_source.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {

using cache::PageBytes;
using cache::PageRoom;
using cache::kPageBytes;

struct PageText {
  std::uint64_t page = 0;
  std::uint64_t version = 0;
  friend bool operator==(const PageText&, const PageText&) = default;
};

using PageBuffer = std::vector<std::byte>;

inline void write_text(PageRoom room, PageText text) {
  for (std::size_t at = 0; at < kPageBytes; at += sizeof text) {
    std::memcpy(room.data() + at, &text, sizeof text);
  }
}
inline PageBuffer page_of(PageText text) {
  PageBuffer buffer(kPageBytes);
  write_text(PageRoom(buffer.data(), kPageBytes), text);
  return buffer;
}
inline PageBytes bytes_of(const PageBuffer& buffer) { return PageBytes(buffer.data(), kPageBytes); }

// {~0, ~0} where it is not one text from its first to its last word.
inline PageText text_of(const std::byte* bytes) {
  PageText first;
  std::memcpy(&first, bytes, sizeof first);
  for (std::size_t at = 0; at < kPageBytes; at += sizeof first) {
    if (std::memcmp(bytes + at, bytes, sizeof first) != 0) return {~0ull, ~0ull};
  }
  return first;
}

class TestSource final : public cache::PageSource {
 public:
  explicit TestSource(std::uint64_t pages, std::uint32_t number = 0)
      : PageSource(number), versions_(pages) {}

  Status read(std::uint64_t page, PageRoom room) noexcept override {
    reads_.fetch_add(1, sync::relaxed);
    // What was there before, and whether it fails: as the call found it at its beginning.
    const std::uint64_t version = page < versions_.size() ? this->version(page) : 0;
    const bool fails = failing_reads.load(sync::acquire) != 0 || page >= versions_.size();
    pass();
    if (fails) return Status(Code::io, 5);
    write_text(room, {page, version});
    return {};
  }
  Status write(std::uint64_t page, PageBytes bytes) noexcept override {
    writes_.fetch_add(1, sync::relaxed);
    const bool fails = failing_writes.load(sync::acquire) != 0;
    pass();
    if (fails) return Status(Code::io, 28);
    const PageText text = text_of(bytes.data());
    const std::scoped_lock held(lock_);
    if (text.page != page) ++torn_;
    if (text.version < versions_[page]) ++backwards_;
    versions_[page] = text.version;
    return {};
  }

  // As if somebody else had written to the file.
  void set(std::uint64_t page, std::uint64_t version) {
    const std::scoped_lock held(lock_);
    versions_[page] = version;
  }
  [[nodiscard]] std::uint64_t version(std::uint64_t page) {
    const std::scoped_lock held(lock_);
    return versions_[page];
  }
  [[nodiscard]] std::uint64_t reads() const { return reads_.load(sync::relaxed); }
  [[nodiscard]] std::uint64_t writes() const { return writes_.load(sync::relaxed); }
  // Writes of a page that was not this one, or of an older content over a newer.
  [[nodiscard]] std::uint64_t faults() {
    const std::scoped_lock held(lock_);
    return torn_ + backwards_;
  }

  // Calls that begin from now on wait for `open`.
  void close() {
    const std::scoped_lock held(lock_);
    closed_ = true;
  }
  void open() {
    const std::scoped_lock held(lock_);
    closed_ = false;
    changed_.notify_all();
  }
  void await_calls(std::uint64_t count) {
    std::unique_lock held(lock_);
    changed_.wait(held, [&] { return inside_ >= count; });
  }

  sync::Atomic<std::uint32_t> failing_reads;
  sync::Atomic<std::uint32_t> failing_writes;

 private:
  void pass() {
    std::unique_lock held(lock_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(held, [&] { return !closed_; });
    --inside_;
  }

  sync::Atomic<std::uint64_t> reads_;
  sync::Atomic<std::uint64_t> writes_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> versions_;
  std::uint64_t torn_ = 0;
  std::uint64_t backwards_ = 0;
  std::uint64_t inside_ = 0;
  bool closed_ = false;
};

}  // namespace vicinal::test
