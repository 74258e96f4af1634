// A history of writes whose every state is known, for tests of indexes in files.
//
// Thread safety: values and pure functions.
// I1: step n of a history is one commit; states()[n] is the content before it, the last one that
//     after all of them.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "support/index_world.hpp"

namespace vicinal::test {

// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "vicinal-index-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] inline std::vector<std::byte> bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}
inline void put_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// That it can be opened is the caller's concern.
[[nodiscard]] inline Index opened(const std::string& path, const OpenOptions& options = {}) {
  auto index = Index::open(path, options);
  EXPECT_TRUE(index.ok()) << index.status().message();
  return std::move(index).value();
}
[[nodiscard]] inline OpenOptions reading(bool mapped = true) {
  OpenOptions options;
  options.read_only = true;
  options.mapped = mapped;
  return options;
}

// The string that stands for a number where ids are strings: of several lengths, some with bytes
// that are no text. 0 is the empty one.
[[nodiscard]] inline std::string text_of(std::uint64_t id) {
  if (id == 0) return {};
  const std::size_t more = id % 97 == 5 ? 700 : mix64(id) % 30;
  return std::to_string(id) + '\0' + std::string(more, static_cast<char>(128 + id % 100));
}

// Ids as either kind of index takes them.
class Names {
 public:
  Names(const Index& index, std::vector<std::uint64_t> ids)
      : strings_(index.options().ids == IdKind::string), ids_(std::move(ids)) {
    for (const std::uint64_t id : ids_) texts_.push_back(text_of(id));
    views_.assign(texts_.begin(), texts_.end());
  }
  // call(ids) with a list of the kind that the index takes.
  template <class Call>
  auto with(Call call) const {
    return strings_ ? call(IdStrings(views_)) : call(std::span<const std::uint64_t>(ids_));
  }

 private:
  bool strings_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
};

[[nodiscard]] inline Result<std::vector<float>> row_with(Reader& reader, IdKind kind,
                                                         std::uint64_t id) {
  return kind == IdKind::string ? reader.get(text_of(id)) : reader.get(id);
}

// All that an index holds of ids below `ids`, in one number; 0: it answers with an error.
[[nodiscard]] inline std::uint64_t content_of(const Index& index, std::uint64_t ids) {
  Reader reader = index.reader();
  if (!reader.status().ok()) return 0;
  std::uint64_t sum = index.stats().calibrated ? 7 : 3;
  std::uint64_t rows = 0;
  for (std::uint64_t id = 0; id < ids; ++id) {
    const auto vector = row_with(reader, index.options().ids, id);
    if (vector.code() == Code::unknown_id) continue;
    if (!vector.ok()) return 0;
    sum = checksum64(vector->data(), vector->size() * sizeof(float), sum ^ (id << 8));
    ++rows;
  }
  if (reader.size() != rows) return 0;
  // What a search sees has to be the same rows.
  SearchOptions all;
  all.k = rows + 10;
  const auto hits = reader.search(vector_of(3, index.options().dim), all);
  if (!hits.ok() || hits->size() != rows) return 0;
  for (std::size_t i = 0; i < hits->string_ids().size(); ++i) {
    if (!reader.has(hits->string_ids()[i])) return 0;
  }
  return sum;
}

class History {
 public:
  using Step = std::function<Result<Receipt>(Index&, const WriteOptions&)>;

  explicit History(const IndexOptions& options) : options_(options) {}

  void add(std::uint64_t first, std::uint64_t count, std::uint64_t revision = 0) {
    write([=, dim = options_.dim](Index& index, const WriteOptions& how) {
      const auto ids = ids_from(first, count);
      return Names(index, ids).with(
          [&](auto names) { return index.add(names, rows_of(ids, dim, revision), how); });
    });
  }
  void upsert(std::uint64_t first, std::uint64_t count, std::uint64_t revision) {
    write([=, dim = options_.dim](Index& index, const WriteOptions& how) {
      const auto ids = ids_from(first, count);
      return Names(index, ids).with(
          [&](auto names) { return index.upsert(names, rows_of(ids, dim, revision), how); });
    });
  }
  void remove(std::uint64_t first, std::uint64_t count) {
    write([=](Index& index, const WriteOptions& how) {
      return Names(index, ids_from(first, count)).with([&](auto names) {
        return index.remove(names, how);
      });
    });
  }
  void clear() {
    write([](Index& index, const WriteOptions& how) { return index.clear(how); });
  }
  void calibrate() {
    write([dim = options_.dim](Index& index, const WriteOptions& how) {
      return index.calibrate(rows_of(ids_from(0, 40), dim, 9), how);
    });
  }
  void write(Step step) { steps_.push_back(std::move(step)); }

  [[nodiscard]] const IndexOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  // I1.
  [[nodiscard]] std::vector<std::uint64_t> states(std::uint64_t ids) const {
    Index index = std::move(Index::create(options_)).value();
    std::vector<std::uint64_t> states = {content_of(index, ids)};
    for (const Step& step : steps_) {
      EXPECT_TRUE(step(index, {}).ok());
      states.push_back(content_of(index, ids));
    }
    return states;
  }

 private:
  IndexOptions options_;
  std::vector<Step> steps_;
};

inline constexpr std::uint64_t kHistoryIds = 400;
inline constexpr IdKind kBothKinds[] = {IdKind::number, IdKind::string};

// A short one that has everything in it: unfinished blocks, whole ones, several segments, deaths
// one by one and in pages, `clear`, a calibration, replaced rows.
[[nodiscard]] inline History varied_history(std::uint32_t dim, std::uint8_t bits,
                                            Metric metric = Metric::cosine,
                                            IdKind ids = IdKind::number) {
  IndexOptions options = small_options(dim, metric, bits);
  options.ids = ids;
  History history(options);
  history.add(0, 5);
  history.add(5, 1);
  history.add(6, 40);
  history.remove(3, 2);
  history.upsert(0, 10, 1);
  history.add(100, 130);
  history.remove(20, 15);
  history.add(50, 1);
  history.clear();
  if (metric != Metric::ip) history.calibrate();
  history.add(0, 33);
  history.upsert(30, 7, 2);
  history.add(200, 170);
  history.remove(0, 160);
  for (std::uint64_t id = 0; id < 12; ++id) history.add(id, 1, 3);
  history.remove(200, 169);
  return history;
}

[[nodiscard]] inline OpenOptions open_options(const History& history) {
  OpenOptions options;
  options.create = history.options();
  return options;
}

}  // namespace vicinal::test
