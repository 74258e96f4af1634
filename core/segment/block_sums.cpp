#include "segment/block_sums.hpp"

#include "base/checksum.hpp"
#include "simd/kernels.hpp"

namespace vicinal::segment {

std::uint64_t plane_sum(const BlockBytes& block, std::uint64_t uuid_head,
                        std::uint64_t plane_position) noexcept {
  constexpr std::size_t kFactorBytes = simd::kBlockRows * sizeof(float);
  std::uint64_t sum = checksum64(block.plane, block.plane_bytes);
  sum = checksum64(block.scales, kFactorBytes, sum);
  sum = checksum64(block.plane_scales, kFactorBytes, sum);
  sum = checksum64(block.plane_cosines2, kFactorBytes, sum);
  return sum ^ storage::mix_position(uuid_head, plane_position);
}

std::uint64_t row_sum(const BlockBytes& block, std::uint64_t uuid_head,
                      std::uint64_t rows_position) noexcept {
  std::uint64_t sum = checksum64(block.rests, block.rests_bytes);
  sum = checksum64(block.ids, simd::kBlockRows * sizeof(std::uint64_t), sum);
  return sum ^ storage::mix_position(uuid_head, rows_position);
}

}  // namespace vicinal::segment
