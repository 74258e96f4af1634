// Kernels::code_dots where a target gains nothing from seeing a whole block: one row at a time.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"

namespace vicinal::simd {

// Static: each target keeps a copy of its own (targets.hpp I2).
template <Kernels::CodeDot kCodeDot>
static void each_lane(const std::uint8_t* plane, std::uint32_t lanes, const std::uint8_t* rests,
               std::size_t rest_bytes, const CodeQuery& query, const Levels& levels,
               std::int64_t* dots) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(lanes));
    dots[lane] = kCodeDot(plane, lane, rests + lane * rest_bytes, query, levels);
  }
}

}  // namespace vicinal::simd
