// A list of the only ids that searches may return, compiled to lane masks that are kept from one
// version to the next.
//
// Thread safety: belongs to one thread at a time, like the reader whose searches bring it up to
// date.
// I1: masks are of rows, not of versions: a row of `ids` that any version since the last full
//     compilation shows is allowed. So a newer version costs a look at the ids of the rows that
//     were added since, and dead rows need nothing: the version's own lanes leave them out.
// I2: for a version older than the last one seen, whose segments may end before allowed rows, or
//     where a segment was replaced or dropped, the masks are compiled anew, at a cost that follows
//     the number of ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/aligned_buffer.hpp"
#include "search/allowed_rows.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"

namespace vicinal::search {

class IdFilter {
 public:
  // Copies the ids. FULL.
  [[nodiscard]] static Result<std::unique_ptr<IdFilter>> create(
      std::span<const std::uint64_t> ids) noexcept;
  [[nodiscard]] static Result<std::unique_ptr<IdFilter>> create(
      std::span<const std::string_view> strings) noexcept;
  IdFilter(const IdFilter&) = delete;
  IdFilter& operator=(const IdFilter&) = delete;

  // Different ids of the list.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  // Brings the masks up to the version; all versions are of one index. FULL: the next call tries
  // again.
  Status update(const segment::Version& version) noexcept;

  // Of the last version that update saw.
  [[nodiscard]] const AllowedRows& allowed() const noexcept { return allowed_; }

 private:
  // How far a segment's rows are compiled.
  struct Covered {
    std::uint64_t birth;
    std::uint32_t rows;
    std::uint32_t present;
  };

  IdFilter() = default;

  [[nodiscard]] std::span<const std::uint64_t> ids() const noexcept {
    return {ids_.as<std::uint64_t>(), count_};
  }
  [[nodiscard]] std::span<const segment::StringKey> keys() const noexcept {
    return {keys_.as<segment::StringKey>(), count_};
  }
  // Whether the row that carries `id` in this version is one of the list.
  [[nodiscard]] bool lists(const segment::Version& version, std::uint64_t id) const noexcept;
  // Rows that the version shows beyond what is compiled; `replaced` where I2 applies.
  [[nodiscard]] std::uint64_t count_new_rows(const segment::Version& version,
                                             bool* replaced) const noexcept;
  Status compile(const segment::Version& version) noexcept;
  Status extend(const segment::Version& version, std::uint64_t new_rows) noexcept;
  // Remembers that all rows of the version are compiled. FULL.
  Status cover(const segment::Version& version) noexcept;

  bool strings_ = false;
  AlignedBuffer ids_;      // sorted, each once
  AlignedBuffer keys_;     // StringKey, sorted by hash and text, each once
  AlignedBuffer text_;     // of the keys
  std::size_t count_ = 0;
  AlignedBuffer masks_;
  AlignedBuffer touched_;
  AllowedRows allowed_{masks_, touched_};
  AlignedBuffer covered_;  // Covered, by segment number
  std::uint32_t covered_end_ = 0;
  bool compiled_ = false;
  std::uint64_t sequence_ = 0;  // the version compiled last
};

}  // namespace vicinal::search
