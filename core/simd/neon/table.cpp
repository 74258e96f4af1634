#include "simd/each_lane.hpp"
#include "simd/neon/functions.hpp"
#include "simd/targets.hpp"

namespace vicinal::simd::neon {

constinit const Kernels kKernels = {
    "neon",
    plane_scan,
    {code_dot<1>, code_dot<2>, code_dot<3>, code_dot<4>, code_dot<8>},
    {each_lane<code_dot<1>>, each_lane<code_dot<2>>, each_lane<code_dot<3>>,
     each_lane<code_dot<4>>, each_lane<code_dot<8>>},
    fwht,
    quantise,
};

}  // namespace vicinal::simd::neon
