#include "platform/environment.hpp"

#include <cstdlib>

namespace vicinal::platform {

const char* forced_simd() noexcept { return std::getenv("VICINAL_SIMD"); }

}  // namespace vicinal::platform
