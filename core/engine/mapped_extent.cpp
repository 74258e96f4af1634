#include "engine/mapped_extent.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "segment/segment.hpp"

namespace vicinal::engine {
namespace {

using simd::kBlockRows;

constexpr std::size_t kPage = platform::kMapBytes;
static_assert(kPage == storage::kFilePageBytes);

// So many pages more than what has to stay are worth calls to the system.
constexpr std::uint32_t kForgetPages = 16;

}  // namespace

MappedExtent::MappedExtent(const quant::CodeLayout& layout,
                           const storage::Extent& extent) noexcept
    : layout_(layout), at_(layout, extent.capacity), position_(extent.slab) {
  leave = end;
  forget_from_ = kForgetPages;
  bytes_ = static_cast<std::size_t>(extent.slab_bytes + round_up(extent.sums_bytes(), kPage));
}

Result<MappedExtent*> MappedExtent::map(platform::File& file, const quant::CodeLayout& layout,
                                        const storage::Extent& extent) noexcept {
  VICINAL_ASSERT(extent.slab_bytes == segment::SlabLayout(layout, extent.capacity).bytes);
  auto* mapped = new (std::nothrow) MappedExtent(layout, extent);
  if (mapped == nullptr) return Status(Code::full, sizeof(MappedExtent));
  const std::size_t words = divide_up(mapped->at_.bytes / kPage, std::size_t{64});
  mapped->dirty_.reset(new (std::nothrow) std::uint64_t[words]());
  Status made = mapped->dirty_ == nullptr ? Status(Code::full, words * 8) : Status();
  if (made.ok()) {
    auto memory = file.map(extent.slab, mapped->bytes_, platform::Mapping::private_write);
    if (memory.ok()) mapped->slab_ = static_cast<std::uint8_t*>(*memory);
    made = memory.status();
  }
  if (made.ok()) return mapped;
  end(mapped);
  return made;
}

void MappedExtent::end(segment::MemoryOwner* owner) noexcept {
  auto* mapped = static_cast<MappedExtent*>(owner);
  platform::unmap_file(mapped->slab_, mapped->bytes_);
  delete mapped;
}

template <class Visit>
void MappedExtent::each_array(std::uint32_t first, std::uint32_t end,
                              Visit visit) const noexcept {
  const struct {
    std::size_t at, row_bytes;
  } arrays[] = {{at_.rests, layout_.rest_bytes},
                {at_.scales, sizeof(float)},
                {at_.plane_scales, sizeof(float)},
                {at_.plane_cosines2, sizeof(float)},
                {at_.ids, sizeof(std::uint64_t)}};
  for (const auto& array : arrays) {
    if (array.row_bytes == 0 || first == end) continue;
    visit(array.at + first * array.row_bytes, (end - first) * array.row_bytes);
  }
}

void MappedExtent::mark(std::size_t page) noexcept {
  if (is_dirty(page)) return;
  dirty_[page / 64] |= std::uint64_t{1} << page % 64;
  ++dirty_count_;
}

Status MappedExtent::bring(platform::File& file, std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t end = offset + bytes;
  for (std::size_t page = offset / kPage; page * kPage < end; ++page) {
    if (!is_dirty(page)) continue;
    const std::size_t from = std::max(offset, page * kPage);
    const std::size_t to = std::min(end, (page + 1) * kPage);
    const Status read =
        file.read_at(position_ + from, {reinterpret_cast<std::byte*>(slab_ + from), to - from});
    if (!read.ok()) return read;
  }
  return {};
}

Status MappedExtent::bring_blocks(platform::File& file, std::uint32_t before,
                                  std::uint32_t after) noexcept {
  const std::uint32_t from = before / kBlockRows;
  const std::uint32_t to = after / kBlockRows;
  if (from == to || dirty_count_ == 0) return {};
  // Nobody reads the slab's plane of a block that is not whole.
  Status done = bring(file, segment::SlabLayout::plane_of(layout_, from),
                      (to - from) * layout_.plane_block_bytes);
  each_array(before, to * kBlockRows, [&](std::size_t offset, std::size_t bytes) {
    if (done.ok()) done = bring(file, offset, bytes);
  });
  return done;
}

void MappedExtent::rows_were_stored(std::uint32_t first, std::uint32_t end) noexcept {
  each_array(first, end, [&](std::size_t offset, std::size_t bytes) {
    for (std::size_t page = offset / kPage; page * kPage < offset + bytes; ++page) mark(page);
  });
  if (dirty_count_ > forget_from_) forget_but(end / kBlockRows * kBlockRows, end);
}

// I1: the pages under the rows [first, end) stay.
void MappedExtent::forget_but(std::uint32_t first, std::uint32_t end) noexcept {
  struct Pages {
    std::size_t first, last;
  };
  Pages kept[5];
  std::size_t count = 0;
  each_array(first, end, [&](std::size_t offset, std::size_t bytes) {
    kept[count++] = {offset / kPage, (offset + bytes - 1) / kPage};
  });
  const auto keeps = [&](std::size_t page) {
    return std::any_of(kept, kept + count, [page](const Pages& pages) {
      return pages.first <= page && page <= pages.last;
    });
  };
  for (std::size_t word = 0; word * 64 * kPage < at_.bytes; ++word) {
    for (std::uint64_t left = dirty_[word]; left != 0; left &= left - 1) {
      const std::size_t page = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
      if (keeps(page) || !platform::forget_stores(slab_ + page * kPage, kPage)) continue;
      dirty_[word] &= ~(std::uint64_t{1} << page % 64);
      --dirty_count_;
    }
  }
  forget_from_ = dirty_count_ + kForgetPages;
}

}  // namespace vicinal::engine
