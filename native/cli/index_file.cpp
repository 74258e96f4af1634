#include "cli/index_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/option_checks.hpp"

namespace vicinal::cli {
namespace {

constexpr int kLockTriesMax = 100;

Index open_index(const IndexFile& file, bool read_only) {
  OpenOptions options;
  options.read_only = read_only;
  options.detached = !read_only;  // a command's changes are in the file all at once, or not at all
  options.memory_bytes_max = file.bytes_max;
  return require(file.path, Index::open(file.path, options));
}

bool is_still_at(int descriptor, const std::string& path) noexcept {
  struct stat held {};
  struct stat found {};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &found) == 0 &&
         held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

}  // namespace

const char* name_of(Metric metric) noexcept {
  switch (metric) {
    case Metric::cosine: return "cosine";
    case Metric::ip: return "ip";
    case Metric::l2: return "l2";
  }
  return "unknown";
}

const char* name_of(Originals originals) noexcept {
  switch (originals) {
    case Originals::none: return "none";
    case Originals::float16: return "float16";
    case Originals::float32: return "float32";
  }
  return "unknown";
}

void IndexFile::attach(CLI::App& parser) {
  parser.add_option("--index", path, "The index file")->required()->type_name("FILE");
  add_max_bytes(parser, bytes_max);
}

Index IndexFile::open_to_read() const { return open_index(*this, true); }
Index IndexFile::open_to_write() const { return open_index(*this, false); }

WriterLock::WriterLock(const std::string& path) {
  // A writer replaces the file, so the one that was locked may be the old one by then.
  for (int tries = 0; tries < kLockTriesMax; ++tries) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) throw io_failure(path, errno);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) break;
    if (is_still_at(descriptor_, path)) return;
    ::close(descriptor_);
    descriptor_ = -1;
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  throw Failure(Code::busy, fmt::format("{}: another process is changing it", path));
}

WriterLock::~WriterLock() { ::close(descriptor_); }

void save(const Index& index, const std::string& path) {
  check_interrupted();
  require(path, index.save(path));
}

Reader open_reader(const Index& index, const std::string& path) {
  Reader reader = index.reader();
  require(path, reader.status());
  return reader;
}

Stats stats_of(const Index& index, const std::string& path) {
  return require(path, index.try_stats());
}

std::vector<std::uint64_t> all_ids(Reader& reader, const Index& index) {
  // A search that asks for every row finds every row, whatever it looks for.
  SearchOptions options;
  options.k = reader.size();
  options.exhaustive = true;
  const std::vector<float> anything(index.options().dim, 0.0f);
  const Hits hits = require("the index", reader.search(anything, options));
  std::vector<std::uint64_t> ids(hits.ids().begin(), hits.ids().end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::uint64_t file_bytes(const std::string& path) noexcept {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

}  // namespace vicinal::cli
