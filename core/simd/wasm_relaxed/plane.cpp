#include "simd/wasm/plane_kernel.hpp"
#include "simd/wasm_relaxed/functions.hpp"
#include "simd/wasm_relaxed/relaxed.hpp"

namespace vicinal::simd::wasm_relaxed {

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) noexcept {
  wasm::scan_blocks<Relaxed>(blocks, scans, queries);
}

}  // namespace vicinal::simd::wasm_relaxed
