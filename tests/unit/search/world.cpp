#include "world.hpp"

#include <cstring>

#include "base/random.hpp"

namespace vicinal::test {
namespace {

// Roughly normal: the sum of four uniform values.
[[nodiscard]] float spread(Random& random) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<float>(random.below(1u << 16)) / 65536.0f - 0.5f;
  return sum;
}

[[nodiscard]] float effective_certainty(const SearchOptions& options) {
  return options.exhaustive ? kInfinity : options.certainty;
}

}  // namespace

std::string name_of(const Shape& shape) {
  const char* metrics[] = {"cosine", "ip", "l2"};
  return std::string(metrics[static_cast<int>(shape.metric)]) + ", dim " +
         std::to_string(shape.dim) + ", " + std::to_string(shape.bits) + " bits";
}

std::unique_ptr<quant::Quantiser> make_quantiser(const Shape& shape, const char* kernels) {
  auto made = quant::Quantiser::create(shape.dim, shape.metric, shape.bits, 7,
                                       *simd::find_kernels(kernels));
  return std::move(*made);
}

std::vector<std::vector<float>> make_vectors(std::uint64_t seed, std::uint32_t count,
                                             std::uint32_t dim) {
  constexpr std::uint32_t kCentres = 5;
  std::vector<std::vector<float>> centres(kCentres, std::vector<float>(dim));
  Random centre_random(99);
  for (auto& centre : centres) {
    for (float& x : centre) x = spread(centre_random);
  }
  Random random(seed);
  std::vector<std::vector<float>> vectors(count, std::vector<float>(dim));
  for (auto& vector : vectors) {
    const auto& centre = centres[random.below(kCentres)];
    const float length = 0.25f + static_cast<float>(random.below(64)) / 16.0f;
    for (std::uint32_t j = 0; j < dim; ++j) vector[j] = length * (centre[j] + spread(random));
  }
  return vectors;
}

std::vector<EncodedRow> encode_rows(const quant::Quantiser& quantiser,
                                    std::span<const std::vector<float>> vectors) {
  std::vector<EncodedRow> rows;
  rows.reserve(vectors.size());
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    rows.push_back(encode_row(quantiser, mix64(i + 1), vectors[i]));
  }
  return rows;
}

Hits search_hits(const segment::Version& version, const quant::Quantiser& quantiser,
                 std::span<const float> query, const SearchOptions& options,
                 search::Scratch* scratch) {
  std::unique_ptr<search::Scratch> own;
  if (scratch == nullptr) {
    auto made = search::Scratch::create(quantiser);
    own = std::move(*made);
    scratch = own.get();
  }
  search::Found found;
  const Status status =
      search::search(version, quantiser, query, options, nullptr, *scratch, &found);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(found.ids.size(), found.scores.size());
  Hits hits;
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    hits.hits.push_back({found.ids[i], found.scores[i]});
  }
  hits.rows_estimated = found.rows_estimated;
  hits.rows_scored = found.rows_scored;
  return hits;
}

testing::AssertionResult same_hits(std::span<const Hit> found, std::span<const Hit> expected) {
  if (found.size() != expected.size()) {
    return testing::AssertionFailure()
           << found.size() << " hits where " << expected.size() << " were expected";
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].id != expected[i].id ||
        std::memcmp(&found[i].score, &expected[i].score, sizeof(float)) != 0) {
      return testing::AssertionFailure()
             << "hit " << i << " is " << found[i].id << " with " << found[i].score << ", not "
             << expected[i].id << " with " << expected[i].score;
    }
  }
  return testing::AssertionSuccess();
}

World::World(const Shape& wanted, std::uint64_t seed, std::uint32_t count,
             std::uint32_t rows_per_segment, std::uint32_t dead_of_16)
    : shape(wanted),
      quantiser(make_quantiser(wanted)),
      vectors(make_vectors(seed, count, wanted.dim)),
      rows(encode_rows(*quantiser, vectors)) {
  Random random(seed + 1);
  for (EncodedRow& row : rows) row.live = random.below(16) >= dead_of_16;
  fixture = std::make_unique<VersionFixture>(quantiser->layout(), rows, rows_per_segment);
}

std::vector<Hit> World::expected(std::span<const float> query,
                                 const SearchOptions& options) const {
  return choose(rank_all(*quantiser, rows, query, effective_certainty(options)), options);
}

Hits World::found(std::span<const float> query, const SearchOptions& options,
                  search::Scratch* scratch) const {
  return search_hits(fixture->version(), *quantiser, query, options, scratch);
}

std::vector<std::uint64_t> World::live_ids() const {
  std::vector<std::uint64_t> ids;
  for (const EncodedRow& row : rows) {
    if (row.live) ids.push_back(row.id);
  }
  return ids;
}

}  // namespace vicinal::test
