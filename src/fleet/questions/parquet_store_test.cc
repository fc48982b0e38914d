#include "questions/parquet_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

class ParquetStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      store_ = std::make_unique<ParquetStore>(path_);
    } catch (const NotAvailable& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // A trace with one row in `waits`.
  void publish(uint64_t trace, uint32_t day) {
    push::SummaryBlocks rows;
    rows.waits.add(trace, 0, "x", 0, 0, 0, 0, 0, "x", "x", 0, 0, 0, 0, "x", "x");
    rows.traces.add(trace, 0, "x", 0, "x", "x", "x", 0, 0, 0, 0, 0, 0, 0, 0);
    store_->publish(rows, day);
  }

  size_t parts() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_ + "/kymo-8"), fs::directory_iterator()));
  }
  // The rows of waits that count.
  std::string counted() const {
    return store_
        ->ask("SELECT count(*) AS n FROM " + parquet_table(path_, push::kWaits) +
              " WHERE (trace, attempt) IN (SELECT (trace, max(attempt)) FROM " + parquet_table(path_, push::kTraces) +
              " GROUP BY trace)")
        .rows.at(0)
        .at(0);
  }

  trace::testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "it's";
  std::unique_ptr<ParquetStore> store_;
};

TEST_F(ParquetStoreTest, ManySmallPartsOfADayBecomeOne) {
  constexpr uint64_t kTraces = 31;
  store_->prepare();
  for (uint64_t trace = 0; trace < kTraces; ++trace) publish(trace, 19'000);
  publish(99, 19'001);
  store_->tidy();
  EXPECT_EQ(parts(), kTraces + 2);  // and the empty one
  publish(0, 19'000);               // once more, as two pushes at the same time do
  EXPECT_EQ(counted(), "32");
  store_->tidy();
  EXPECT_EQ(parts(), 3u);
  EXPECT_EQ(counted(), "32");
  EXPECT_EQ(store_->known({0, 30, 99, 1'000}, 0, 2'000'000'000).size(), 3u);
}

TEST_F(ParquetStoreTest, WhatWasNotFinishedDoesNotCountAndIsRemovedAfterADay) {
  store_->prepare();
  publish(1, 19'000);
  const fs::path old = path_ + "/unfinished/0000000000000001", now = path_ + "/unfinished/0000000000000002";
  for (const fs::path& part : {old, now}) {
    fs::create_directory(part);
    std::ofstream(part / "traces.parquet") << "half of";
  }
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_EQ(counted(), "1");
  store_->tidy();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(now));
}

TEST_F(ParquetStoreTest, SeveralMayMakeTheTablesAtTheSameTime) {
  constexpr int kThreads = 4;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      try {
        ParquetStore(path_).prepare();
      } catch (const Error&) {
        ++refused;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(store_->version(), push::kSchemaVersion);
}

TEST_F(ParquetStoreTest, AFolderWithOtherFilesIsRefused) {
  EXPECT_EQ(store_->version(), 0u);
  fs::create_directories(path_ + "/kymo-99");
  EXPECT_EQ(store_->version(), 99u);
  EXPECT_THROW(store_->prepare(), Error);
  fs::rename(path_ + "/kymo-99", path_ + "/notes");
  EXPECT_THROW(store_->prepare(), Error);
}

}  // namespace
}  // namespace kymo::fleet
