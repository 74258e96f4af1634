// The index that a benchmark searches.
//
// Thread safety: one thread at a time.
// I1: row i of the data has the id i.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/data.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::bench {

// What failures name.
inline constexpr const char* kSubject = "the index measured";

// Empty, by the cosine, flat.
[[nodiscard]] Index make_index(std::uint32_t dim, unsigned bits,
                               Originals originals = Originals::none);

// Rows [first, first + count) of the data, as one batch.
void add_rows(Index& index, const DataSet& data, std::size_t first, std::size_t count);

// All of the data, in batches.
[[nodiscard]] Index build_index(const DataSet& data, unsigned bits,
                                Originals originals = Originals::none);

[[nodiscard]] Reader open_reader(const Index& index);

[[nodiscard]] SearchOptions search_options(const Options& options, std::size_t k);

}  // namespace vicinal::bench
