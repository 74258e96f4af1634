#include "engine/verifier.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/checksum.hpp"
#include "engine/log_reader.hpp"
#include "engine/opener.hpp"
#include "segment/slab.hpp"

namespace vicinal::engine {
namespace {

using platform::File;
using storage::RecordHeader;

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

class Verifier final : private LogReader::Witness {
 public:
  explicit Verifier(File& file) noexcept : file_(file), reader_(file) {}

  // The log's frame, records and blocks.
  [[nodiscard]] Result<FileReport> examine() noexcept {
    auto piece = AlignedBuffer::create(kPieceBytes);
    if (!piece.ok()) return piece.status();
    piece_ = std::move(piece).value();
    Status looked = reader_.read_superblock();
    if (looked.ok()) looked = look_at_frame();
    if (looked.ok()) looked = reader_.examine(*this);
    if (!looked.ok()) return looked;
    for (std::uint32_t slot = 0; slot < storage::kMetaSlots; ++slot) {
      if (!reader_.has_meta(slot)) ++report_.invalid_meta_slots;
    }
    report_.bytes = reader_.file_bytes();
    report_.torn_bytes = report_.bytes - std::min(report_.bytes, reader_.shown_end());
    return report_;
  }

 private:
  Status look_at_frame() noexcept {
    Status looked;
    for (std::uint32_t slot = 0; looked.ok() && slot < storage::kMetaSlots; ++slot) {
      const std::uint64_t page = storage::meta_position(slot);
      looked = expect_zeros(page + storage::kMetaBytes, page + storage::kFilePageBytes);
    }
    const std::uint64_t live = storage::kLivePagePosition;
    if (!looked.ok()) return looked;
    return expect_zeros(live + storage::kLiveBytes, live + storage::kFilePageBytes);
  }

  Status saw(const RecordHeader& header, std::span<const std::byte> body) noexcept override {
    ++report_.records;
    const std::uint64_t behind = header.position + storage::kRecordHeaderBytes + header.body_bytes;
    switch (header.kind) {
      case storage::RecordKind::extent: return look_at_extent(header, body, behind);
      case storage::RecordKind::ids: return look_at_ids(header, body, behind);
      default: return expect_zeros(behind, header.end());
    }
  }

  Status look_at_extent(const RecordHeader& header, std::span<const std::byte> body,
                        std::uint64_t behind) noexcept {
    const auto extent = storage::read_extent(header, body);
    if (!extent.ok()) return extent.status();
    const quant::CodeLayout& layout = reader_.layout();
    const segment::SlabLayout at(layout, extent->capacity);
    const std::uint64_t factors = extent->capacity * sizeof(float);
    const std::uint64_t slab = extent->slab;
    // What is between the arrays, from the end of one to the beginning of the next.
    const std::uint64_t gaps[][2] = {
        {behind, slab},
        {slab + extent->blocks() * layout.plane_block_bytes, slab + at.rests},
        {slab + at.rests + extent->capacity * layout.rest_bytes, slab + at.scales},
        {slab + at.scales + factors, slab + at.plane_scales},
        {slab + at.plane_scales + factors, slab + at.plane_cosines2},
        {slab + at.plane_cosines2 + factors, slab + at.ids},
        {slab + at.ids + extent->capacity * sizeof(std::uint64_t), extent->sums},
        {extent->sums_position(extent->blocks()), extent->end()},
    };
    for (const auto& gap : gaps) {
      const Status looked = expect_zeros(gap[0], gap[1]);
      if (!looked.ok()) return looked;
    }
    return {};
  }

  Status look_at_ids(const RecordHeader& header, std::span<const std::byte> body,
                     std::uint64_t behind) noexcept {
    const auto view = storage::IdsView::parse(header, body);
    if (!view.ok()) return view.status();
    std::uint64_t at = behind;
    for (std::uint32_t i = 0; i < view->tables().size(); ++i) {
      const storage::IdsTable table = view->tables()[i];
      if (table.capacity == 0) continue;
      Status looked = expect_zeros(at, header.position + table.offset);
      if (looked.ok()) looked = compare_table(header.position + table.offset, table);
      if (!looked.ok()) return looked;
      at = header.position + table.offset + table.capacity * sizeof(std::uint32_t);
    }
    return expect_zeros(at, header.end());
  }

  Status compare_table(std::uint64_t position, const storage::IdsTable& table) noexcept {
    auto sum = ChecksumStream::create();
    if (!sum.ok()) return sum.status();
    const std::uint64_t end = position + std::uint64_t{table.capacity} * sizeof(std::uint32_t);
    for (std::uint64_t at = position; at < end;) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end - at));
      const Status read = file_.read_at(at, {piece_.data(), bytes});
      if (!read.ok()) return read;
      sum->update(piece_.data(), bytes);
      at += bytes;
    }
    if (sum->sum() != table.sum) report_.ids_damaged = true;
    return {};
  }

  Status expect_zeros(std::uint64_t from, std::uint64_t to) noexcept {
    while (from < to) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, to - from));
      const Status read = file_.read_at(from, {piece_.data(), bytes});
      if (!read.ok()) return read;
      const std::span<const std::byte> piece(piece_.data(), bytes);
      const auto stray = std::find_if(piece.begin(), piece.end(),
                                      [](std::byte byte) { return byte != std::byte{0}; });
      const bool first = report_.stray_byte == 0;
      if (stray != piece.end() && first) {
        report_.stray_byte = from + static_cast<std::uint64_t>(stray - piece.begin());
      }
      from += bytes;
    }
    return {};
  }

  File& file_;
  LogReader reader_;
  AlignedBuffer piece_;
  FileReport report_;
};

}  // namespace

Result<FileReport> verify_file(platform::FileSystem& files, const char* path,
                               std::uint64_t memory_bytes_max) noexcept {
  const auto file = files.open(path, platform::Access::read);
  if (!file.ok()) return file.status();
  auto same_file = files.open(path, platform::Access::read);
  if (!same_file.ok()) return same_file.status();
  // What the rows are: their factors, that no id is there twice, the counts.
  Opener::Options options;
  options.detached = true;
  options.ids = false;
  options.memory_bytes_max = memory_bytes_max;
  const auto core = Opener::load(std::move(same_file).value(), options);
  if (!core.ok()) return core.status();
  FileReport report;
  const auto log = is_log_file(**file);
  if (!log.ok()) return log.status();
  if (*log) {
    auto examined = Verifier(**file).examine();
    if (!examined.ok()) return examined.status();
    report = *examined;
  } else {
    const auto bytes = (*file)->size();
    if (!bytes.ok()) return bytes.status();
    report.bytes = *bytes;
    report.records = 1;
  }
  report.rows = static_cast<const segment::Version&>(*(*core)->root().newest()).live_rows;
  return report;
}

}  // namespace vicinal::engine
