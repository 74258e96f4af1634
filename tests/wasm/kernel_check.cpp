// The comparison of kernels, as a module that a JavaScript test runs: tests/web/kernels.test.mjs.
#include "support/kernel_check.hpp"

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"
#include "support/kernel_defects.hpp"

#define VIC_TEST_EXPORT(name) __attribute__((export_name(#name), used))

namespace {

// What a call returns. Put together without snprintf, which needs more of the system than there is.
class Text {
 public:
  Text& clear() {
    length_ = 0;
    return *this;
  }
  Text& operator<<(const char* what) {
    while (*what != 0 && length_ + 1 < sizeof bytes_) bytes_[length_++] = *what++;
    return *this;
  }
  Text& operator<<(std::uint64_t number) {
    char digits[21] = {};
    std::uint32_t at = 20;
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << digits + at;
  }
  const char* get() {
    bytes_[length_] = 0;
    return bytes_;
  }

 private:
  std::size_t length_ = 0;
  char bytes_[1024] = {};
};

Text text;

const char* difference(const vicinal::simd::Kernels& candidate, std::uint32_t seed) {
  const vicinal::test::KernelDifference found =
      vicinal::test::check_kernels(*vicinal::simd::find_kernels("scalar"), candidate, seed);
  text.clear();
  if (found.found) {
    text << found.kernel << ", input " << found.input << ", seed " << found.seed << ": length "
         << found.coded_dim << ", bits " << found.bits << ", lane " << found.lane << ", output "
         << found.index << ": expected " << found.expected << ", got " << found.actual;
  }
  return text.get();
}

}  // namespace

extern "C" {

// The name of the fastest table.
VIC_TEST_EXPORT(best) const char* best() {
  return (text.clear() << vicinal::simd::best_kernels().name).get();
}

VIC_TEST_EXPORT(defects) std::uint32_t defects() {
  return static_cast<std::uint32_t>(vicinal::test::kernel_defects().size());
}

// The kernel that a defect is in.
VIC_TEST_EXPORT(defect_kernel) const char* defect_kernel(std::uint32_t defect) {
  return (text.clear() << vicinal::test::kernel_defects()[defect].kernel).get();
}

// Compares the fastest table with the scalar one, or one with a defect: an empty text, or the first
// difference.
VIC_TEST_EXPORT(compare) const char* compare(std::uint32_t seed) {
  return difference(vicinal::simd::best_kernels(), seed);
}
VIC_TEST_EXPORT(compare_defect)
const char* compare_defect(std::uint32_t seed, std::uint32_t defect) {
  return difference(vicinal::test::kernel_defects()[defect].kernels, seed);
}

}  // extern "C"
