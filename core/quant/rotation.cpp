#include "quant/rotation.hpp"

#include <cmath>
#include <utility>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "base/random.hpp"
#include "vicinal/types.hpp"

namespace vicinal::quant {
namespace {

constexpr std::uint16_t kSignBit = 0x8000;  // of a float, shifted down by 16
constexpr std::uint32_t kTablesPerPair = 3;
static_assert(kDimMax - 1 <= 0xffff, "a place fits 16 bits");

[[nodiscard]] std::uint32_t largest_power_of_two(std::uint32_t at_most) noexcept {
  std::uint32_t power = 1;
  while (power <= at_most / 2) power *= 2;
  return power;
}

// Fisher-Yates.
void fill_sources(std::uint16_t* sources, std::uint32_t count, Random& random) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) sources[j] = static_cast<std::uint16_t>(j);
  for (std::uint32_t j = count - 1; j > 0; --j) std::swap(sources[j], sources[random.below(j + 1)]);
}

void fill_signs(std::uint16_t* signs, std::uint32_t count, Random& random) noexcept {
  std::uint64_t drawn = 0;
  for (std::uint32_t j = 0; j < count; ++j) {
    if (j % 64 == 0) drawn = random.next();
    signs[j] = (drawn >> (j % 64)) & 1 ? kSignBit : std::uint16_t{0};
  }
}

void flip(const std::uint16_t* signs, std::uint32_t count, float* x) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) {
    const std::uint32_t sign = static_cast<std::uint32_t>(signs[j]) << 16;
    x[j] = bit_cast<float>(bit_cast<std::uint32_t>(x[j]) ^ sign);
  }
}

void gather(const float* from, const std::uint16_t* sources, std::uint32_t count,
            float* to) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) to[j] = from[sources[j]];
}

void scatter(const float* from, const std::uint16_t* sources, std::uint32_t count,
             float* to) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) to[sources[j]] = from[j];
}

}  // namespace

Result<Rotation> Rotation::create(std::uint32_t coded_dim, std::uint64_t seed) noexcept {
  VICINAL_ASSERT(coded_dim >= 8 && coded_dim % 8 == 0 && coded_dim <= kDimMax);
  Result<AlignedBuffer> tables = AlignedBuffer::create(std::size_t{kPairs} * kTablesPerPair *
                                                       coded_dim * sizeof(std::uint16_t));
  if (!tables) return tables.status();

  Rotation rotation;
  rotation.coded_dim_ = coded_dim;
  rotation.window_ = largest_power_of_two(coded_dim);
  VICINAL_ASSERT(2 * rotation.window_ > coded_dim);
  rotation.window_scale_ = static_cast<float>(1.0 / std::sqrt(double{1} * rotation.window_));
  rotation.tables_ = std::move(*tables);

  // Neighbouring seeds must not give neighbouring streams.
  Random random(mix64(seed ^ 0x9e3779b97f4a7c15u));
  auto* table = rotation.tables_.as<std::uint16_t>();
  for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
    fill_sources(table, coded_dim, random);
    fill_signs(table + coded_dim, coded_dim, random);
    fill_signs(table + 2 * std::size_t{coded_dim}, coded_dim, random);
    table += kTablesPerPair * coded_dim;
  }
  return rotation;
}

const std::uint16_t* Rotation::sources(std::uint32_t pair) const noexcept {
  return tables_.as<std::uint16_t>() + std::size_t{pair} * kTablesPerPair * coded_dim_;
}

const std::uint16_t* Rotation::signs(std::uint32_t pair, std::uint32_t second) const noexcept {
  return sources(pair) + std::size_t{1 + second} * coded_dim_;
}

void Rotation::round(const simd::Kernels& kernels, std::uint32_t pair, std::uint32_t second,
                     float* x) const noexcept {
  VICINAL_DEBUG_ASSERT(pair < kPairs && second < 2);
  flip(signs(pair, second), coded_dim_, x);
  kernels.fwht(x + (second == 0 ? 0 : coded_dim_ - window_), window_, window_scale_);
}

void Rotation::round_inverse(const simd::Kernels& kernels, std::uint32_t pair,
                             std::uint32_t second, float* x) const noexcept {
  VICINAL_DEBUG_ASSERT(pair < kPairs && second < 2);
  kernels.fwht(x + (second == 0 ? 0 : coded_dim_ - window_), window_, window_scale_);
  flip(signs(pair, second), coded_dim_, x);
}

void Rotation::apply(const simd::Kernels& kernels, float* x, float* spare) const noexcept {
  VICINAL_ASSERT(x != spare);
  static_assert(kPairs % 2 == 0, "the result must end up in x");
  for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
    gather(x, sources(pair), coded_dim_, spare);
    round(kernels, pair, 0, spare);
    round(kernels, pair, 1, spare);
    std::swap(x, spare);
  }
}

void Rotation::invert(const simd::Kernels& kernels, float* x, float* spare) const noexcept {
  VICINAL_ASSERT(x != spare);
  for (std::uint32_t pair = kPairs; pair-- > 0;) {
    round_inverse(kernels, pair, 1, x);
    round_inverse(kernels, pair, 0, x);
    scatter(x, sources(pair), coded_dim_, spare);
    std::swap(x, spare);
  }
}

}  // namespace vicinal::quant
