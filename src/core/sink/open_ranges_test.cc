#include "sink/open_ranges.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace kymo::sink {
namespace {

using Table = OpenRanges<uint64_t>;

TEST(OpenRangesTest, AValueIsReturnedOnce) {
  const auto table = std::make_unique<Table>();
  EXPECT_TRUE(table->add(256, 7));
  EXPECT_TRUE(table->add(512, 8));
  EXPECT_EQ(table->take(256), 7u);
  EXPECT_EQ(table->take(256), std::nullopt);
  EXPECT_EQ(table->take(512), 8u);
  EXPECT_EQ(table->take(768), std::nullopt);
}

TEST(OpenRangesTest, RangesWithoutAFreePlaceAreOmitted) {
  const auto table = std::make_unique<Table>();
  uint64_t added = 0;
  for (uint64_t handle = 1; handle <= 2 * Table::kPlaces; ++handle) added += table->add(handle, handle) ? 1 : 0;
  EXPECT_EQ(added, Table::kPlaces);
  uint64_t found = 0;
  for (uint64_t handle = 1; handle <= 2 * Table::kPlaces; ++handle) {
    const auto value = table->take(handle);
    if (!value) continue;
    EXPECT_EQ(*value, handle);
    ++found;
  }
  EXPECT_EQ(found, added);
  EXPECT_TRUE(table->add(1, 1)) << "all is free again";
}

TEST(OpenRangesTest, ThreadsDoNotInterfere) {
  const auto table = std::make_unique<Table>();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&table, t] {
      for (uint64_t i = 1; i < 20000; ++i) {
        const uint64_t handle = (i * 4 + t) << 8;
        ASSERT_TRUE(table->add(handle, handle + 1));
        ASSERT_EQ(table->take(handle), handle + 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kymo::sink
