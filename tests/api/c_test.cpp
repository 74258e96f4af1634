#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "c_calls.h"

namespace vicinal::test {
namespace {

constexpr int kPassed = 0;  // anything else is the line of c_calls.c that failed

TEST(C, AnIndexIsMadeWrittenSharedAndFreed) { EXPECT_EQ(c_indexes(), kPassed); }

TEST(C, HelpersComeAndGo) { EXPECT_EQ(c_helpers(), kPassed); }

TEST(C, ReadersSearchFilterPageAndOutliveTheirIndex) { EXPECT_EQ(c_searches(), kPassed); }

TEST(C, ABatchIsItsSingleSearchesOrNothing) { EXPECT_EQ(c_batches(), kPassed); }

TEST(C, FiltersServeEveryReaderOfTheirIndexAndNoOther) { EXPECT_EQ(c_filters(), kPassed); }

TEST(C, MessagesAreFilledInPartsAndPumped) { EXPECT_EQ(c_messages(), kPassed); }

TEST(C, AnIndexIsCalibratedWhileItIsEmpty) { EXPECT_EQ(c_calibrations(), kPassed); }

TEST(C, AWriteWithOptionsLandsWholeOrInParts) { EXPECT_EQ(c_parts(), kPassed); }

TEST(C, StructsOfOlderCallersAreFilledUpAndOfNewerOnesRefused) {
  EXPECT_EQ(c_struct_sizes(), kPassed);
}

TEST(C, TextsAreCutToTheirRoomAndUnknownCodesAreUnknown) { EXPECT_EQ(c_texts(), kPassed); }

TEST(C, IdsMayBeStrings) {
  const std::string path = testing::TempDir() + "vicinal_c_strings_test.vic";
  EXPECT_EQ(c_strings(path.c_str()), kPassed);
  std::remove(path.c_str());
}

TEST(C, OriginalsRankAgain) { EXPECT_EQ(c_originals(), kPassed); }

TEST(C, AFileIsSavedAndOpened) {
  const std::string path = testing::TempDir() + "vicinal_c_test.vic";
  EXPECT_EQ(c_files(path.c_str()), kPassed);
  std::remove(path.c_str());
}

TEST(C, AFileIsWrittenToAndFollowed) {
  const std::string path = testing::TempDir() + "vicinal_c_follow_test.vic";
  std::remove(path.c_str());
  EXPECT_EQ(c_followed_files(path.c_str()), kPassed);
  std::remove(path.c_str());
}

TEST(C, AfterCloseEveryCallSaysSo) { EXPECT_EQ(c_closing(), kPassed); }

}  // namespace
}  // namespace vicinal::test
