// Random writes to an index in a file, and what the file has then. Where VICINAL_LOG_FILES names a
// folder, each file is kept there as NAME.vic beside its rows as NAME.rows: tests/format reads them
// with nothing of the core.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "engine/opener.hpp"
#include "support/file_world.hpp"
#include "support/test_scale.hpp"
#include "support/version_rows.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDims[] = {1, 8, 20, 33, 72, 128, 200};
constexpr std::uint8_t kBits[] = {1, 2, 3, 4, 8};

// An index that is written to, with the ids that it should have.
class Written {
 public:
  Written(std::string path, std::uint64_t seed) : path_(std::move(path)), random_(seed) {
    options_.dim = kDims[random_.below(std::size(kDims))];
    options_.bits = kBits[random_.below(std::size(kBits))];
    options_.metric = static_cast<Metric>(random_.below(3));
    options_.seed = random_.next();
    options_.ids = seed % 3 == 0 ? IdKind::string : IdKind::number;
    std::filesystem::remove(path_);
    open();
  }
  ~Written() {
    index_.reset();
    std::filesystem::remove(path_);
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  void step() {
    const std::uint32_t what = random_.below(20);
    if (what < 10) return add();
    if (what < 13) return replace();
    if (what < 17) return remove();
    if (what == 17) return (void)expect(index_->compact().status());
    if (what == 18) return clear();
    index_->close();
    if (random_.below(2) != 0) index_.reset();  // else its mappings are still there
    open();
  }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] const std::set<std::uint64_t>& ids() const { return ids_; }
  [[nodiscard]] Random& random() { return random_; }

 private:
  void open() {
    OpenOptions options;
    options.create = options_;
    options.mapped = random_.below(2) != 0;
    auto opened = Index::open(path_, options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    index_.emplace(std::move(opened).value());
  }
  static bool expect(const Status& status) {
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok();
  }
  std::vector<float> rows(std::size_t count) {
    std::vector<float> floats(count * options_.dim);
    for (float& value : floats) value = static_cast<float>(random_.below(2001)) - 1000;
    return floats;
  }
  WriteOptions some_options() {
    WriteOptions options;
    options.durable = random_.below(2) != 0;
    return options;
  }
  template <class Call>
  void write(Call call, const std::vector<std::uint64_t>& ids) {
    expect(Names(*index_, ids).with(call).status());
  }
  void add() {
    std::vector<std::uint64_t> ids(1 + random_.below(random_.below(3) == 0 ? 300 : 20));
    for (std::uint64_t& id : ids) ids_.insert(id = next_id_++);
    write([&](auto names) { return index_->add(names, rows(ids.size()), some_options()); }, ids);
  }
  void replace() {
    std::set<std::uint64_t> chosen;
    for (std::uint32_t i = 0; i < 30; ++i) {
      const auto found = ids_.lower_bound(random_.below(next_id_ + 1));
      if (found != ids_.end()) chosen.insert(*found);
    }
    const std::vector<std::uint64_t> ids(chosen.begin(), chosen.end());
    write([&](auto names) { return index_->upsert(names, rows(ids.size()), some_options()); }, ids);
  }
  void remove() {
    std::vector<std::uint64_t> ids;
    const std::uint32_t share = random_.below(10);
    for (const std::uint64_t id : ids_) {
      if (random_.below(10) < share) ids.push_back(id);
    }
    for (const std::uint64_t id : ids) ids_.erase(id);
    write([&](auto names) { return index_->remove(names, some_options()); }, ids);
  }
  void clear() {
    expect(index_->clear(some_options()).status());
    ids_.clear();
    if (options_.metric == Metric::ip || random_.below(2) == 0) return;
    expect(index_->calibrate(rows(40), some_options()).status());
  }

  std::string path_;
  Random random_;
  IndexOptions options_;
  std::optional<Index> index_;
  std::set<std::uint64_t> ids_;
  std::uint64_t next_id_ = 0;
};

// The file as it is now: its rows, which are those of the ids, and a copy for other readers.
void check(const Written& written, const std::string& name) {
  const std::string bytes = written.bytes();
  const auto core = engine::Opener::load(std::as_bytes(std::span(bytes)), 0);
  ASSERT_TRUE(core.ok()) << name << ": " << core.status().message();
  const auto& version = static_cast<const segment::Version&>(*(*core)->root().newest());
  EXPECT_EQ(version.live_rows, written.ids().size()) << name;
  for (const std::uint64_t id : written.ids()) {
    const auto found = version.strings.any() ? version.find(segment::StringKey::of(text_of(id)))
                                             : version.find(id);
    ASSERT_TRUE(found.valid()) << name;
  }
  const char* folder = std::getenv("VICINAL_LOG_FILES");
  if (folder == nullptr) return;
  std::ofstream(std::string(folder) + '/' + name + ".vic", std::ios::binary) << bytes;
  std::ofstream(std::string(folder) + '/' + name + ".rows")
      << rows_of(version, (*core)->quantiser().layout());
}

TEST(JournalFiles, HaveAllThatWasWrittenAtAnyTime) {
  for (std::uint64_t seed = 1; seed <= scaled(12); ++seed) {
    SCOPED_TRACE(seed);
    const std::string path = testing::TempDir() + "/journal_files_" + std::to_string(seed);
    Written written(path, seed);
    const std::uint32_t steps = 1 + written.random().below(60);
    for (std::uint32_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      written.step();
      if (written.random().below(8) != 0 && step + 1 != steps) continue;
      check(written, std::to_string(seed) + '_' + std::to_string(step));
    }
  }
}

}  // namespace
}  // namespace vicinal::test
