#include "engine/live_copy.hpp"

#include <algorithm>
#include <utility>

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
