#include "quant/rotation.hpp"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "base/random.hpp"
#include "vicinal/types.hpp"

namespace vicinal::quant {
namespace {

constexpr std::uint16_t kSourceMask = 0x7fff;
constexpr std::uint16_t kSignBit = 0x8000;
static_assert(kDimMax - 1 <= kSourceMask);

[[nodiscard]] std::uint32_t largest_power_of_two(std::uint32_t at_most) noexcept {
  std::uint32_t power = 1;
  while (power <= at_most / 2) power *= 2;
  return power;
}

// Fisher-Yates over the first `permuted` of `count` places, then a sign for each place.
void fill_table(std::uint16_t* table, std::uint32_t count, std::uint32_t permuted,
                Random& random) noexcept {
  VICINAL_ASSERT(permuted >= 1 && permuted <= count);
  for (std::uint32_t j = 0; j < count; ++j) table[j] = static_cast<std::uint16_t>(j);
  for (std::uint32_t j = permuted - 1; j > 0; --j) std::swap(table[j], table[random.below(j + 1)]);
  std::uint64_t signs = 0;
  for (std::uint32_t j = 0; j < count; ++j) {
    if (j % 64 == 0) signs = random.next();
    if ((signs >> (j % 64)) & 1) table[j] |= kSignBit;
  }
}

[[nodiscard]] float flipped(float value, std::uint16_t entry) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(entry & kSignBit) << 16;
  return bit_cast<float>(bit_cast<std::uint32_t>(value) ^ sign);
}

void gather(const float* from, const std::uint16_t* table, std::uint32_t count,
            float* to) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) to[j] = flipped(from[table[j] & kSourceMask], table[j]);
}

void scatter(const float* from, const std::uint16_t* table, std::uint32_t count,
             float* to) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) to[table[j] & kSourceMask] = flipped(from[j], table[j]);
}

}  // namespace

Result<Rotation> Rotation::create(std::uint32_t coded_dim, std::uint64_t seed) noexcept {
  VICINAL_ASSERT(coded_dim >= 8 && coded_dim % 8 == 0 && coded_dim <= kDimMax);
  Result<AlignedBuffer> tables =
      AlignedBuffer::create(std::size_t{kRounds} * coded_dim * sizeof(std::uint16_t));
  if (!tables) return tables.status();

  Rotation rotation;
  rotation.coded_dim_ = coded_dim;
  rotation.window_ = largest_power_of_two(coded_dim);
  VICINAL_ASSERT(2 * rotation.window_ > coded_dim);
  rotation.window_scale_ = static_cast<float>(1.0 / std::sqrt(double{1} * rotation.window_));
  rotation.tables_ = std::move(*tables);

  // Neighbouring seeds must not give neighbouring streams.
  Random random(mix64(seed ^ 0x9e3779b97f4a7c15u));
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint32_t permuted = round % 2 == 0 ? coded_dim : rotation.window_;  // I1
    fill_table(rotation.tables_.as<std::uint16_t>() + std::size_t{round} * coded_dim, coded_dim,
               permuted, random);
  }
  return rotation;
}

const std::uint16_t* Rotation::table(std::uint32_t round) const noexcept {
  return tables_.as<std::uint16_t>() + std::size_t{round} * coded_dim_;
}

void Rotation::apply(const simd::Kernels& kernels, float* x, float* spare) const noexcept {
  VICINAL_ASSERT(x != spare);
  static_assert(kRounds % 2 == 0, "the result must end up in x");
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    gather(x, table(round), coded_dim_, spare);
    kernels.fwht(spare + window_start(round), window_, window_scale_);
    std::swap(x, spare);
  }
}

void Rotation::invert(const simd::Kernels& kernels, float* x, float* spare) const noexcept {
  VICINAL_ASSERT(x != spare);
  for (std::uint32_t round = kRounds; round-- > 0;) {
    kernels.fwht(x + window_start(round), window_, window_scale_);
    scatter(x, table(round), coded_dim_, spare);
    std::swap(x, spare);
  }
}

}  // namespace vicinal::quant
