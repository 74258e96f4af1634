#include "platform/realm.hpp"

namespace {

thread_local std::uint32_t own_realm = 0;

}  // namespace

extern "C" void vicinal_set_realm(std::uint32_t realm) { own_realm = realm; }

namespace vicinal::platform {

std::uint32_t realm() noexcept { return own_realm; }

}  // namespace vicinal::platform
