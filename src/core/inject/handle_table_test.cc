#include "inject/handle_table.h"

#include <gtest/gtest.h>

#include <thread>

namespace kymo::inject {
namespace {

const void* handle(size_t number) { return reinterpret_cast<const void*>(0x7f0000001000 + number * 48); }

TEST(HandleTableTest, FindsWhatWasPut) {
  HandleTable<int> table;
  std::vector<int> values(1000);
  EXPECT_EQ(table.find(handle(0)), nullptr);
  for (size_t i = 0; i < values.size(); ++i) table.put(handle(i), &values[i]);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(table.find(handle(i)), &values[i]);
  EXPECT_EQ(table.find(handle(1000)), nullptr);
  EXPECT_EQ(table.find(nullptr), nullptr);
}

TEST(HandleTableTest, AnAddressCanBeUsedAgain) {
  HandleTable<int> table;
  int first = 0, second = 0;
  table.put(handle(1), &first);
  table.put(handle(1), &second);
  EXPECT_EQ(table.find(handle(1)), &second);
  EXPECT_EQ(table.take(handle(1)), &second);
  EXPECT_EQ(table.take(handle(1)), nullptr);
  EXPECT_EQ(table.find(handle(1)), nullptr);
  table.put(handle(1), &first);
  EXPECT_EQ(table.find(handle(1)), &first);
}

TEST(HandleTableTest, EntriesThatComeAndGoDoNotHideOthers) {
  HandleTable<int> table;
  int value = 0, kept = 0;
  for (size_t i = 0; i < 20; ++i) table.put(handle(i * 1000), &kept);
  for (size_t i = 1; i < 100'000; ++i) {
    if (i % 1000 == 0) continue;
    table.put(handle(i), &value);
    ASSERT_EQ(table.take(handle(i)), &value);
  }
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(table.find(handle(i * 1000)), &kept);
}

TEST(HandleTableTest, ReadersNeedNoLock) {
  HandleTable<int> table;
  std::vector<int> values(2000);
  int kept = 0;
  table.put(handle(5000), &kept);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) EXPECT_EQ(table.find(handle(5000)), &kept);
  });
  for (size_t i = 0; i < values.size(); ++i) table.put(handle(i), &values[i]);
  done = true;
  reader.join();
}

}  // namespace
}  // namespace kymo::inject
