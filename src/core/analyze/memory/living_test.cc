#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyze/memory/replay.h"

namespace kymo::memory {
namespace {

TEST(LivingTest, FindsLivingBlocksThroughManyChanges) {
  std::mt19937_64 random(11);
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> expected;
  Living living;
  for (uint64_t round = 0; round < 200'000; ++round) {
    const auto memory = static_cast<uint32_t>(random() % 3);
    const uint64_t address = 16 * (1 + random() % 3'000);
    const auto known = expected.find({memory, address});
    const Block* const found = living.find(memory, address);
    ASSERT_EQ(found != nullptr, known != expected.end());
    if (found != nullptr) {
      ASSERT_EQ(found->number, known->second);
      living.remove(memory, address);
      expected.erase(known);
    } else {
      Block block;
      block.memory = memory;
      block.address = address;
      block.number = round;
      living.insert(block);
      expected[{memory, address}] = round;
    }
    ASSERT_EQ(living.size(), expected.size());
  }
  size_t seen = 0;
  living.each([&](const Block& block) { seen += expected.at({block.memory, block.address}) == block.number ? 1 : 0; });
  EXPECT_EQ(seen, expected.size());
}

}  // namespace
}  // namespace kymo::memory
