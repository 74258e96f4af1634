#include "engine/image.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "quant/calibration.hpp"
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
  std::uint64_t origin, ids, factors, packed_rows, bytes;

  // `origin_bytes`: 0 without a calibration.
  Layout(std::uint64_t origin_bytes, std::uint64_t rows, std::uint64_t row_bytes) noexcept {
    origin = sizeof(Head);
    ids = round_up(origin + origin_bytes, sizeof(std::uint64_t));
    factors = ids + rows * sizeof(std::uint64_t);
    packed_rows = factors + rows * sizeof(quant::RowFactors);
    bytes = packed_rows + rows * row_bytes;
  }
};

// No vector is longer than sqrt(16384) * 1e16, nor farther than twice that from an origin, and no
// row's factors are larger than its length.
struct FactorLimits {
  float largest = 2.0e18f;
  bool zero_rows = false;  // kZeroRowFactors may occur

  FactorLimits(bool calibrated, Metric metric) noexcept
      : largest(calibrated ? 4.0e18f : 2.0e18f),
        zero_rows(calibrated && metric == Metric::cosine) {}
};

// Whether the factors can be those of a valid row: what is larger was not encoded, and would end in
// infinite scores.
bool factors_are_sane(const quant::RowFactors& factors, std::uint32_t coded_dim,
                      const FactorLimits& limits) noexcept {
  if (quant::is_zero_row(factors.plane_cosine2)) {
    constexpr quant::RowFactors kZero = quant::kZeroRowFactors;
    return limits.zero_rows && factors.scale == kZero.scale &&
           factors.plane_scale == kZero.plane_scale &&
           factors.plane_cosine2 == kZero.plane_cosine2;
  }
  const double largest = double{limits.largest};
  const double length2 = double{factors.plane_scale} * double{factors.plane_scale} *
                         double{factors.plane_cosine2} * coded_dim;
  if (!(length2 <= largest * largest)) return false;
  // Comparisons are written so that NaN fails them.
  return factors.scale >= 0 && factors.scale <= largest && factors.plane_scale >= 0 &&
         factors.plane_scale <= largest && factors.plane_cosine2 >= 0 &&
         factors.plane_cosine2 <= 1;
}

// The origin at `at` of the payload, given to the index that is being loaded. CORRUPT unless it is
// one.
Status load_origin(Core& core, std::span<const std::byte> payload, const Layout& at) noexcept {
  const quant::Quantiser& quantiser = core.quantiser();
  const std::uint32_t dim = quantiser.layout().dim;
  // An ip index has none: told before a message for it is refused.
  if (quantiser.metric() == Metric::ip) return Status(Code::corrupt);
  auto origin = AlignedBuffer::create(dim * sizeof(float));
  if (!origin.ok()) return origin.status();
  const std::size_t bytes = dim * sizeof(float);
  std::memcpy(origin->data(), payload.data() + at.origin, bytes);
  if (!quant::is_origin(origin->as<float>(), dim, quantiser.metric())) return Status(Code::corrupt);
  for (std::uint64_t i = at.origin + bytes; i < at.ids; ++i) {
    if (payload[static_cast<std::size_t>(i)] != std::byte{0}) return Status(Code::corrupt);
  }
  auto message = core.make_message(MessageKind::calibrate, quant::kSampleRowsMin);
  if (!message.ok()) return message.status();
  (*message)->take_origin(origin->as<float>());
  return core.write_and_wait(**message);
}

Status load_rows(Core& core, std::span<const std::byte> payload, const Layout& at,
                 std::uint64_t rows) noexcept {
  const quant::CodeLayout& layout = core.quantiser().layout();
  auto message = core.make_message(MessageKind::add, rows);
  if (!message.ok()) return message.status();
  const FactorLimits limits((*message)->calibration() != 0, core.options().metric);
  std::memcpy((*message)->ids(), payload.data() + at.ids,
              static_cast<std::size_t>(rows) * sizeof(std::uint64_t));
  for (std::uint64_t row = 0; row < rows; ++row) {
    quant::RowFactors factors;
    std::memcpy(&factors, payload.data() + at.factors + row * sizeof factors, sizeof factors);
    if (!factors_are_sane(factors, layout.coded_dim, limits)) return Status(Code::corrupt);
    const auto* packed = reinterpret_cast<const std::uint8_t*>(payload.data() + at.packed_rows) +
                         row * layout.packed_row_bytes;
    (*message)->take_packed(row, packed, &factors, 1);
  }
  const Status added = core.write_and_wait(**message);
  return added.code() == Code::duplicate_id ? Status(Code::corrupt) : added;
}

}  // namespace

Result<AlignedBuffer> Image::save(ReaderCore& reader) noexcept {
  const ReaderCore::Entry entry(reader);
  if (!entry.status().ok()) return entry.status();
  const segment::Version& version = entry.version();
  const quant::CodeLayout& layout = reader.core().quantiser().layout();
  const IndexOptions& options = reader.core().options();
  const float* origin = version.origin();
  const std::uint64_t origin_bytes = origin == nullptr ? 0 : layout.dim * sizeof(float);
  const Layout at(origin_bytes, version.live_rows, layout.packed_row_bytes);
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
  if (origin != nullptr) {
    std::memset(payload + at.origin, 0, static_cast<std::size_t>(at.ids - at.origin));
    std::memcpy(payload + at.origin, origin, static_cast<std::size_t>(origin_bytes));
  }
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
  storage::seal_image({image->data(), image->size()},
                      origin == nullptr ? storage::kImageVersionPlain : storage::kImageVersion);
  return image;
}

Result<std::shared_ptr<Core>> Image::load(std::span<const std::byte> bytes,
                                          std::uint64_t memory_bytes_max) noexcept {
  auto image = storage::open_image(bytes);
  if (!image.ok()) return image.status();
  const std::span<const std::byte> payload = image->bytes;
  Head head;
  if (payload.size() < sizeof head) return Status(Code::corrupt);
  std::memcpy(&head, payload.data(), sizeof head);
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

  const std::uint64_t row_bytes = (*core)->quantiser().layout().packed_row_bytes;
  const bool calibrated = image->version > storage::kImageVersionPlain;
  const std::uint64_t origin_bytes = calibrated ? options.dim * sizeof(float) : 0;
  // Before any size is computed from it, the count is bounded by what the payload can hold.
  if (head.rows > payload.size() / (row_bytes + 8 + sizeof(quant::RowFactors))) {
    return Status(Code::corrupt);
  }
  const Layout at(origin_bytes, head.rows, row_bytes);
  if (at.bytes != payload.size()) return Status(Code::corrupt);
  Status loaded;
  if (calibrated) loaded = load_origin(**core, payload, at);
  if (loaded.ok() && head.rows > 0) loaded = load_rows(**core, payload, at, head.rows);
  if (!loaded.ok()) return loaded;
  return core;
}

}  // namespace vicinal::engine
