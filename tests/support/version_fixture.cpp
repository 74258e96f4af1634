#include "support/version_fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/assert.hpp"
#include "sync/object_memory.hpp"

namespace vicinal::test {
namespace {

using segment::SegmentView;
using segment::Slot;

[[nodiscard]] std::uint32_t power_of_two_from(std::uint32_t value, std::uint32_t least) {
  std::uint32_t power = least;
  while (power < value) power *= 2;
  return power;
}

// One row's signs into its lane of a block's plane.
void put_signs(std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* signs,
               const quant::CodeLayout& layout) {
  const std::uint32_t shift = lane / simd::kGroupBytes * 4;
  quant::for_each_sign_nibble(
      signs, layout.groups, [&](std::uint32_t group, std::uint8_t nibble) {
        std::uint8_t& byte = plane[group * simd::kGroupBytes + lane % simd::kGroupBytes];
        byte = static_cast<std::uint8_t>((byte & ~(15u << shift)) | unsigned{nibble} << shift);
      });
}

}  // namespace

EncodedRow encode_row(const quant::Quantiser& quantiser, std::uint64_t id,
                      std::span<const float> vector) {
  VICINAL_ASSERT(vector.size() == quantiser.layout().dim);
  EncodedRow row;
  row.id = id;
  row.packed.resize(quantiser.layout().packed_row_bytes + simd::kOverread);
  auto scratch = AlignedBuffer::create(quantiser.encode_scratch_bytes());
  quantiser.encode(vector.data(), scratch->data(), row.packed.data(), &row.factors);
  return row;
}

VersionFixture::VersionFixture(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
                               std::span<const PlacedSegment> segments) {
  build(layout, rows, segments);
}

VersionFixture::VersionFixture(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
                               std::uint32_t rows_per_segment) {
  std::vector<PlacedSegment> segments;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (i % rows_per_segment == 0) segments.push_back({i / rows_per_segment, {}});
    segments.back().rows.push_back(i);
  }
  build(layout, rows, segments);
}

VersionFixture::~VersionFixture() {
  for (sync::Versioned* object : objects_) object->destroy(object);
}

template <class T>
T* VersionFixture::own(T* object) {
  VICINAL_ASSERT(object != nullptr);
  objects_.push_back(object);
  return object;
}

void VersionFixture::build(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
                           std::span<const PlacedSegment> segments) {
  std::uint32_t segment_end = 0;
  std::uint32_t row_count = 0;
  for (const PlacedSegment& placed : segments) {
    segment_end = std::max(segment_end, placed.number + 1);
    row_count += static_cast<std::uint32_t>(placed.rows.size());
  }
  const std::uint32_t leaves = (segment_end + segment::kLeafViews - 1) / segment::kLeafViews;
  directory_ = own(sync::make_object<segment::DirectoryRoot>(0, leaves * sizeof(void*)));
  directory_->leaf_capacity = leaves;
  for (std::uint32_t i = 0; i < leaves; ++i) {
    directory_->leaves()[i] = own(sync::make_object<segment::DirectoryLeaf>(0));
  }
  ids_ = own(sync::make_object<segment::IdRoot>(0));
  for (segment::SubTable*& table : ids_->tables) {
    // Room for every row in one sub-table: ids may be chosen to collide.
    const std::uint32_t wanted = std::min(row_count + 1, 64 + row_count / 8);
    table = own(segment::SubTable::create(
        power_of_two_from(wanted * 2, segment::kSubTableEntriesMin)));
  }
  version_.segment_end = segment_end;
  version_.directory = directory_;
  version_.ids = ids_;
  for (const PlacedSegment& placed : segments) place(layout, rows, placed);
}

void VersionFixture::place(const quant::CodeLayout& layout, std::span<const EncodedRow> rows,
                           const PlacedSegment& placed) {
  const auto count = static_cast<std::uint32_t>(placed.rows.size());
  VICINAL_ASSERT(count > 0 && count <= segment::kSegmentRowsMax);
  segment::DirectoryLeaf* leaf = directory_->leaves()[placed.number / segment::kLeafViews];
  SegmentView& view = leaf->views[placed.number % segment::kLeafViews];
  VICINAL_ASSERT(view.segment == nullptr);
  view.segment = own(segment::Segment::create(
      layout, placed.number, power_of_two_from(count, segment::kSegmentRowsMin)));
  view.rows = count;
  if (count % simd::kBlockRows != 0) {
    view.tail = own(sync::make_object<segment::TailPlane>(
        0, layout.plane_block_bytes + simd::kOverread));
  }
  spoil(view, layout);
  for (std::uint32_t i = 0; i < count; ++i) {
    const EncodedRow& row = rows[placed.rows[i]];
    store(view, layout, i, row);
    const std::uint64_t hash = segment::IdRoot::hash(row.id);
    ids_->tables[segment::IdRoot::table_of(hash)]->insert(hash, Slot::of(placed.number, i));
    if (row.live) {
      ++version_.live_rows;
    } else {
      kill(view, i);
    }
  }
}

void VersionFixture::store(SegmentView& view, const quant::CodeLayout& layout, std::uint32_t at,
                           const EncodedRow& row) {
  auto* segment = const_cast<segment::Segment*>(view.segment);
  segment->store_row(at, row.packed.data() + layout.sign_bytes, row.factors, row.id);
  const std::uint32_t block = at / simd::kBlockRows;
  const bool is_whole = (block + 1) * simd::kBlockRows <= view.rows;
  std::uint8_t* plane = is_whole ? segment->mutable_plane(block)
                                 : const_cast<segment::TailPlane*>(view.tail)->bytes_begin();
  put_signs(plane, at % simd::kBlockRows, row.packed.data(), layout);
}

void VersionFixture::kill(SegmentView& view, std::uint32_t at) {
  if (view.live == nullptr) view.live = own(sync::make_object<segment::LiveMap>(0));
  const std::uint32_t block = at / simd::kBlockRows;
  const segment::LivePage*& page =
      const_cast<segment::LiveMap*>(view.live)->pages[block / segment::kLivePageBlocks];
  if (page == nullptr) {
    auto* fresh = own(sync::make_object<segment::LivePage>(0));
    std::memset(fresh->words, 0xff, sizeof fresh->words);
    page = fresh;
  }
  const_cast<segment::LivePage*>(page)->words[block % segment::kLivePageBlocks] &=
      ~(std::uint32_t{1} << at % simd::kBlockRows);
  ++view.dead;
  ++version_.dead_rows;
}

void VersionFixture::spoil(SegmentView& view, const quant::CodeLayout& layout) {
  auto* segment = const_cast<segment::Segment*>(view.segment);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::uint8_t> garbage(layout.rest_bytes + 1, 0xa5);
  for (std::uint32_t row = view.rows; row < segment->capacity(); ++row) {
    segment->store_row(row, garbage.data(), {nan, nan, nan}, ~std::uint64_t{0});
  }
  if (view.tail == nullptr) return;
  std::memset(const_cast<segment::TailPlane*>(view.tail)->bytes_begin(), 0x5a,
              layout.plane_block_bytes);
  std::memset(segment->mutable_plane(view.rows / simd::kBlockRows), 0xc3,
              layout.plane_block_bytes);
}

}  // namespace vicinal::test
