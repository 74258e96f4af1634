#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/aligned_buffer.hpp"
#include "base/assert.hpp"
#include "simd/bound.hpp"

namespace vicinal::test {
namespace {

// A packed row, read by the text of kernels.hpp.
class PackedRow {
 public:
  PackedRow(const quant::CodeLayout& layout, const std::uint8_t* bytes)
      : layout_(layout), signs_(bytes), rest_(bytes + layout.sign_bytes) {}

  [[nodiscard]] std::uint32_t sign_nibble(std::uint32_t group) const {
    return half_packed(signs_, group);
  }
  [[nodiscard]] bool positive(std::uint32_t j) const {
    return (sign_nibble(j / 4) >> j % 4 & 1) != 0;
  }
  [[nodiscard]] std::uint32_t magnitude(std::uint32_t j) const {
    const std::uint8_t* two = rest_;
    switch (layout_.bits) {
      case 1: return 0;
      case 2: return one_bit(rest_, j);
      case 3: return two_bits(rest_, j);
      case 4: return two_bits(rest_, j) * 2 + one_bit(rest_ + layout_.groups, j);
      default:
        two = rest_ + 2 * layout_.groups;
        return four_bits(rest_, j) * 8 + two_bits(two, j) * 2 + one_bit(two + layout_.groups, j);
    }
  }

 private:
  [[nodiscard]] std::uint32_t half_packed(const std::uint8_t* bytes, std::uint32_t group) const {
    const std::uint32_t half = layout_.groups / 2;
    return group < half ? bytes[group] & 15u : bytes[group - half] >> 4;
  }
  [[nodiscard]] std::uint32_t one_bit(const std::uint8_t* bytes, std::uint32_t j) const {
    return half_packed(bytes, j / 4) >> j % 4 & 1;
  }
  [[nodiscard]] std::uint32_t two_bits(const std::uint8_t* bytes, std::uint32_t j) const {
    return bytes[j / 4] >> 2 * (j % 4) & 3u;
  }
  [[nodiscard]] std::uint32_t four_bits(const std::uint8_t* bytes, std::uint32_t j) const {
    const std::uint32_t byte = bytes[j % 4 / 2 * layout_.groups + j / 4];
    return j % 2 == 0 ? byte & 15 : byte >> 4;
  }

  const quant::CodeLayout& layout_;
  const std::uint8_t* signs_;
  const std::uint8_t* rest_;
};

[[nodiscard]] std::int64_t query_value(const simd::CodeQuery& query, std::uint32_t bits,
                                       std::uint32_t j) {
  const std::uint32_t group = j / 4;
  const std::uint32_t half = query.groups / 2;
  const std::uint32_t in_half = group % half;
  const std::uint32_t chunk = group / half * query.half_chunks + in_half / simd::kChunkGroups;
  const std::uint32_t at = chunk * simd::kChunkValues + j % 4 * simd::kChunkGroups +
                           in_half % simd::kChunkGroups;
  return bits == 8 ? query.values16[at] : query.values8[at];
}

[[nodiscard]] RankedRow rank(const quant::Quantiser& quantiser,
                             const quant::PreparedQuery& query, const EncodedRow& row) {
  const quant::CodeLayout& layout = quantiser.layout();
  const simd::Levels& levels = quantiser.levels();
  const PackedRow packed(layout, row.packed.data());
  std::uint32_t sum = 0;
  for (std::uint32_t group = 0; group < layout.groups; ++group) {
    sum += query.plane.tables[group * 16 + packed.sign_nibble(group)];
  }
  std::int64_t dot = 0;
  for (std::uint32_t j = 0; j < layout.coded_dim; ++j) {
    const std::uint32_t m = packed.magnitude(j);
    const std::int64_t level = layout.bits == 8 ? levels.wide[m] : 2 * levels.biased[m] - 127;
    dot += query_value(query.code, layout.bits, j) * (packed.positive(j) ? level : -level);
  }
  const quant::RowFactors& factors = row.factors;
  const float product = query.zero ? 0 : (static_cast<float>(dot) * factors.scale) *
                                             query.code_step;
  RankedRow result;
  result.code = simd::metric_score(product, query.plane, factors.plane_scale,
                                   factors.plane_cosine2);
  result.upper =
      simd::upper_bound(sum, query.plane, factors.plane_scale, factors.plane_cosine2);
  result.hit.id = row.id;
  return result;
}

[[nodiscard]] bool before(const Hit& a, const Hit& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

}  // namespace

std::vector<RankedRow> rank_all(const quant::Quantiser& quantiser,
                                std::span<const EncodedRow> rows, std::span<const float> query,
                                float certainty) {
  auto scratch = AlignedBuffer::create(quantiser.prepare_scratch_bytes());
  VICINAL_ASSERT(scratch.ok());
  const bool unbounded = certainty > 64;
  const quant::PreparedQuery prepared =
      quantiser.prepare(query.data(), unbounded ? 0 : certainty, scratch->data());
  std::vector<RankedRow> ranked;
  for (const EncodedRow& row : rows) {
    if (!row.live) continue;
    RankedRow next = rank(quantiser, prepared, row);
    const bool code_only = unbounded || prepared.zero;
    next.hit.score = (code_only ? next.code : std::min(next.code, next.upper)) + 0.0f;
    VICINAL_ASSERT(std::isfinite(next.hit.score));
    ranked.push_back(next);
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const RankedRow& a, const RankedRow& b) { return before(a.hit, b.hit); });
  return ranked;
}

std::vector<Hit> choose(std::span<const RankedRow> ranked, const SearchOptions& options) {
  std::set<std::uint64_t> allowed;
  if (options.filter) allowed.insert(options.filter->begin(), options.filter->end());
  std::vector<Hit> hits;
  for (const RankedRow& row : ranked) {
    if (hits.size() == options.k) break;
    if (options.filter && !allowed.contains(row.hit.id)) continue;
    if (row.hit.score < options.min_score) continue;
    if (options.after && !before(*options.after, row.hit)) continue;
    hits.push_back(row.hit);
  }
  return hits;
}

}  // namespace vicinal::test
