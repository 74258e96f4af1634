// The comparison of kernels, as a module that a JavaScript test runs: tests/web/kernels.test.mjs.
#include "support/kernel_check.hpp"

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"

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

// A kernel of this build with a defect, for the negative control.
vicinal::simd::QuantiseSums quantise_one_less(const float* u, std::uint32_t coded_dim,
                                              const vicinal::simd::Levels& levels,
                                              std::uint8_t* codes) {
  return vicinal::simd::find_kernels("scalar")->quantise(u, coded_dim - 1, levels, codes);
}

}  // namespace

extern "C" {

// The name of the fastest table.
VIC_TEST_EXPORT(best) const char* best() {
  return (text.clear() << vicinal::simd::best_kernels().name).get();
}

// Compares the fastest table with the scalar one: an empty text, or the first difference.
VIC_TEST_EXPORT(compare) const char* compare(std::uint32_t seed, std::uint32_t defect) {
  const vicinal::simd::Kernels& reference = *vicinal::simd::find_kernels("scalar");
  vicinal::simd::Kernels candidate = vicinal::simd::best_kernels();
  if (defect != 0) candidate.quantise = quantise_one_less;
  const vicinal::test::KernelDifference found =
      vicinal::test::check_kernels(reference, candidate, seed);
  text.clear();
  if (found.found) {
    text << found.kernel << ", input " << found.input << ", seed " << found.seed << ": length "
         << found.coded_dim << ", bits " << found.bits << ", lane " << found.lane << ", output "
         << found.index << ": expected " << found.expected << ", got " << found.actual;
  }
  return text.get();
}

}  // extern "C"
