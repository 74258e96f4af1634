// Searches whose results every target has to give to the bit: tests/data/conformance.json, which
// the WebAssembly tests read too. After a change that is meant to change results, write it again
// with
//   VICINAL_WRITE_GOLDEN=1 build/native/tests/vicinal_test_golden
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "simd/kernels.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {
namespace {

const std::string kPath = std::string(VICINAL_TEST_DATA) + "/conformance.json";

struct Case {
  const char* name;
  std::uint32_t dim;
  Metric metric;
  std::uint8_t bits;
  std::uint64_t seed;
  std::uint32_t rows;
  std::uint32_t removed_every;  // 0: none are removed
  std::uint64_t k;
  std::uint32_t sample = 0;     // rows that the index is calibrated with, 0: it is not
};

// Every bits and metric, dims on and off the multiples of 8 and 64, tails, removals, k beyond the
// rows.
constexpr Case kCases[] = {
    {"one dimension", 1, Metric::cosine, 4, 0, 40, 0, 5},
    {"three dimensions, l2", 3, Metric::l2, 8, 1, 65, 0, 7},
    {"1 bit", 64, Metric::cosine, 1, 2, 257, 0, 10},
    {"2 bits, ip", 100, Metric::ip, 2, 3, 300, 0, 10},
    {"3 bits, l2", 96, Metric::l2, 3, 4, 129, 3, 10},
    {"4 bits", 100, Metric::cosine, 4, 5, 1000, 0, 10},
    {"4 bits, ip, removals", 128, Metric::ip, 4, 6, 500, 2, 20},
    {"4 bits, l2", 384, Metric::l2, 4, 7, 200, 0, 10},
    {"8 bits", 72, Metric::cosine, 8, 8, 400, 5, 10},
    {"8 bits, l2", 200, Metric::l2, 8, 9, 150, 0, 10},
    {"windows that overlap", 1032, Metric::cosine, 4, 10, 70, 0, 10},
    {"a large seed", 40, Metric::cosine, 4, 0x1fffffffffffff, 96, 0, 10},
    {"k beyond the rows", 16, Metric::cosine, 4, 11, 31, 4, 100},
    {"calibrated, 1 bit", 64, Metric::cosine, 1, 12, 200, 0, 10, 32},
    {"calibrated, 4 bits, removals", 100, Metric::cosine, 4, 13, 300, 3, 10, 100},
    {"calibrated, 3 bits, l2", 33, Metric::l2, 3, 14, 150, 0, 10, 50},
    {"calibrated, 8 bits, l2, a thinned sample", 8, Metric::l2, 8, 15, 90, 0, 10, 1500},
};
constexpr std::uint32_t kQueries = 6;

const char* metric_name(Metric metric) {
  constexpr const char* kNames[] = {"cosine", "ip", "l2"};
  return kNames[static_cast<int>(metric)];
}

// Seeds of a case's rows and queries; small, since JSON numbers are doubles.
std::uint64_t rows_seed(const Case& one) { return one.seed % 1000 * 2 + 1; }
std::uint64_t queries_seed(const Case& one) { return rows_seed(one) + 1; }
std::uint64_t sample_seed(const Case& one) { return rows_seed(one) + 1000; }

// Multiples of 2^-23 in [-1, 1): exact in float and easily made in any language.
std::vector<float> coordinates(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random.next() >> 40) / 8388608.0f - 1.0f;
  }
  return values;
}

std::string base64(const std::vector<float>& values) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) word = word << 8 | (j < left ? bytes[i + j] : 0u);
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= left ? kDigits[word >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

template <class T>
std::string list(const std::vector<T>& values) {
  std::ostringstream text;
  text << '[';
  for (std::size_t i = 0; i < values.size(); ++i) text << (i == 0 ? "" : ",") << values[i];
  text << ']';
  return text.str();
}

std::vector<std::uint64_t> removed_ids(const Case& one) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; one.removed_every != 0 && id < one.rows; id += one.removed_every) {
    ids.push_back(id);
  }
  return ids;
}

Index make_index(const Case& one, std::size_t batch) {
  IndexOptions options;
  options.dim = one.dim;
  options.metric = one.metric;
  options.bits = one.bits;
  options.seed = one.seed;
  Index index = Index::create(options).value();
  if (one.sample != 0) {
    EXPECT_TRUE(
        index.calibrate(coordinates(sample_seed(one), std::size_t{one.sample} * one.dim)).ok());
  }
  const auto rows = coordinates(rows_seed(one), std::size_t{one.rows} * one.dim);
  for (std::size_t first = 0; first < one.rows; first += batch) {
    const std::size_t count = std::min<std::size_t>(batch, one.rows - first);
    std::vector<std::uint64_t> ids(count);
    for (std::size_t i = 0; i < count; ++i) ids[i] = first + i;
    EXPECT_TRUE(index.add(ids, std::span(rows).subspan(first * one.dim, count * one.dim)).ok());
  }
  const auto removed = removed_ids(one);
  EXPECT_TRUE(index.remove(removed).ok());
  return index;
}

