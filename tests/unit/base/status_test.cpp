#include "vicinal/status.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string>

namespace vicinal {
namespace {

constexpr int kCodes = static_cast<int>(Code::io) + 1;

TEST(Status, EveryCodeHasANameAndASentenceOfItsOwn) {
  std::set<std::string> names;
  std::set<std::string> sentences;
  for (int code = 0; code < kCodes; ++code) {
    names.insert(code_name(static_cast<Code>(code)));
    sentences.insert(Status(static_cast<Code>(code), 7, 9).message());
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCodes));
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(kCodes));
  EXPECT_EQ(names.count("UNKNOWN"), 0u);
}

TEST(Status, CodesKeepTheirPublicNames) {
  EXPECT_STREQ(code_name(Code::ok), "OK");
  EXPECT_STREQ(code_name(Code::duplicate_id), "DUPLICATE_ID");
  EXPECT_STREQ(code_name(Code::would_block), "WOULD_BLOCK");
  EXPECT_STREQ(code_name(Code::io), "IO");
}

TEST(Status, ACodeFromNowhereHasANameToo) {
  EXPECT_STREQ(code_name(static_cast<Code>(250)), "UNKNOWN");
  EXPECT_EQ(Status(static_cast<Code>(250)).message(), "unknown error 250");
}

TEST(Status, MessagesCarryTheNumbers) {
  EXPECT_EQ(Status(Code::dimension, 3, 4).message(),
            "a vector has 3 coordinates where 4 were expected");
  EXPECT_EQ(Status(Code::duplicate_id, 18446744073709551615u).message(),
            "id 18446744073709551615 is already present, or comes twice in this write");
  EXPECT_EQ(Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::bits)).message(),
            "bits is outside its documented range");
  EXPECT_EQ(Status(Code::bad_option, 99).message(), "an option is outside its documented range");
  EXPECT_EQ(Status(Code::full, 100, 64).message(),
            "the memory budget is reached (100 of 64 in use)");
}

TEST(Status, UnsupportedNamesTheOptionThatItIsAbout) {
  const auto message = [](std::uint64_t option) {
    return Status(Code::unsupported, option).message();
  };
  const std::string what = "this build or platform cannot do it";
  EXPECT_EQ(message(static_cast<std::uint64_t>(OptionName::partitions)), "partitions: " + what);
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{99}, ~std::uint64_t{0}}) {
    EXPECT_EQ(message(none), what);
  }
}

TEST(Status, IoSaysWhatTheSystemSays) {
  EXPECT_NE(Status(Code::io, ENOENT).message().find(std::strerror(ENOENT)), std::string::npos);
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_NE(Status(Code::io, none).message().find(std::to_string(none) + ")"),
              std::string::npos);
  }
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  ASSERT_TRUE(result.ok());
  Result<std::unique_ptr<int>> moved(std::move(result));
  std::unique_ptr<int> value = std::move(moved).value();
  EXPECT_EQ(*value, 5);
}

TEST(Result, HoldsTheStatusOfAnError) {
  const Result<int> result(Status(Code::io, 2));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.code(), Code::io);
  EXPECT_EQ(result.status().a(), 2u);
}

TEST(Result, AssignmentReplacesAnErrorByAValueAndBack) {
  Result<std::unique_ptr<int>> result(Status(Code::busy, 1, 1));
  result = Result<std::unique_ptr<int>>(std::make_unique<int>(3));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(**result, 3);
  result = Result<std::unique_ptr<int>>(Status(Code::closed));
  EXPECT_EQ(result.code(), Code::closed);
}

TEST(ResultDeathTest, TheValueOfAnErrorEndsTheProgram) {
  Result<int> result(Status(Code::io, 2));
  EXPECT_DEATH((void)result.value(), "");
}

}  // namespace
}  // namespace vicinal
