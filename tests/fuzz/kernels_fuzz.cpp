// libFuzzer: every kernel table that this machine runs against scalar, bit by bit, on input that
// the fuzzer's bytes choose. AddressSanitizer watches what the kernels read.
//
// VICINAL_FUZZ_DEFECT=NAME puts a wrong kernel in the place of the tables, to show that the fuzzer
// finds it: a name of support/kernel_defects.hpp, or `read_too_far`.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/kernel_check.hpp"
#include "support/kernel_defects.hpp"
#include "support/kernel_input.hpp"

namespace vicinal::test {
namespace {

const simd::Kernels& scalar() { return *simd::find_kernels("scalar"); }

volatile std::uint8_t read_byte;

// Reads the first byte that no kernel may read.
void read_too_far(const simd::PlaneBlocks& blocks, const simd::PlaneScan* scans,
                  std::uint32_t queries) {
  read_byte = blocks.planes[blocks.count * blocks.plane_bytes + simd::kOverread];
  scalar().plane_scan(blocks, scans, queries);
}

simd::Kernels defective(const char* name) {
  simd::Kernels kernels = scalar();
  kernels.name = name;
  if (std::strcmp(name, "read_too_far") == 0) {
    kernels.plane_scan = read_too_far;
    return kernels;
  }
  for (const KernelDefect& defect : kernel_defects()) {
    if (std::strcmp(name, defect.name) == 0) return defect.kernels;
  }
  std::fprintf(stderr, "no such defect: %s\n", name);
  std::exit(2);
}

void check(const simd::Kernels& kernels, const char* name, const std::uint8_t* data,
           std::size_t size) {
  SteeredRandom random(data, size, 0);
  const KernelDifference difference = check_drawn_kernel(scalar(), kernels, random);
  if (!difference.found) return;
  std::fprintf(stderr, "%s differs from scalar in %s\n", name, describe(difference).c_str());
  std::abort();
}

}  // namespace
}  // namespace vicinal::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vicinal;
  static const char* const defect = std::getenv("VICINAL_FUZZ_DEFECT");
  if (defect != nullptr) {
    static const simd::Kernels kernels = test::defective(defect);
    test::check(kernels, defect, data, size);
    return 0;
  }
  const char* const* const names = simd::available_kernels() + 1;  // after scalar
  for (const char* const* name = names; *name != nullptr; ++name) {
    test::check(*simd::find_kernels(*name), *name, data, size);
  }
  return 0;
}
