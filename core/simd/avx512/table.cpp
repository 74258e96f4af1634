#include "simd/avx512/functions.hpp"
#include "simd/targets.hpp"

namespace vicinal::simd::avx512 {

constinit const Kernels kKernels = {
    "avx512",
    plane_scan,
    {code_dot<1>, code_dot<2>, code_dot<3>, code_dot<4>, code_dot<8>},
    {code_dots<1>, code_dots<2>, code_dots<3>, code_dots<4>, code_dots<8>},
    fwht,
    quantise,
    {original_dots<std::uint16_t>, original_dots<float>},
    {original_distance<std::uint16_t>, original_distance<float>},
    8,
};

}  // namespace vicinal::simd::avx512
