#include "base/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace kymo::base {
namespace {

TEST(FifoTest, ElementsComeOutInInsertionOrder) {
  Fifo<int> fifo;
  std::deque<int> plain;
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    if (random() % 5 < 3) {
      fifo.push_back(i);
      plain.push_back(i);
    } else if (!plain.empty()) {
      ASSERT_EQ(fifo.front(), plain.front());
      fifo.pop_front();
      plain.pop_front();
    }
    ASSERT_EQ(fifo.size(), plain.size());
  }
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(fifo[i], plain[i]);
  fifo.clear();
  EXPECT_TRUE(fifo.empty());
}

TEST(FifoTest, HoldsMoveOnlyTypes) {
  Fifo<std::unique_ptr<int>> fifo;
  for (int i = 0; i < 100; ++i) fifo.push_back(std::make_unique<int>(i));
  for (int i = 0; i < 100; ++i, fifo.pop_front()) EXPECT_EQ(*fifo.front(), i);
}

}  // namespace
}  // namespace kymo::base
