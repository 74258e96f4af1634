// WebAssembly relaxed SIMD: table lookups without the clamp of their index, and products of bytes
// in one operation. Everything else is SIMD128's.
//
// Thread safety: pure functions.
// I1: the same bits as the scalar reference: relaxed operations are only given what their
//     specification leaves no choice about, indices below 16 and second factors 0..127. An engine
//     that is wrong even there is found out before this code is loaded, by
//     web/src/backend/relaxed_simd.ts.
#pragma once

#include <cstdint>

#include "simd/kernels.hpp"

namespace vicinal::simd::wasm_relaxed {

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) noexcept;

// Up to 4 bits.
template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept;

}  // namespace vicinal::simd::wasm_relaxed
