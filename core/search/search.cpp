#include "search/search.hpp"

#include <new>
#include <utility>

#include "base/bits.hpp"
#include "search/buffers.hpp"
#include "search/scan.hpp"

namespace vicinal::search {
namespace {

[[nodiscard]] bool is_nan(float value) noexcept {
  return value != value;
}

[[nodiscard]] Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

[[nodiscard]] Status check(const quant::CodeLayout& layout, std::span<const float> query,
                           const SearchOptions& options) noexcept {
  if (query.size() != layout.dim) return Status(Code::dimension, query.size(), layout.dim);
  if (is_nan(options.certainty) || options.certainty < 0) return bad_option(OptionName::certainty);
  if (is_nan(options.min_score)) return bad_option(OptionName::min_score);
  if (options.after && is_nan(options.after->score)) return bad_option(OptionName::after);
  return quant::Quantiser::validate(query.data(), layout.dim, 0);
}

}  // namespace

Scratch::Scratch(std::unique_ptr<Buffers> buffers) : buffers_(std::move(buffers)) {}

Scratch::~Scratch() = default;

Result<std::unique_ptr<Scratch>> Scratch::create(const quant::Quantiser& quantiser) {
  std::unique_ptr<Buffers> buffers(new (std::nothrow) Buffers);
  if (buffers == nullptr) return Status(Code::full, sizeof(Buffers));
  Status status = reserve(buffers->prepare, quantiser.prepare_scratch_bytes());
  if (status.ok()) {
    status = reserve(buffers->rest, quantiser.layout().rest_bytes + simd::kOverread);
  }
  if (!status.ok()) return status;
  std::unique_ptr<Scratch> scratch(new (std::nothrow) Scratch(std::move(buffers)));
  if (scratch == nullptr) return Status(Code::full, sizeof(Scratch));
  return scratch;
}

Status search(const segment::Version& version, const quant::Quantiser& quantiser,
              std::span<const float> query, const SearchOptions& options, Scratch& scratch,
              Found* found) noexcept {
  VICINAL_ASSERT(found != nullptr);
  *found = {};
  if (Status status = check(quantiser.layout(), query, options); !status.ok()) return status;
  return Scan::search(version, quantiser, query, options, scratch, found);
}

Status decode_row(const segment::Version& version, const quant::Quantiser& quantiser,
                  segment::Slot slot, Scratch& scratch, float* vector) {
  const segment::SegmentView* view = version.view(slot.segment());
  VICINAL_ASSERT(view != nullptr && view->is_live(slot.row()));
  const quant::CodeLayout& layout = quantiser.layout();
  const std::size_t packed_bytes =
      round_up(layout.packed_row_bytes + simd::kOverread, simd::kAlignment);
  AlignedBuffer& buffer = scratch.buffers_->decode;
  if (Status status = reserve(buffer, packed_bytes + quantiser.encode_scratch_bytes());
      !status.ok()) {
    return status;
  }
  auto* packed = buffer.as<std::uint8_t>();
  view->copy_packed_row(layout, slot.row(), packed);
  quantiser.decode(packed, view->segment->factors(slot.row()), buffer.data() + packed_bytes,
                   vector);
  return {};
}

}  // namespace vicinal::search
