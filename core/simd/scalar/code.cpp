#include "simd/scalar/functions.hpp"

namespace vicinal::simd::scalar {
namespace {

// Where coordinate t of group g lies: g = half * H + index.
struct Coordinate {
  std::uint32_t groups;
  std::uint32_t half;
  std::uint32_t index;
  std::uint32_t t;

  [[nodiscard]] std::uint32_t group() const noexcept { return half * (groups / 2) + index; }
};

[[nodiscard]] std::uint32_t component4(const std::uint8_t* component, Coordinate at) noexcept {
  const std::uint32_t byte = component[(at.t / 2) * at.groups + at.group()];
  return (byte >> (4 * (at.t % 2))) & 15;
}

[[nodiscard]] std::uint32_t component2(const std::uint8_t* component, Coordinate at) noexcept {
  return (std::uint32_t{component[at.group()]} >> (2 * at.t)) & 3;
}

[[nodiscard]] std::uint32_t component1(const std::uint8_t* component, Coordinate at) noexcept {
  return (std::uint32_t{component[at.index]} >> (4 * at.half + at.t)) & 1;
}

template <std::uint32_t kBits>
[[nodiscard]] std::uint32_t magnitude(const std::uint8_t* rest, Coordinate at) noexcept {
  const std::uint32_t groups = at.groups;
  if constexpr (kBits == 1) {
    return 0;
  } else if constexpr (kBits == 2) {
    return component1(rest, at);
  } else if constexpr (kBits == 3) {
    return component2(rest, at);
  } else if constexpr (kBits == 4) {
    return component2(rest, at) * 2 + component1(rest + groups, at);
  } else {
    static_assert(kBits == 8);
    return component4(rest, at) * 8 + component2(rest + 2 * groups, at) * 2 +
           component1(rest + 3 * groups, at);
  }
}

[[nodiscard]] bool is_positive(const std::uint8_t* plane, std::uint32_t lane,
                               Coordinate at) noexcept {
  const std::uint32_t byte = plane[at.group() * kGroupBytes + lane % kGroupBytes];
  return ((byte >> (4 * (lane / kGroupBytes) + at.t)) & 1) != 0;
}

}  // namespace

template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept {
  std::int64_t sum = 0;
  for (std::uint32_t half = 0; half < 2; ++half) {
    for (std::uint32_t index = 0; index < query.groups / 2; ++index) {
      const std::uint32_t chunk = half * query.half_chunks + index / kChunkGroups;
      for (std::uint32_t t = 0; t < kGroupCoordinates; ++t) {
        const Coordinate at{query.groups, half, index, t};
        const std::uint32_t value =
            chunk * kChunkValues + t * kChunkGroups + index % kChunkGroups;
        const std::uint32_t m = magnitude<kBits>(rest, at);
        const std::int64_t level = kBits == 8 ? levels.wide[m] : 2 * levels.biased[m] - 127;
        const std::int64_t weight = kBits == 8 ? query.values16[value] : query.values8[value];
        sum += is_positive(plane, lane, at) ? weight * level : -weight * level;
      }
    }
  }
  return sum;
}

template std::int64_t code_dot<1>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<2>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<3>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<4>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<8>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;

}  // namespace vicinal::simd::scalar
