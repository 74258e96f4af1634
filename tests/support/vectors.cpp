#include "support/vectors.hpp"

#include <cstdio>
#include <memory>

namespace vicinal::test {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

template <class T>
std::vector<T> read_rows(const std::string& path, std::size_t* width) {
  static_assert(sizeof(T) == 4);
  std::vector<T> values;
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  *width = 0;
  if (file == nullptr) return values;
  std::int32_t length = 0;
  while (std::fread(&length, sizeof length, 1, file.get()) == 1) {
    *width = static_cast<std::size_t>(length);
    const std::size_t offset = values.size();
    values.resize(offset + *width);
    if (std::fread(values.data() + offset, sizeof(T), *width, file.get()) != *width) return {};
  }
  return values;
}

}  // namespace

VectorSet read_fvecs(const std::string& path) {
  VectorSet set;
  std::size_t width = 0;
  set.values = read_rows<float>(path, &width);
  set.dim = static_cast<std::uint32_t>(width);
  return set;
}

std::vector<std::int32_t> read_ivecs(const std::string& path, std::size_t* width) {
  return read_rows<std::int32_t>(path, width);
}

}  // namespace vicinal::test
