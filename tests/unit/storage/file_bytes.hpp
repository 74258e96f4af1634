// What the tests of the file's codecs share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "storage/log_format.hpp"

namespace vicinal::test {

using Bytes = std::vector<std::byte>;

inline storage::Uuid uuid_of(std::uint64_t seed) {
  Random random(seed);
  storage::Uuid uuid;
  for (std::byte& byte : uuid.bytes) byte = static_cast<std::byte>(random.next());
  return uuid;
}

// Calls check(bit) with each bit of `bytes` flipped in its turn.
template <class Check>
void with_each_bit_flipped(std::span<std::byte> bytes, Check check) {
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    check(bit);
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
}

template <class T>
void put(std::span<std::byte> bytes, std::size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace vicinal::test
