#include "engine/image.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "storage/image.hpp"

namespace vicinal::engine {
namespace {

struct Head {
  std::uint32_t dim;
  std::uint8_t metric;
  std::uint8_t bits;
  std::uint8_t originals;
  std::uint8_t reserved8;
  std::uint64_t seed;
  std::uint64_t rows;
  std::uint64_t reserved[2];
};
static_assert(sizeof(Head) == 40);

// Where the arrays of a payload lie; `bytes` is its exact length.
struct Layout {
  std::uint64_t ids, factors, packed_rows, bytes;

  Layout(std::uint64_t rows, std::uint64_t row_bytes) noexcept {
    ids = sizeof(Head);
    factors = ids + rows * sizeof(std::uint64_t);
    packed_rows = factors + rows * sizeof(quant::RowFactors);
    bytes = packed_rows + rows * row_bytes;
  }
};

// Whether the factors can be those of a valid row: what is larger was not encoded, and would end in
// infinite scores.
bool factors_are_sane(const quant::RowFactors& factors, std::uint32_t coded_dim) noexcept {
  // No vector is longer than sqrt(16384) * 1e16, and no row's factors are larger than its length.
  constexpr float kLargest = 2.0e18f;
  const double length2 = double{factors.plane_scale} * double{factors.plane_scale} *
                         double{factors.plane_cosine2} * coded_dim;
  if (!(length2 <= double{kLargest} * kLargest)) return false;
  // Comparisons are written so that NaN fails them.
  return factors.scale >= 0 && factors.scale <= kLargest && factors.plane_scale >= 0 &&
         factors.plane_scale <= kLargest && factors.plane_cosine2 >= 0 &&
         factors.plane_cosine2 <= 1;
}

}  // namespace

Result<AlignedBuffer> Image::save(ReaderCore& reader) noexcept {
  const ReaderCore::Entry entry(reader);
  if (!entry.status().ok()) return entry.status();
  const segment::Version& version = entry.version();
  const quant::CodeLayout& layout = reader.core().quantiser().layout();
  const IndexOptions& options = reader.core().options();
  const Layout at(version.live_rows, layout.packed_row_bytes);
  auto image = AlignedBuffer::create(
      static_cast<std::size_t>(storage::kImageHeaderBytes + at.bytes));
  if (!image.ok()) return image.status();
  std::byte* payload = image->data() + storage::kImageHeaderBytes;
  Head head{};
  head.dim = options.dim;
  head.metric = static_cast<std::uint8_t>(options.metric);
  head.bits = options.bits;
  head.originals = static_cast<std::uint8_t>(options.originals);
  head.seed = options.seed;
  head.rows = version.live_rows;
  std::memcpy(payload, &head, sizeof head);
  std::uint64_t next = 0;
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const segment::SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    for (std::uint32_t row = 0; row < view->rows; ++row) {
      if (!view->is_live(row)) continue;
      const quant::RowFactors factors = view->segment->factors(row);
      std::memcpy(payload + at.ids + next * 8, view->segment->ids() + row, 8);
      std::memcpy(payload + at.factors + next * sizeof factors, &factors, sizeof factors);
      view->copy_packed_row(layout, row,
                            reinterpret_cast<std::uint8_t*>(payload + at.packed_rows) +
                                next * layout.packed_row_bytes);
      ++next;
    }
  }
  VICINAL_ASSERT(next == version.live_rows);
  storage::seal_image({image->data(), image->size()});
  return image;
}

Result<std::shared_ptr<Core>> Image::load(std::span<const std::byte> bytes,
                                          std::uint64_t memory_bytes_max) noexcept {
  auto payload = storage::open_image(bytes);
  if (!payload.ok()) return payload.status();
  Head head;
  if (payload->size() < sizeof head) return Status(Code::corrupt);
  std::memcpy(&head, payload->data(), sizeof head);
  if (head.reserved8 != 0 || head.reserved[0] != 0 || head.reserved[1] != 0) {
    return Status(Code::corrupt);
  }
  IndexOptions options;
  options.dim = head.dim;
  options.metric = static_cast<Metric>(head.metric);
  options.bits = head.bits;
  options.originals = static_cast<Originals>(head.originals);
  options.seed = head.seed;
  options.memory_bytes_max = memory_bytes_max;
  auto core = Core::create(options);
  if (!core.ok()) return core.code() == Code::bad_option ? Status(Code::corrupt) : core.status();

  const quant::Quantiser& quantiser = (*core)->quantiser();
  const std::uint64_t row_bytes = quantiser.layout().packed_row_bytes;
  // Before any size is computed from it, the count is bounded by what the payload can hold.
  if (head.rows > payload->size() / (row_bytes + 8 + sizeof(quant::RowFactors))) {
    return Status(Code::corrupt);
  }
  const Layout at(head.rows, row_bytes);
  if (at.bytes != payload->size()) return Status(Code::corrupt);
  if (head.rows == 0) return core;
  auto message = Message::create(quantiser, MessageKind::add, head.rows);
  if (!message.ok()) return message.status();
  std::memcpy((*message)->ids(), payload->data() + at.ids,
              static_cast<std::size_t>(head.rows) * sizeof(std::uint64_t));
  for (std::uint64_t row = 0; row < head.rows; ++row) {
    quant::RowFactors factors;
    std::memcpy(&factors, payload->data() + at.factors + row * sizeof factors, sizeof factors);
    if (!factors_are_sane(factors, quantiser.layout().coded_dim)) return Status(Code::corrupt);
    const auto* packed =
        reinterpret_cast<const std::uint8_t*>(payload->data() + at.packed_rows) + row * row_bytes;
    (*message)->take_packed(row, packed, &factors, 1);
  }
  const Status added = (*core)->write_and_wait(**message);
  if (!added.ok()) return added.code() == Code::duplicate_id ? Status(Code::corrupt) : added;
  return core;
}

}  // namespace vicinal::engine
