#include "simd/wasm/code_kernel.hpp"
#include "simd/wasm_relaxed/functions.hpp"

namespace vicinal::simd::wasm_relaxed {
namespace {

struct Relaxed {
  [[nodiscard]] static inline v128_t look_up(v128_t table, v128_t index) {
    return wasm_i8x16_relaxed_swizzle(table, index);
  }

  [[nodiscard]] static inline v128_t add_products(v128_t sum, v128_t level,
                                                  const std::int8_t* values) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load(values), level, sum);
  }
};

}  // namespace

template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept {
  return wasm::narrow_dot<Relaxed, kBits>(plane, lane, rest, query, levels);
}

template std::int64_t code_dot<1>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<2>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<3>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<4>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;

}  // namespace vicinal::simd::wasm_relaxed
