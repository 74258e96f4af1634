// An index file of a newer format, whose checksums are right, is not called damaged.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "storage/image.hpp"
#include "storage/log_format.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {
namespace {

constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kChecksumAt = storage::kImageHeaderBytes - sizeof(std::uint64_t);

struct Outcome {
  int status = -1;
  std::string output;
};

Outcome run(const std::string& arguments) {
  Outcome outcome;
  std::FILE* pipe = ::popen((std::string(VICINAL_COMMAND_PATH " ") + arguments).c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) outcome.output += part.data();
  const int ended = ::pclose(pipe);
  outcome.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return outcome;
}

std::vector<std::byte> image_of_version(std::uint32_t version) {
  IndexOptions options;
  options.dim = 8;
  auto index = Index::create(options);
  EXPECT_TRUE(index.ok());
  const std::vector<float> row(8, 1.0f);
  const std::vector<std::uint64_t> ids{5};
  EXPECT_TRUE(index->add(ids, row).ok());
  auto bytes = index->to_bytes();
  EXPECT_TRUE(bytes.ok());
  std::memcpy(bytes->data() + kVersionAt, &version, sizeof version);
  const std::uint64_t checksum = checksum64(bytes->data(), kChecksumAt);
  std::memcpy(bytes->data() + kChecksumAt, &checksum, sizeof checksum);
  return std::move(bytes).value();
}

class NewerVersion : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "vicinal-XXXXXX.vic";
    const int descriptor = ::mkstemps(name.data(), 4);
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    path_ = name;
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  Outcome info_of(std::uint32_t version) {
    const auto bytes = image_of_version(version);
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    return run("info --json --index '" + path_ + "'");
  }

  std::string path_;
};

TEST_F(NewerVersion, IsAnErrorOfItsOwnWithExitStatus3) {
  const Outcome outcome = info_of(storage::kLogVersion + 1);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.output.find(R"("code":"VERSION")"), std::string::npos) << outcome.output;
}

TEST_F(NewerVersion, DoesNotConcernTheOneOfAnIndexWithoutACalibration) {
  const Outcome outcome = info_of(storage::kImageVersionPlain);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find(R"("rows":1)"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace vicinal
