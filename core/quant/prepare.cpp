#include <cstring>

#include "base/assert.hpp"
#include "quant/direction.hpp"
#include "quant/quantiser.hpp"
#include "quant/query.hpp"
#include "quant/scratch.hpp"
#include "simd/bound.hpp"

namespace vicinal::quant {
namespace {

constexpr float kCodeMax8 = 127;    // 2 * 127 * 127 fits the 16 bits of a pair of products
constexpr float kCodeMax16 = 2047;  // 12 bits

struct QueryScratch {
  float* x;
  float* spare;
  std::uint32_t* tables;
  std::size_t table_words;
  std::byte* values;
  std::size_t value_bytes;

  static QueryScratch carve(Carver& carver, const Rotation& rotation,
                            const CodeLayout& layout) noexcept {
    QueryScratch scratch;
    scratch.x = carver.take<float>(rotation.array_floats());
    scratch.spare = carver.take<float>(rotation.array_floats());
    scratch.table_words = std::size_t{table_groups(layout.groups)} * (simd::kGroupBytes / 4);
    scratch.tables = carver.take<std::uint32_t>(scratch.table_words + simd::kOverread / 4);
    scratch.value_bytes =
        std::size_t{2} * layout.half_chunks() * simd::kChunkValues * (layout.bits == 8 ? 2 : 1);
    scratch.values = carver.take<std::byte>(scratch.value_bytes + simd::kOverread);
    return scratch;
  }
};

// The metric's part of the score and the shape of the arrays; all else is 0, as for a zero query.
[[nodiscard]] PreparedQuery empty_query(const CodeLayout& layout, Metric metric, double length,
                                        const QueryScratch& scratch) noexcept {
  PreparedQuery prepared;
  prepared.zero = length == 0;
  simd::PlaneQuery& plane = prepared.plane;
  plane.tables = reinterpret_cast<const std::uint8_t*>(scratch.tables);
  plane.groups = layout.groups;
  plane.coded_dim = static_cast<float>(layout.coded_dim);
  plane.l2 = metric == Metric::l2;
  plane.weight = metric == Metric::cosine ? 1.0f
                 : metric == Metric::ip   ? static_cast<float>(length)
                                          : static_cast<float>(2 * length);
  plane.query2 = static_cast<float>(length * length);
  prepared.code.groups = layout.groups;
  prepared.code.half_chunks = layout.half_chunks();
  if (layout.bits == 8) {
    prepared.code.values16 = reinterpret_cast<const std::int16_t*>(scratch.values);
  } else {
    prepared.code.values8 = reinterpret_cast<const std::int8_t*>(scratch.values);
  }
  return prepared;
}

// The tables, and the line that bounds the error; room.x: the rotated unit query.
void prepare_plane(const CodeLayout& layout, float certainty, const QueryScratch& room,
                   simd::PlaneQuery& plane) noexcept {
  // The tables of the last four groups may reach beyond D.
  for (std::uint32_t j = 0; j < simd::kOverread / sizeof(float); ++j) {
    room.x[layout.coded_dim + j] = 0;
  }
  const PlaneTables tables = build_plane_tables(room.x, layout.groups, room.tables);
  const simd::ErrorLine error =
      simd::error_line(certainty, static_cast<float>(layout.coded_dim), tables.residual2);
  plane.step = tables.step;
  plane.base = tables.base + error.at_zero;
  plane.slope = error.slope;
}

// Makes the metric's part of the score that of half the squared distance of unit vectors
// (calibration.hpp), which is 1 - cosine: `length` is the query's distance from the origin.
void measure_cosine(double length, simd::PlaneQuery* plane) noexcept {
  plane->l2 = true;
  plane->weight = static_cast<float>(length);
  plane->coded_dim = plane->coded_dim * 0.5f;
  plane->query2 = static_cast<float>((length * length - 2) * 0.5);
}

template <class T>
[[nodiscard]] const T* moved_to(const T* array, const std::byte* from, std::byte* to) noexcept {
  if (array == nullptr) return nullptr;
  return reinterpret_cast<const T*>(to + (reinterpret_cast<const std::byte*>(array) - from));
}

}  // namespace

PreparedQuery PreparedQuery::moved(const std::byte* from, std::byte* to) const noexcept {
  PreparedQuery query = *this;
  query.plane.tables = moved_to(plane.tables, from, to);
  query.code.values8 = moved_to(code.values8, from, to);
  query.code.values16 = moved_to(code.values16, from, to);
  return query;
}

std::size_t Quantiser::prepare_scratch_bytes() const noexcept {
  Carver carver(nullptr);
  QueryScratch::carve(carver, rotation_, layout_);
  return carver.bytes();
}

PreparedQuery Quantiser::prepare(const float* query, float certainty, std::byte* scratch,
                                 const float* origin) const noexcept {
  VICINAL_ASSERT(query != nullptr && scratch != nullptr);
  VICINAL_ASSERT(origin == nullptr || metric_ != Metric::ip);
  VICINAL_ASSERT(certainty >= 0);
  Carver carver(scratch);
  const QueryScratch room = QueryScratch::carve(carver, rotation_, layout_);
  double length = vector_length(query, layout_.dim);
  // The zero query of a cosine index scores 0 everywhere, whatever the origin.
  const bool moved = origin != nullptr && !(metric_ == Metric::cosine && length == 0);
  if (moved) {
    const double inverse = metric_ == Metric::cosine ? 1 / length : 1;
    from_origin(query, layout_.dim, inverse, origin, room.x);
    length = vector_length(room.x, layout_.dim);
    query = room.x;
  }
  PreparedQuery prepared = empty_query(layout_, metric_, length, room);
  if (moved && metric_ == Metric::cosine) measure_cosine(length, &prepared.plane);
  if (prepared.zero) {
    std::memset(room.tables, 0, room.table_words * sizeof(std::uint32_t));
    std::memset(room.values, 0, room.value_bytes);
    return prepared;
  }
  unit_vector(query, layout_.dim, length, layout_.coded_dim, room.x);
  rotation_.apply(*kernels_, room.x, room.spare);

  if (certainty <= kCertaintyMax) prepare_plane(layout_, certainty, room, prepared.plane);

  const float largest = largest_magnitude(room.x, layout_.coded_dim);
  const float top = layout_.bits == 8 ? kCodeMax16 : kCodeMax8;
  prepared.code_step = largest / top;
  const float factor = top / largest;
  prepared.code.value_sum =
      layout_.bits == 8
          ? build_code_query(room.x, layout_, factor, reinterpret_cast<std::int16_t*>(room.values))
          : build_code_query(room.x, layout_, factor, reinterpret_cast<std::int8_t*>(room.values));
  return prepared;
}

}  // namespace vicinal::quant
