// What the benchmarks of `vicinal bench` have in common: options in, rows of named figures out.
//
// Thread safety: values; benches() may be called from any thread.
// I1: a bench prints nothing. It returns rows; whoever called it makes a table or JSON of them.
// I2: a bench speaks to the library through its public interface only, so that it measures what a
//     user gets. But for page-cache, buffer-header and free-list: core/cache has none yet.
// I3: a figure that cannot be had is absent (Kind::none), never made up.
//
// A new bench is one file bench_NAME.cpp and one line in benches.cpp: the command line, the JSON
// and the table need no change.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vicinal/types.hpp"

namespace vicinal::bench {

// A number, a truth, a text, or nothing. Not a std::variant: GCC 12 believes that copies of one,
// text included, read what was never written.
struct Value {
  enum class Kind : std::uint8_t { none, whole, real, flag, text };

  Value() = default;
  template <std::unsigned_integral T>
  Value(T number) : kind(Kind::whole), whole(number) {}
  Value(bool truth) : kind(Kind::flag), flag(truth) {}
  Value(double number) : kind(Kind::real), real(number) {}
  Value(std::string words) : kind(Kind::text), text(std::move(words)) {}
  Value(const char* words) : Value(std::string(words)) {}

  Kind kind = Kind::none;
  std::uint64_t whole = 0;
  double real = 0;
  bool flag = false;
  std::string text;
};

struct Field {
  const char* name;
  Value value;
};
using Row = std::vector<Field>;

// Where there are several numbers of rows, dimensions, bits or k, every combination is measured.
struct Options {
  std::vector<std::uint64_t> n;    // rows of the index
  std::vector<std::uint32_t> dim;  // of the mixture
  std::vector<unsigned> bits;
  std::vector<std::size_t> k;
  // Callers at a time; empty: the bench has one caller, and no such option.
  std::vector<std::size_t> threads;
  double seconds = 1;  // a measured row, at least
  float certainty = 3.0f;
  // Rows that the index keeps as they were given; none: the bench has no such option.
  std::optional<Originals> originals;
  // By the user; else they are what the bench is made for.
  bool n_is_given = false;
  bool dim_is_given = false;
  bool k_is_given = false;

  // The mixture, where there is no file.
  std::uint64_t seed = 1;
  std::uint32_t clusters = 200;
  double noise = 1;

  // Files; `data` empty: a mixture.
  std::string data;
  std::string queries;
  std::string truth;
};

struct Bench {
  const char* name;
  const char* summary;
  // What it is made for: n, dim, bits, k and seconds.
  Options (*defaults)();
  std::vector<Row> (*run)(const Options& options);
  // What to know before reading its figures, in lines of at most 100 columns; may be empty.
  const char* notes = "";
};

// In the order of the help text.
[[nodiscard]] std::span<const Bench> benches() noexcept;

}  // namespace vicinal::bench
