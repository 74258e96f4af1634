#include "quant/quantiser.hpp"

#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "quant/direction.hpp"
#include "quant/packing.hpp"
#include "quant/scratch.hpp"

namespace vicinal::quant {
namespace {

[[nodiscard]] Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

// The bits of a magnitude order like the magnitude itself, and those of infinity and NaN lie above
// every finite one: one integer comparison finds all that is not allowed.
[[nodiscard]] std::uint32_t magnitude_bits(float value) noexcept {
  return bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

// Two rotation arrays and two bytes a coordinate, for encode and decode alike.
struct RowScratch {
  float* x;
  float* spare;
  std::uint8_t* codes;
  std::uint8_t* other_codes;

  static RowScratch carve(Carver& carver, const Rotation& rotation) noexcept {
    RowScratch scratch;
    scratch.x = carver.take<float>(rotation.array_floats());
    scratch.spare = carver.take<float>(rotation.array_floats());
    scratch.codes = carver.take<std::uint8_t>(rotation.coded_dim() + simd::kOverread);
    scratch.other_codes = carver.take<std::uint8_t>(rotation.coded_dim() + simd::kOverread);
    return scratch;
  }
};

[[nodiscard]] RowFactors row_factors(double length, simd::QuantiseSums sums,
                                     std::uint32_t coded_dim) noexcept {
  // A unit vector's absolute sum is at least 1, and every level is at least 1 with its coordinate's
  // sign: neither divisor can be small.
  VICINAL_ASSERT(sums.absolute > 0.5f && sums.level > 0.5f);
  const double absolute = sums.absolute;
  const double cosine2 = absolute * absolute / coded_dim;
  RowFactors factors;
  factors.scale = static_cast<float>(length / sums.level);
  factors.plane_scale = static_cast<float>(length / absolute);
  factors.plane_cosine2 = static_cast<float>(cosine2 < 1 ? cosine2 : 1);
  return factors;
}

// The squared cosine of the row and what its code stands for: the smaller the angle, the smaller
// the error of every score (RaBitQ, arXiv 2405.12497). Of two codes of a row the larger one wins.
[[nodiscard]] double cosine2(const simd::QuantiseSums& sums) noexcept {
  return double{sums.level} * double{sums.level} / double{sums.square};
}

}  // namespace

Quantiser::Quantiser(CodeLayout layout, Metric metric, Rotation rotation,
                     const simd::Kernels& kernels) noexcept
    : layout_(layout),
      metric_(metric),
      kernels_(&kernels),
      rotation_(std::move(rotation)),
      codebook_(layout.coded_dim, layout.bits) {}

Result<std::unique_ptr<Quantiser>> Quantiser::create(std::uint32_t dim, Metric metric,
                                                     std::uint32_t bits, std::uint64_t seed,
                                                     const simd::Kernels& kernels) {
  if (dim < 1 || dim > kDimMax) return bad_option(OptionName::dim);
  if (metric > Metric::l2) return bad_option(OptionName::metric);
  if (bits < 1 || (bits > 4 && bits != 8)) return bad_option(OptionName::bits);
  const CodeLayout layout = CodeLayout::of(dim, bits);
  Result<Rotation> rotation = Rotation::create(layout.coded_dim, seed);
  if (!rotation) return rotation.status();
  std::unique_ptr<Quantiser> quantiser(
      new (std::nothrow) Quantiser(layout, metric, std::move(*rotation), kernels));
  if (quantiser == nullptr) return Status(Code::full, sizeof(Quantiser));
  return quantiser;
}

std::size_t Quantiser::bytes() const noexcept { return rotation_.bytes(); }

Status Quantiser::validate(const float* vector, std::uint32_t dim, std::uint64_t row) noexcept {
  VICINAL_ASSERT(vector != nullptr && dim <= kDimMax);
  const std::uint32_t limit = magnitude_bits(kMagnitudeLimit);
  std::uint32_t beyond = 0;  // its top bit: some magnitude reached the limit
  for (std::uint32_t j = 0; j < dim; ++j) beyond |= limit - 1 - magnitude_bits(vector[j]);
  if (beyond >> 31 == 0) return Status();
  for (std::uint32_t j = 0; j < dim; ++j) {
    if (magnitude_bits(vector[j]) >= limit) return Status(Code::not_finite, row, j);
  }
  VICINAL_ASSERT(false);
  return Status();
}

std::size_t Quantiser::encode_scratch_bytes() const noexcept {
  Carver carver(nullptr);
  RowScratch::carve(carver, rotation_);
  return carver.bytes();
}

void Quantiser::encode(const float* vector, std::byte* scratch, std::uint8_t* packed_row,
                       RowFactors* factors, const float* origin) const noexcept {
  VICINAL_ASSERT(vector != nullptr && packed_row != nullptr && factors != nullptr);
  VICINAL_ASSERT(origin == nullptr || metric_ != Metric::ip);
  VICINAL_DEBUG_ASSERT(validate(vector, layout_.dim, 0).ok());
  Carver carver(scratch);
  const RowScratch row = RowScratch::carve(carver, rotation_);
  double length = vector_length(vector, layout_.dim);
  RowFactors nowhere;  // of a row without a direction
  if (origin != nullptr) {
    const bool cosine = metric_ == Metric::cosine;
    if (cosine && length == 0) nowhere = kZeroRowFactors;
    const double inverse = cosine && length > 0 ? 1 / length : 1;
    from_origin(vector, layout_.dim, inverse, origin, row.x);
    length = cosine && length == 0 ? 0 : vector_length(row.x, layout_.dim);
    vector = row.x;
  }
  if (length == 0) {
    std::memset(packed_row, 0, layout_.packed_row_bytes);
    *factors = nowhere;
    return;
  }
  unit_vector(vector, layout_.dim, length, layout_.coded_dim, row.x);
  rotation_.apply(*kernels_, row.x, row.spare);
  simd::QuantiseSums sums =
      kernels_->quantise(row.x, layout_.coded_dim, codebook_.levels(), row.codes);
  const std::uint8_t* codes = row.codes;
  for (std::uint32_t stretch = 1; stretch < codebook_.stretches(); ++stretch) {
    std::uint8_t* unused = codes == row.codes ? row.other_codes : row.codes;
    const simd::QuantiseSums other =
        kernels_->quantise(row.x, layout_.coded_dim, codebook_.stretched(stretch), unused);
    if (cosine2(other) > cosine2(sums)) {
      sums = other;
      codes = unused;
    }
  }
  pack_row(layout_, codes, packed_row);
  const bool unit = metric_ == Metric::cosine && origin == nullptr;
  *factors = row_factors(unit ? 1 : length, sums, layout_.coded_dim);
}

void Quantiser::decode(const std::uint8_t* packed_row, const RowFactors& factors,
                       std::byte* scratch, float* vector, const float* origin) const noexcept {
  VICINAL_ASSERT(packed_row != nullptr && vector != nullptr);
  const std::uint32_t dim = layout_.dim;
  for (std::uint32_t j = 0; j < dim; ++j) vector[j] = 0;
  if (is_zero_row(factors.plane_cosine2)) return;
  if (origin != nullptr) std::memcpy(vector, origin, dim * sizeof(float));
  if (factors.plane_scale != 0) add_decoded(packed_row, factors, scratch, origin, vector);
  if (origin == nullptr || metric_ != Metric::cosine) return;
  const double length = vector_length(vector, dim);
  if (length != 0) unit_vector(vector, dim, length, dim, vector);
}

void Quantiser::add_decoded(const std::uint8_t* packed_row, const RowFactors& factors,
                            std::byte* scratch, const float* origin,
                            float* vector) const noexcept {
  const std::uint32_t dim = layout_.dim;
  Carver carver(scratch);
  const RowScratch row = RowScratch::carve(carver, rotation_);
  unpack_row(layout_, packed_row, row.codes);
  const std::uint32_t magnitude_mask = codebook_.magnitudes() - 1;
  for (std::uint32_t j = 0; j < layout_.coded_dim; ++j) {
    const std::int32_t level = codebook_.level(row.codes[j] & magnitude_mask);
    const bool negative = row.codes[j] >> (layout_.bits - 1) == 0;
    row.x[j] = static_cast<float>(negative ? -level : level);
  }
  rotation_.invert(*kernels_, row.x, row.spare);

  // What the rounding moved into the padding coordinates is error and nothing else: dropped before
  // the direction is normalised.
  const double found = vector_length(row.x, dim);
  if (found == 0) return;
  const double plane_scale = factors.plane_scale;
  const double length = metric_ == Metric::cosine && origin == nullptr
                            ? 1
                            : plane_scale * std::sqrt(double{factors.plane_cosine2} *
                                                      layout_.coded_dim);
  const double factor = length / found;
  for (std::uint32_t j = 0; j < dim; ++j) {
    const double moved = double{row.x[j]} * factor;
    vector[j] = static_cast<float>(origin == nullptr ? moved : double{vector[j]} + moved);
  }
}

}  // namespace vicinal::quant
