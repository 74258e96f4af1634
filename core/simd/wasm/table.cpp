#include "simd/each_lane.hpp"
#include "simd/targets.hpp"
#include "simd/wasm/functions.hpp"

namespace vicinal::simd::wasm {

constinit const Kernels kKernels = {
    "wasm",
    plane_scan,
    {code_dot<1>, code_dot<2>, code_dot<3>, code_dot<4>, code_dot<8>},
    {each_lane<code_dot<1>>, each_lane<code_dot<2>>, each_lane<code_dot<3>>,
     each_lane<code_dot<4>>, each_lane<code_dot<8>>},
    fwht,
    quantise,
    {original_dots<std::uint16_t>, original_dots<float>},
    {original_distance<std::uint16_t>, original_distance<float>},
};

}  // namespace vicinal::simd::wasm
