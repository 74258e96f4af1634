// A small index for scenarios that run the whole engine.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "simulator/simulation.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::sim {

inline constexpr std::uint64_t kEngineCost = 10;
inline constexpr std::uint32_t kDim = 8;
using Row = std::array<float, kDim>;

// Rows of ids that differ modulo kDim are orthogonal, the others are equal.
inline Row row_of(std::uint64_t id) {
  Row row = {};
  row[id % kDim] = 1;
  return row;
}

inline Index make_index() {
  IndexOptions options;
  options.dim = kDim;
  auto index = Index::create(options);
  check(index.ok(), "no index");
  return std::move(index).value();
}

}  // namespace vicinal::sim
