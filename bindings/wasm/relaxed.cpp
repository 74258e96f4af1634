// Only in the module with relaxed SIMD: what the loader knows it by. Where a file is given to it,
// it would otherwise compile on an engine that computes wrong results, or not at all.
#include "exports.hpp"

extern "C" __attribute__((export_name("vic_needs_relaxed_simd"), used)) void
vic_needs_relaxed_simd() {}
