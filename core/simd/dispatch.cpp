#include <cstring>

#include "simd/kernels.hpp"
#include "simd/targets.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace vicinal::simd {
namespace {

// Slowest first. A machine that runs a target runs those before it, so that what is available is
// always a prefix, and the last of it the fastest.
constexpr const Kernels* kTargets[] = {
    &scalar::kKernels,
#if defined(__x86_64__)
    &avx2::kKernels,
    &avx512::kKernels,
#endif
#if defined(__aarch64__)
    &neon::kKernels,
#endif
#if defined(__wasm_simd128__)
    &wasm::kKernels,
#endif
#if defined(__wasm_simd128__) && defined(VICINAL_WASM_RELAXED)
    &wasm_relaxed::kKernels,
#endif
};
constexpr std::size_t kTargetCount = sizeof kTargets / sizeof kTargets[0];

// kNames[n - 1] lists the first n targets. Constants rather than a list filled at the first call:
// WebAssembly instances that attach to a shared memory run no initialisation of their own.
constexpr const char* kNames[kTargetCount][kTargetCount + 1] = {
    {"scalar", nullptr},
#if defined(__x86_64__)
    {"scalar", "avx2", nullptr},
    {"scalar", "avx2", "avx512", nullptr},
#endif
#if defined(__aarch64__)
    {"scalar", "neon", nullptr},
#endif
#if defined(__wasm_simd128__)
    {"scalar", "wasm", nullptr},
#endif
#if defined(__wasm_simd128__) && defined(VICINAL_WASM_RELAXED)
    {"scalar", "wasm", "wasm_relaxed", nullptr},
#endif
};

#if defined(__x86_64__)
// Halves to floats; not every compiler knows its name.
[[nodiscard]] bool has_f16c() noexcept {
  constexpr unsigned kF16c = 1u << 29;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
}
#endif

// The number of targets of kTargets that this machine runs. An engine refuses a WebAssembly module
// that has instructions which it lacks. Every AArch64 has NEON, but not the dot product;
// where the system cannot be asked, only a build that assumes it anyway may use it.
[[nodiscard]] std::size_t count_available() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();  // the caller may be a constructor that runs before the compiler's own
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !has_f16c()) return 1;
  const bool avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vnni");
  return avx512 ? 3 : 2;
#elif defined(__aarch64__) && defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0 ? 2 : 1;
#elif defined(__aarch64__) && !defined(__ARM_FEATURE_DOTPROD)
  return 1;
#else
  return kTargetCount;
#endif
}

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
