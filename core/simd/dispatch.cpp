#include <cstring>

#include "simd/kernels.hpp"
#include "simd/targets.hpp"

namespace vicinal::simd {
namespace {

// Slowest first. Each target's machines also run those before it, so that what is available is always
// a prefix, and the last of it the fastest.
constexpr const Kernels* kTargets[] = {
    &scalar::kKernels,
};
constexpr std::size_t kTargetCount = sizeof kTargets / sizeof kTargets[0];

// The number of targets of kTargets that this machine runs.
[[nodiscard]] std::size_t count_available() noexcept {
  return 1;
}

// kNames[n - 1] lists the first n targets. Constants rather than a list filled at the first call:
// WebAssembly instances that attach to a shared memory run no initialisation of their own.
constexpr const char* kNames[kTargetCount][kTargetCount + 1] = {
    {"scalar", nullptr},
};

}  // namespace

const Kernels* find_kernels(const char* name) noexcept {
  const std::size_t available = count_available();
  for (std::size_t i = 0; i < available; ++i) {
    if (std::strcmp(kTargets[i]->name, name) == 0) return kTargets[i];
  }
  return nullptr;
}

const Kernels& best_kernels() noexcept {
  return *kTargets[count_available() - 1];
}

const char* const* available_kernels() noexcept {
  return kNames[count_available() - 1];
}

}  // namespace vicinal::simd
