#include "simd/each_lane.hpp"
#include "simd/targets.hpp"
#include "simd/wasm/functions.hpp"
#include "simd/wasm_relaxed/functions.hpp"

namespace vicinal::simd::wasm_relaxed {

constinit const Kernels kKernels = {
    "wasm_relaxed",
    plane_scan,
    {code_dot<1>, code_dot<2>, code_dot<3>, code_dot<4>, wasm::code_dot<8>},
    {each_lane<code_dot<1>>, each_lane<code_dot<2>>, each_lane<code_dot<3>>, each_lane<code_dot<4>>,
     each_lane<wasm::code_dot<8>>},
    wasm::fwht,
    wasm::quantise,
    {wasm::original_dots<std::uint16_t>, wasm::original_dots<float>},
    {wasm::original_distance<std::uint16_t>, wasm::original_distance<float>},
};

}  // namespace vicinal::simd::wasm_relaxed
