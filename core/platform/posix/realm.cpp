#include "platform/realm.hpp"

namespace vicinal::platform {

std::uint32_t realm() noexcept { return 0; }

}  // namespace vicinal::platform
