// Uses the installed library as its documentation says: two rows in, the nearer one out.
#include <vicinal/vicinal.hpp>

#include <array>
#include <cstdint>
#include <cstdio>

int main() {
  auto created = vicinal::Index::create({.dim = 4});
  if (!created.ok()) return 1;
  vicinal::Index& index = created.value();

  const std::array<std::uint64_t, 2> ids = {7, 8};
  const std::array<float, 8> rows = {1, 0, 0, 0, 0, 1, 0, 0};
  if (!index.add(ids, rows).ok()) return 2;

  const std::array<float, 4> query = {0.1f, 0.9f, 0, 0};
  vicinal::Reader reader = index.reader();
  const auto hits = reader.search(query, {.k = 1});
  if (!hits.ok() || hits.value().size() != 1) return 3;
  std::printf("nearest %llu\n", static_cast<unsigned long long>(hits.value()[0].id));
  return 0;
}
