// libFuzzer: whole index files. An input is a list of changes to one of the kept files: its first
// byte chooses the file, the second whether the sums of superblock, meta slots and records are made
// right again, so that what lies behind them is reached, the third how much is cut off; then come
// changes of four bytes, a place and what is done to the byte there. Whatever opens is searched and
// looked through; a damaged file is an error. AddressSanitizer watches what is read.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "storage/log_format.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::test {
namespace {

using namespace storage;
using Bytes = std::vector<std::byte>;

constexpr const char* kFiles[] = {"journal_calibrated.vic", "journal_one_bit.vic", "one_bit.vic",
                                  "empty.vic"};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

Bytes read_file(const char* name) {
  const std::string path = std::string(VICINAL_GOLDEN) + "/" + name;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail(path + " is missing");
  Bytes bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

const Bytes& kept_file(std::size_t index) {
  static const std::array<Bytes, std::size(kFiles)> files = [] {
    std::array<Bytes, std::size(kFiles)> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = read_file(kFiles[i]);
    return all;
  }();
  return files[index % files.size()];
}

std::uint64_t word_at(const Bytes& bytes, std::uint64_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}
void put_word(Bytes& bytes, std::uint64_t at, std::uint64_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof word);
}

// Of the uuid, then `bytes` from `at` on.
std::uint64_t sum_with_uuid(const Bytes& file, std::uint64_t at, std::size_t bytes) {
  Bytes both(file.begin() + 16, file.begin() + 32);
  const auto from = file.begin() + static_cast<std::ptrdiff_t>(at);
  both.insert(both.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
  return checksum64(both.data(), both.size());
}

void mend(Bytes& file) {
  if (file.size() < kLogStart) return;
  put_word(file, 56, checksum64(file.data(), 56));
  put_word(file, 4088, checksum64(file.data(), 4088));
  for (std::uint32_t slot = 0; slot < kMetaSlots; ++slot) {
    put_word(file, meta_position(slot) + 56, sum_with_uuid(file, meta_position(slot), 56));
  }
  std::uint64_t previous = 0;
  for (std::uint64_t at = kLogStart; at + kRecordHeaderBytes <= file.size();) {
    const std::uint64_t bytes = word_at(file, at + 16);
    const std::uint64_t body = word_at(file, at + 24);
    if (bytes < kRecordHeaderBytes || bytes > file.size() - at ||
        body > bytes - kRecordHeaderBytes) {
      return;
    }
    put_word(file, at + 40, checksum64(file.data() + at + kRecordHeaderBytes, body));
    put_word(file, at + 48, previous);
    previous = sum_with_uuid(file, at, 56);
    put_word(file, at + 56, previous);
    at += bytes;
  }
}

void change(Bytes& file, const std::uint8_t* data, std::size_t size) {
  for (; size >= 4; data += 4, size -= 4) {
    if (file.empty()) return;
    const std::size_t at = (data[0] | std::size_t{data[1]} << 8 | std::size_t{data[2]} << 16) %
                           file.size();
    file[at] ^= static_cast<std::byte>(data[3]);
  }
}

// Everything that a reader can ask.
void look_through(const Index& index) {
  Reader reader = index.reader();
  if (!reader.status().ok()) fail("a reader of an index that opened: " + reader.status().message());
  std::vector<float> query(index.options().dim, 0.5f);
  SearchOptions all;
  all.k = reader.size() + 1;
  const auto hits = reader.search(query, all);
  if (!hits.ok()) fail("a file that was read as a whole is damaged: " + hits.status().message());
  if (hits->size() != reader.size()) fail("a search finds another number of rows");
  for (const std::uint64_t id : hits->ids()) {
    // A table of ids that is made to lack a row is not found out (segment/replay.hpp I1).
    const Code code = reader.get(id).code();
    if (code != Code::ok && code != Code::unknown_id) fail("a row that was found cannot be read");
  }
  (void)index.stats();
}

}  // namespace
}  // namespace vicinal::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vicinal::test;
  if (size < 3) return 0;
  Bytes file = kept_file(data[0]);
  change(file, data + 3, size - 3);
  if ((data[1] & 1) != 0) mend(file);
  if (data[2] != 0) file.resize(file.size() - file.size() * data[2] / 256);
  vicinal::OpenOptions options;
  options.memory_bytes_max = std::uint64_t{64} << 20;
  const auto index = vicinal::Index::from_bytes(file, options);
  if (index.ok()) look_through(*index);
  return 0;
}
