#include "simd/wasm/functions.hpp"
#include "simd/targets.hpp"

namespace vicinal::simd::wasm {

constinit const Kernels kKernels = {
    "wasm",
    plane_scan,
    {code_dot<1>, code_dot<2>, code_dot<3>, code_dot<4>, code_dot<8>},
    fwht,
    quantise,
};

}  // namespace vicinal::simd::wasm
