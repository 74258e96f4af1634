// A version built by hand: rows placed in segments as a test says, with no writer involved.
//
// Thread safety: immutable once made.
// I1: what lies behind a view's rows (factors, magnitudes, signs of a partial block) is garbage on
//     purpose, as it may be under a writer: nothing may depend on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quant/quantiser.hpp"
#include "segment/version.hpp"

namespace vicinal::test {

// A row as a writer would hand it over.
struct EncodedRow {
  std::uint64_t id = 0;
  bool live = true;
  quant::RowFactors factors;
  std::vector<std::uint8_t> packed;
};

[[nodiscard]] EncodedRow encode_row(const quant::Quantiser& quantiser, std::uint64_t id,
                                    std::span<const float> vector);

// Which rows (by index) lie in which segment.
struct PlacedSegment {
  std::uint32_t number = 0;
  std::vector<std::uint32_t> rows;
};

class VersionFixture {
 public:
  VersionFixture(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
                 std::span<const PlacedSegment> segments);
  // All rows in order, `rows_per_segment` each.
  VersionFixture(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
                 std::uint32_t rows_per_segment = segment::kSegmentRowsMax);
  VersionFixture(const VersionFixture&) = delete;
  VersionFixture& operator=(const VersionFixture&) = delete;
  ~VersionFixture();

  [[nodiscard]] const segment::Version& version() const { return version_; }

 private:
  void build(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
             std::span<const PlacedSegment> segments);
  void place(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
             const PlacedSegment& placed);
  void store(segment::SegmentView& view, const quant::CodeLayout& layout, std::uint32_t at,
             const EncodedRow& row);
  void kill(segment::SegmentView& view, std::uint32_t at);
  void spoil(segment::SegmentView& view, const quant::CodeLayout& layout);
  template <class T>
  T* own(T* object);

  segment::Version version_;
  segment::DirectoryRoot* directory_ = nullptr;
  segment::IdRoot* ids_ = nullptr;
  std::vector<sync::Versioned*> objects_;
};

}  // namespace vicinal::test
