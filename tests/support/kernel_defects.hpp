// Kernels that are wrong on purpose: whoever compares kernels must find each of them. Free of any
// test framework.
//
// Thread safety: the list is made at the first call and never changes.
#pragma once

#include <span>

#include "simd/kernels.hpp"

namespace vicinal::test {

// The scalar table with one defect that a vector kernel could have.
struct KernelDefect {
  const char* name;
  const char* kernel;  // that a difference must name
  simd::Kernels kernels;
};

[[nodiscard]] std::span<const KernelDefect> kernel_defects();

}  // namespace vicinal::test
