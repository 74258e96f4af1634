// A seeded log of writes, and what an index must answer after each of them.
//
// Thread safety: immutable once made, oracles apart: those belong to one thread.
#pragma once

#include <map>
#include <vector>

#include "support/index_world.hpp"

namespace vicinal::test {

struct Operation {
  WriteKind kind;
  std::vector<std::uint64_t> ids;
  std::uint64_t revision;
};

[[nodiscard]] inline std::vector<Operation> make_log(std::uint64_t seed, std::uint64_t count) {
  Random random(seed);
  // A calibration while nothing is there, at first and after each clear.
  std::vector<Operation> log = {{WriteKind::calibrate, {}, 0}};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t kind = random.below(100);
    Operation operation{kind < 65 ? WriteKind::upsert : WriteKind::remove, {}, i};
    if (kind == 99) operation.kind = WriteKind::clear;
    for (std::uint32_t n = 1 + random.below(60); n > 0 && kind != 99; --n) {
      operation.ids.push_back(random.below(400));
    }
    const bool cleared = operation.kind == WriteKind::clear;
    log.push_back(std::move(operation));
    if (cleared) log.push_back({WriteKind::calibrate, {}, i});
  }
  return log;
}

inline Result<Receipt> calibrate(Index& index, std::uint64_t revision) {
  if (index.options().metric == Metric::ip) return index.clear();  // has none: nothing changes
  return index.calibrate(rows_of(ids_from(0, 40), index.options().dim, 100'000 + revision));
}

inline Result<Receipt> apply(Index& index, const Operation& operation) {
  if (operation.kind == WriteKind::calibrate) return calibrate(index, operation.revision);
  if (operation.kind == WriteKind::clear) return index.clear();
  if (operation.kind == WriteKind::remove) return index.remove(operation.ids);
  return index.upsert(operation.ids,
                      rows_of(operation.ids, index.options().dim, operation.revision));
}

// What the log leaves, by plain maps: id -> revision.
using Contents = std::map<std::uint64_t, std::uint64_t>;

inline void apply(Contents& contents, const Operation& operation) {
  if (operation.kind == WriteKind::clear) contents.clear();
  for (const std::uint64_t id : operation.ids) {
    if (operation.kind == WriteKind::remove) contents.erase(id);
    if (operation.kind == WriteKind::upsert) contents[id] = operation.revision;
  }
}

// Adds exactly these rows, in the order of their ids, by one add.
inline void add_all(Index& index, const Contents& contents) {
  std::vector<std::uint64_t> ids;
  std::vector<float> rows;
  for (const auto& [id, revision] : contents) {
    ids.push_back(id);
    const auto row = rows_of(std::span(&id, 1), index.options().dim, revision);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  (void)index.add(ids, rows);
}

// A fresh index that holds exactly these rows.
[[nodiscard]] inline Index index_of(const Contents& contents, const IndexOptions& options) {
  Index index = std::move(Index::create(options)).value();
  add_all(index, contents);
  return index;
}

}  // namespace vicinal::test
