// What a result is worth nothing without: commit, machine, compiler, load.
//
// Thread safety: pure reads, from any thread.
#pragma once

#include <string>

#include "bench/bench.hpp"

namespace vicinal::bench {

// commit, machine, cores, kernel, simd, compiler and load_1m, in this order. The commit is that of
// the build; "and changes" follows it where the tree differed.
[[nodiscard]] Row environment();

// The rows as a table: a column for each name that any row has, in the order in which they come.
[[nodiscard]] std::string table_of(const std::vector<Row>& rows);

// A value for people: figures with four digits.
[[nodiscard]] std::string text_of(const Value& value);

}  // namespace vicinal::bench
