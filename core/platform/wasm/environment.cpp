#include "platform/environment.hpp"

namespace vicinal::platform {

const char* forced_simd() noexcept { return nullptr; }

}  // namespace vicinal::platform
