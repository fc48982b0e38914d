#include "questions/parquet_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ParquetFilesTest : public ::testing::Test {
 protected:
  ParquetFilesTest() {
    for (const push::TableSpec* table : push::all_tables()) std::filesystem::create_directory(path(*table));
  }
  std::string path(const push::TableSpec& table) { return folder_of(folder_ / "", table); }
  void add(const push::TableSpec& table, const std::string& name) { std::ofstream(path(table) + "/" + name) << "x"; }
  std::vector<std::string> missing(uint64_t attempt) { return attempts_of(folder_ / "").at(attempt).missing(attempt); }

  trace::testing::TemporaryFolder folder_;
};

TEST_F(ParquetFilesTest, AFileThatWasRemovedIsMissing) {
  add(push::kIterations, file_name("202611", 0x10, 0));
  add(push::kOperations, file_name("202611", 0x10, 1));
  add(push::kDeviceTime, file_name("202611", 0x10, 2));
  add(push::kTraces, file_name("202611", 0x10, 3));
  EXPECT_THAT(missing(0x10), IsEmpty());
  std::filesystem::remove(path(push::kIterations) + "/" + file_name("202611", 0x10, 0));
  std::filesystem::remove(path(push::kDeviceTime) + "/" + file_name("202611", 0x10, 2));
  EXPECT_THAT(missing(0x10), ElementsAre("202611-0000000000000010-0.parquet", "202611-0000000000000010-2.parquet"));
}

TEST_F(ParquetFilesTest, AHugeNumberInANameCostsNothing) {
  add(push::kIterations, file_name("202611", 0x10, 1));
  add(push::kTraces, file_name("202611", 0x10, UINT64_MAX));
  const Attempt attempt = attempts_of(folder_ / "").at(0x10);
  EXPECT_EQ(attempt.missing_count(), UINT64_MAX - 1);
  const std::vector<std::string> names = attempt.missing(0x10);
  EXPECT_EQ(names.size(), Attempt::kMostNamed);
  EXPECT_EQ(names[0], file_name("202611", 0x10, 0));
  EXPECT_EQ(names[1], file_name("202611", 0x10, 2));
}

TEST_F(ParquetFilesTest, AnAttemptWithoutAMarkIsNotJudged) {
  add(push::kOperations, file_name("202611", 0x20, 1));
  EXPECT_FALSE(attempts_of(folder_ / "").at(0x20).mark);
  EXPECT_THAT(missing(0x20), IsEmpty());
}

TEST_F(ParquetFilesTest, AMarkThatWasWrittenTwiceIsComplete) {
  add(push::kIterations, file_name("202611", 0x30, 0));
  add(push::kTraces, file_name("202611", 0x30, 1));
  add(push::kTraces, file_name("202611", 0x30, 2));
  EXPECT_THAT(missing(0x30), IsEmpty());
}

TEST_F(ParquetFilesTest, CallsOfAnOlderVersionAreNotMissing) {
  add(push::kIterations, file_name("202611", 0x40, 0));
  std::filesystem::create_directory(folder_ / "collectives");
  std::ofstream(folder_ / ("collectives/" + file_name("202611", 0x40, 1)));
  add(push::kTraces, file_name("202611", 0x40, 2));
  EXPECT_THAT(missing(0x40), IsEmpty());
}

TEST_F(ParquetFilesTest, OtherNamesAreIgnored) {
  for (const char* const name : {"empty.parquet", "202611-zz-0.parquet", "202611-10.parquet", "notes.txt",
                                 "202611-0000000000000010-0.parquet.Ab12Cd", "202611-10-x.parquet"})
    add(push::kOperations, name);
  EXPECT_TRUE(attempts_of(folder_ / "").empty());
  EXPECT_EQ(attempt_in("202611-0000000000000010-0.parquet.Ab12Cd"), 0x10u);
  EXPECT_FALSE(attempt_in("empty.parquet"));
}

TEST_F(ParquetFilesTest, SeveralMayClaimANewFolderAtTheSameTime) {
  constexpr int kFolders = 2'000, kThreads = 4;
  std::atomic<int> refused = 0;
  // A thread that is behind finds the folders made, which is fast, so that it reaches the first one again and again.
  const auto claim_all = [&] {
    for (int i = 0; i < kFolders; ++i) {
      try {
        claim_folder(folder_ / ("new" + std::to_string(i)));
      } catch (const Error&) {
        ++refused;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(claim_all);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
}

TEST_F(ParquetFilesTest, AFolderWithOtherFilesIsNotClaimed) {
  const std::string folder = folder_ / "other";
  std::filesystem::create_directory(folder);
  claim_folder(folder);
  claim_folder(folder);  // it is one already
  std::filesystem::remove_all(folder_of(folder, push::kSchema));
  std::ofstream(folder + "/notes.txt") << "mine";
  EXPECT_THROW(claim_folder(folder), Error);
  EXPECT_THROW(claim_folder(folder + "/notes.txt"), Error);
}

TEST_F(ParquetFilesTest, AFolderWithoutItsSchemaIsClaimedAgain) {
  const std::string folder = folder_ / "";
  std::filesystem::remove_all(path(push::kSchema));
  EXPECT_NO_THROW(claim_folder(folder));
  EXPECT_TRUE(std::filesystem::exists(path(push::kSchema)));
}

TEST_F(ParquetFilesTest, TheFilesOfATableThatIsGoneAreMissing) {
  add(push::kIterations, file_name("202611", 0x10, 0));
  add(push::kOperations, file_name("202611", 0x10, 1));
  add(push::kTraces, file_name("202611", 0x10, 2));
  std::filesystem::remove_all(path(push::kOperations));
  EXPECT_THAT(missing(0x10), ElementsAre("202611-0000000000000010-1.parquet"));
  std::filesystem::remove_all(path(push::kTraces));
  EXPECT_FALSE(attempts_of(folder_ / "").at(0x10).mark);
}

}  // namespace
}  // namespace kymo::fleet