// The case with its results as a JSON object. `batch`: rows an add.
std::string run(const Case& one, std::size_t batch) {
  Index index = make_index(one, batch);
  Reader reader = index.reader();
  const auto queries = coordinates(queries_seed(one), std::size_t{kQueries} * one.dim);
  SearchOptions options;
  options.k = one.k;
  std::vector<std::string> ids;
  std::vector<float> scores;
  for (std::uint32_t q = 0; q < kQueries; ++q) {
    const auto hits =
        reader.search(std::span(queries).subspan(std::size_t{q} * one.dim, one.dim), options);
    EXPECT_TRUE(hits.ok());
    ids.push_back(list(std::vector<std::uint64_t>(hits->ids().begin(), hits->ids().end())));
    scores.insert(scores.end(), hits->scores().begin(), hits->scores().end());
  }
  std::ostringstream text;
  text << "{\"name\":\"" << one.name << "\",\"options\":{\"dim\":" << one.dim
       << ",\"metric\":\"" << metric_name(one.metric) << "\",\"bits\":" << int{one.bits}
       << ",\"seed\":" << one.seed << "},\n";
  if (one.sample != 0) {
    text << "\"sample\":{\"seed\":" << sample_seed(one) << ",\"count\":" << one.sample << "},\n";
  }
  text << "\"rows\":{\"seed\":" << rows_seed(one)
       << ",\"count\":" << one.rows << "},\"removed\":" << list(removed_ids(one))
       << ",\n\"queries\":{\"seed\":" << queries_seed(one) << ",\"count\":" << kQueries
       << "},\"k\":" << one.k << ",\n\"ids\":" << list(ids) << ",\n\"scores\":\""
       << base64(scores) << "\"}";
  return text.str();
}

std::string run_all(std::size_t batch) {
  std::string text = "[\n";
  for (const Case& one : kCases) {
    text += run(one, batch) + (&one == std::end(kCases) - 1 ? "\n" : ",\n");
  }
  return text + "]\n";
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Conformance : public testing::Test {
 protected:
  // The kernels that indexes made from now on use.
  static void force_kernels(const char* name) { ASSERT_EQ(setenv("VICINAL_SIMD", name, 1), 0); }
  void TearDown() override { unsetenv("VICINAL_SIMD"); }
};

// Cases whose indexes lie beside the results as files that `save` wrote, and every later version
// opens.
constexpr struct {
  const char* name;
  const char* file;
} kFiles[] = {{"3 bits, l2", "plain.vic"}, {"calibrated, 4 bits, removals", "calibrated.vic"}};

TEST_F(Conformance, FilesAreWrittenAndOpenedToTheByte) {
  for (const auto& [name, file] : kFiles) {
    const auto* one = std::find_if(std::begin(kCases), std::end(kCases),
                                   [&](const Case& at) { return at.name == std::string(name); });
    ASSERT_NE(one, std::end(kCases)) << name;
    const std::string path = std::string(VICINAL_TEST_DATA) + "/" + file;
    const Index index = make_index(*one, 1000);
    if (std::getenv("VICINAL_WRITE_GOLDEN") != nullptr) {
      ASSERT_TRUE(index.save(path).ok());
    }
    const auto bytes = *index.to_bytes();
    const std::string written(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_TRUE(read_file(path) == written) << path;
    const auto opened = Index::open(path);
    ASSERT_TRUE(opened.ok()) << path;
    EXPECT_EQ(*opened->to_bytes(), bytes);
  }
}

TEST_F(Conformance, EveryKernelGivesTheExpectedBits) {
  force_kernels("scalar");
  if (std::getenv("VICINAL_WRITE_GOLDEN") != nullptr) {
    std::ofstream(kPath) << run_all(1000);
  }
  const std::string expected = read_file(kPath);
  ASSERT_FALSE(expected.empty()) << kPath;
  for (const char* const* name = simd::available_kernels(); *name != nullptr; ++name) {
    force_kernels(*name);
    EXPECT_TRUE(run_all(1000) == expected) << *name;
  }
}

TEST_F(Conformance, BatchesOfAnySizeGiveTheSameBits) {
  const std::string expected = read_file(kPath);
  for (const std::size_t batch : {1, 7, 32, 33}) {
    EXPECT_TRUE(run_all(batch) == expected) << batch;
  }
}

TEST_F(Conformance, AnotherSeedGivesOtherBits) {
  Case other = kCases[5];
  other.seed += 100;
  EXPECT_NE(run(other, 1000), run(kCases[5], 1000));
}

}  // namespace
}  // namespace vicinal
