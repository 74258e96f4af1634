// The live page of the file that a journal writes: mapped where the platform maps files, else by
// small writes.
//
// Thread safety: one thread at a time, who has the log.
// I1: nobody trusts what is here (sync/live_page.hpp I2): a store that fails makes other processes
//     hear later, and is told to nobody.
// I2: by writes: the sequence, then the end as one write of 8 bytes. Both go through the same file
//     as what they lead to, in that order, and a reader checks each record; so the end that it gets
//     may be old, or torn where a platform tears 8 aligned bytes, and does no harm.
#pragma once

#include <cstdint>

#include "platform/file_system.hpp"
#include "sync/live_page.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class LiveFields {
 public:
  explicit LiveFields(platform::File& file) noexcept : file_(&file) {}
  LiveFields(const LiveFields&) = delete;
  LiveFields& operator=(const LiveFields&) = delete;
  ~LiveFields() { unmap(); }

  // Before anything else. IO, FULL.
  Status map() noexcept;
  // This process has the file for writing.
  void begin() noexcept;
  void announce(std::uint64_t end, std::uint64_t sequence) noexcept;
  // Another file has this one's name.
  void say_moved() noexcept;
  // Nobody has it any more. While the file is open.
  void end() noexcept;

 private:
  void unmap() noexcept;
  void put(std::uint64_t offset, std::uint64_t value, std::size_t bytes) noexcept;

  platform::File* file_;
  sync::LivePage* page_ = nullptr;  // null: by writes
};

}  // namespace vicinal::engine
