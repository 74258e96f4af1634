// A segment's slab in a private mapping of its file, and which of its pages are not the file's any
// more.
//
// Thread safety: the holder of the writer's token; readers read the slab.
// I1: a page that this process has stored to shows no more what the file gets later. It is dirty
//     until its stores are forgotten, which they may be once all that versions show of the page is
//     in the file with the same bytes: everywhere but under the rows of the unfinished block.
// I2: so a process that follows a file keeps some pages of an open segment for itself, whatever
//     the segment's size and however many rows come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "platform/file_system.hpp"
#include "quant/layout.hpp"
#include "segment/slab.hpp"
#include "storage/extent_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class MappedExtent final : public segment::MemoryOwner {
 public:
  // Slab and sums. FULL, IO.
  [[nodiscard]] static Result<MappedExtent*> map(platform::File& file,
                                                 const quant::CodeLayout& layout,
                                                 const storage::Extent& extent) noexcept;
  // Of a segment's owner; also before there is a segment.
  static void end(segment::MemoryOwner* owner) noexcept;
  // Of a segment over one.
  [[nodiscard]] static MappedExtent& of(segment::MemoryOwner& owner) noexcept {
    return static_cast<MappedExtent&>(owner);
  }

  [[nodiscard]] std::uint8_t* slab() const noexcept { return slab_; }
  [[nodiscard]] const storage::BlockSums* sums() const noexcept {
    return reinterpret_cast<const storage::BlockSums*>(slab_ + at_.bytes);
  }

  // The blocks that become whole where there were `before` rows and will be `after`: what of their
  // new rows lies in dirty pages is read from the file. IO.
  Status bring_blocks(platform::File& file, std::uint32_t before, std::uint32_t after) noexcept;
  // Rows [first, end) were stored to. Forgets what it may where the last of them are those of the
  // unfinished block, and there is much.
  void rows_were_stored(std::uint32_t first, std::uint32_t end) noexcept;
  [[nodiscard]] std::uint32_t dirty_pages() const noexcept { return dirty_count_; }

 private:
  MappedExtent(const quant::CodeLayout& layout, const storage::Extent& extent) noexcept;
  ~MappedExtent() = default;

  // visit(offset in the slab, bytes) for what [first, end) have in each array of rows.
  template <class Visit>
  void each_array(std::uint32_t first, std::uint32_t end, Visit visit) const noexcept;
  [[nodiscard]] bool is_dirty(std::size_t page) const noexcept {
    return (dirty_[page / 64] >> page % 64 & 1) != 0;
  }
  void mark(std::size_t page) noexcept;
  Status bring(platform::File& file, std::size_t offset, std::size_t bytes) noexcept;
  void forget_but(std::uint32_t first, std::uint32_t end) noexcept;

  quant::CodeLayout layout_;
  segment::SlabLayout at_;
  std::uint64_t position_ = 0;  // of the slab in the file
  std::uint8_t* slab_ = nullptr;
  std::size_t bytes_ = 0;  // mapped
  std::unique_ptr<std::uint64_t[]> dirty_;
  std::uint32_t dirty_count_ = 0;
  std::uint32_t forget_from_ = 0;  // with more dirty pages than that
};

}  // namespace vicinal::engine
