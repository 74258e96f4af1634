#include "simd/wasm/plane_kernel.hpp"
#include "simd/wasm/simd128.hpp"

namespace vicinal::simd::wasm {

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  scan_blocks<Simd128>(blocks, scans, queries);
}

}  // namespace vicinal::simd::wasm
