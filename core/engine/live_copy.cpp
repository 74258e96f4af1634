#include "engine/live_copy.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "quant/calibration.hpp"

namespace vicinal::engine {
namespace {

using segment::SegmentView;
using simd::kBlockRows;

// Puts rows into messages, and these into the copy.
class RowCopier {
 public:
  RowCopier(const Core& from, Core& to, std::uint64_t rows, AlignedBuffer row) noexcept
      : layout_(from.quantiser().layout()), to_(to), left_(rows), row_(std::move(row)),
        part_rows_(std::max<std::uint64_t>(1, kPartBytes / layout_.packed_row_bytes)) {}

  Status copy(const SegmentView& view) noexcept {
    for (std::uint32_t block = 0; block < view.blocks(); ++block) {
      const std::uint32_t lanes = view.lanes(block);
      if (lanes == 0) continue;
      if (!view.block_is_sound(block)) {
        return Status(Code::corrupt, view.segment->checks()->damage().where());
      }
      for (std::uint32_t lane = 0; lane < kBlockRows; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        const Status put = put_row(view, block * kBlockRows + lane);
        if (!put.ok()) return put;
      }
    }
    return {};
  }

 private:
  Status put_row(const SegmentView& view, std::uint32_t row) noexcept {
    if (filled_ == 0) {
      auto message = to_.make_message(MessageKind::add, std::min(left_, part_rows_));
      if (!message.ok()) return message.status();
      message_ = std::move(message).value();
    }
    auto* packed = row_.as<std::uint8_t>();
    view.copy_packed_row(layout_, row, packed);
    const quant::RowFactors factors = view.segment->factors(row);
    message_->ids()[filled_] = view.segment->ids()[row];
    message_->take_packed(filled_, packed, &factors, 1);
    if (++filled_ < message_->count()) return {};
    left_ -= std::exchange(filled_, 0);
    return to_.write_and_wait(*message_);
  }

  quant::CodeLayout layout_;
  Core& to_;
  std::uint64_t left_;
  AlignedBuffer row_;
  std::uint64_t part_rows_;
  Message::Owner message_;
  std::uint64_t filled_ = 0;
};

// The same of an index whose ids are strings (I1).
class NamedRowCopier {
 public:
  NamedRowCopier(const Core& from, const segment::Version& version, Core& to) noexcept
      : layout_(from.quantiser().layout()), version_(version), to_(to),
        part_rows_(std::clamp<std::uint64_t>(kPartBytes / layout_.packed_row_bytes, 1,
                                             std::max<std::uint64_t>(version.live_rows, 1))) {}

  Status copy() noexcept {
    Status done = reserve();
    for (std::uint32_t number = 0; done.ok() && number < version_.segment_end; ++number) {
      const SegmentView* view = version_.view(number);
      if (view != nullptr) done = list(*view);
    }
    if (!done.ok()) return done;
    VICINAL_ASSERT(listed_ == version_.live_rows);
    Row* const rows = rows_.as<Row>();
    std::sort(rows, rows + listed_, [](const Row& a, const Row& b) { return a.id < b.id; });
    for (std::uint64_t first = 0; done.ok() && first < listed_;) done = copy_part(first);
    return done;
  }

 private:
  struct Row {
    std::uint64_t id;
    segment::Slot slot;
  };

  Status reserve() noexcept {
    auto rows = AlignedBuffer::create(
        std::max<std::size_t>(1, static_cast<std::size_t>(version_.live_rows)) * sizeof(Row));
    auto texts = AlignedBuffer::create(static_cast<std::size_t>(part_rows_) *
                                       sizeof(std::string_view));
    auto row = AlignedBuffer::create(layout_.packed_row_bytes);
    for (const Status& made : {rows.status(), texts.status(), row.status()}) {
      if (!made.ok()) return made;
    }
    rows_ = std::move(rows).value();
    texts_ = std::move(texts).value();
    row_ = std::move(row).value();
    return {};
  }

  Status list(const SegmentView& view) noexcept {
    for (std::uint32_t block = 0; block < view.blocks(); ++block) {
      std::uint32_t lanes = view.lanes(block);
      if (lanes == 0) continue;
      if (!view.block_is_sound(block)) {
        return Status(Code::corrupt, view.segment->checks()->damage().where());
      }
      for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
        const std::uint32_t row = block * kBlockRows + lane;
        rows_.as<Row>()[listed_++] = {view.segment->ids()[row],
                                      segment::Slot::of(view.segment->number(), row)};
      }
    }
    return {};
  }

  // Rows from `first` on, which is behind them then.
  Status copy_part(std::uint64_t& first) noexcept {
    const Row* const rows = rows_.as<Row>() + first;
    auto* const texts = texts_.as<std::string_view>();
    std::uint64_t count = 0;
    std::uint64_t text_bytes = 0;
    for (; count < std::min(part_rows_, listed_ - first) && text_bytes < kPartBytes; ++count) {
      const segment::Strings::Place place = version_.strings.find(segment::Handle{rows[count].id});
      if (place.chunk == nullptr) return Status(Code::corrupt);  // strings.hpp I5
      new (texts + count) std::string_view(place.chunk->text(place.entry));
      text_bytes += texts[count].size();
    }
    auto message = to_.make_message(MessageKind::add, count, text_bytes);
    if (!message.ok()) return message.status();
    (*message)->take_strings({texts, static_cast<std::size_t>(count)});
    auto* packed = row_.as<std::uint8_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
      const SegmentView& view = *version_.view(rows[i].slot.segment());
      view.copy_packed_row(layout_, rows[i].slot.row(), packed);
      const quant::RowFactors factors = view.segment->factors(rows[i].slot.row());
      (*message)->take_packed(i, packed, &factors, 1);
    }
    first += count;
    const Status written = to_.write_and_wait(**message);
    // Two live rows of one string: a file has said so.
    return written.code() == Code::duplicate_id ? Status(Code::corrupt) : written;
  }

  quant::CodeLayout layout_;
  const segment::Version& version_;
  Core& to_;
  std::uint64_t part_rows_;
  AlignedBuffer rows_;   // Row
  AlignedBuffer texts_;  // of a part
  AlignedBuffer row_;
  std::uint64_t listed_ = 0;
};

Status copy_origin(const segment::Calibration& calibration, Core& to) noexcept {
  auto message = to.make_message(MessageKind::calibrate, quant::kSampleRowsMin);
  if (!message.ok()) return message.status();
  (*message)->take_origin(calibration.origin());
  return to.write_and_wait(**message);
}

}  // namespace

Result<std::shared_ptr<Core>> copy_live_rows(const Core& core,
                                             const segment::Version& version) noexcept {
  IndexOptions options = core.options();
  options.memory_bytes_max = 0;
  auto made = Core::create(options);
  if (!made.ok()) return made;
  Core& copy = **made;
  if (version.calibration != nullptr) {
    const Status calibrated = copy_origin(*version.calibration, copy);
    if (!calibrated.ok()) return calibrated;
  }
  if (version.strings.any()) {
    const Status copied = NamedRowCopier(core, version, copy).copy();
    if (!copied.ok()) return copied;
    return made;
  }
  auto row = AlignedBuffer::create(copy.quantiser().layout().packed_row_bytes);
  if (!row.ok()) return row.status();
  RowCopier rows(core, copy, version.live_rows, std::move(row).value());
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    const Status copied = view == nullptr ? Status() : rows.copy(*view);
    if (!copied.ok()) return copied;
  }
  return made;
}

}  // namespace vicinal::engine
