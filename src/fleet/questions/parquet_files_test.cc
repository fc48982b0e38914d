#include "questions/parquet_files.h"

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

class ParquetFilesTest : public ::testing::Test {
 protected:
  ParquetFilesTest() {
    for (const push::TableSpec* table : push::all_tables()) std::filesystem::create_directory(path(*table));
  }
  std::string path(const push::TableSpec& table) { return folder_of(folder_ / "", table); }
  void add(const push::TableSpec& table, const std::string& name) { std::ofstream(path(table) + "/" + name) << "x"; }

  trace::testing::TemporaryFolder folder_;
};

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

TEST_F(ParquetFilesTest, TheSchemaIsWrittenLast) {
  EXPECT_FALSE(has_tables(folder_ / ""));
  add(push::kSchema, std::string(kVersionFile));
  EXPECT_TRUE(has_tables(folder_ / ""));
}

}  // namespace
}  // namespace kymo::fleet
