// Writes index files of version 3 in memory, step by step, with the core's codecs and nothing else
// of it: what a test wants in a file, and what is in it.
//
// Thread safety: a value; belongs to one thread.
// I1: rows, removals and dropped segments wait for the next commit; the file shows what the
//     commits so far have shown.
// I2: the same calls make the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "quant/layout.hpp"
#include "storage/commit_format.hpp"
#include "storage/extent_format.hpp"
#include "storage/ids_format.hpp"
#include "storage/log_format.hpp"

namespace vicinal::test {

struct LogRow {
  std::uint64_t id = 0;
  quant::RowFactors factors;
  std::vector<std::uint8_t> packed;
  bool live = true;
};

class LogComposer {
 public:
  // Superblock, empty meta slots, live page, and a directory of the empty version. `block`: its
  // coded_dim is filled in.
  explicit LogComposer(storage::Superblock block);

  [[nodiscard]] const quant::CodeLayout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::byte>& mutable_bytes() { return bytes_; }
  // Where the next record begins.
  [[nodiscard]] std::uint64_t end() const { return bytes_.size(); }

  void open(std::uint32_t number, std::uint32_t capacity);
  // Drawn codes and factors.
  void add(std::uint32_t number, std::uint64_t id, Random& random);
  void kill(std::uint32_t number, std::uint32_t row);
  void drop(std::uint32_t number);
  void set_origin(std::vector<float> origin);

  // With at least so many deaths on a live page the commit brings the page.
  void commit(std::uint32_t deaths_of_a_page = ~std::uint32_t{0});
  void directory();
  // An id table of all rows that are shown; commits from the next one on name it.
  void ids();
  // A meta slot that names the newest commit and directory; they take turns.
  void meta();

  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  // Live rows by slot, a line each: slot, id, three factors and packed row in hexadecimal. As
  // tests/format reads them out of the file.
  [[nodiscard]] std::string lines() const;

 private:
  struct Segment {
    storage::Extent extent;
    std::vector<LogRow> rows;
    std::uint32_t shown = 0;  // rows
    bool fresh = true;        // opened since the last commit
  };

  void append(std::span<const std::byte> record, std::uint64_t sum);
  void write_extent(Segment& segment);
  void write_block(const Segment& segment, std::uint32_t block);
  // The block's sums as they lie in the file from now on.
  storage::BlockSums sums_of(const Segment& segment, std::uint32_t block) const;
  void add_grown(Segment& segment, std::uint32_t before);
  void add_inline(const Segment& segment, std::uint32_t first);
  void add_deaths(std::uint32_t deaths_of_a_page);
  void add_page(std::uint32_t number, std::uint32_t page);
  storage::CommitHead head() const;
  void seal(storage::RecordKind kind);

  storage::Superblock block_;
  quant::CodeLayout layout_;
  std::vector<std::byte> bytes_;
  std::map<std::uint32_t, Segment> segments_;
  std::set<std::uint32_t> dropped_;
  std::set<std::uint32_t> dead_;
  std::vector<float> origin_;
  std::uint64_t origin_number_ = 0;
  bool origin_changed_ = false;
  std::uint64_t rows_dropped_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t previous_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t directory_ = 0;
  std::uint64_t ids_record_ = 0;
  storage::CommitWriter writer_;
};

}  // namespace vicinal::test
