#include "unwind/frame_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "unwind/island_test_support.h"

namespace kymo::unwind {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<uintptr_t> walk(const Island& island, uintptr_t frame, size_t skip = 0, size_t most = 16) {
  std::vector<uintptr_t> addresses(most);
  addresses.resize(walk_frame_chain(frame, island.bounds(), addresses, skip));
  return addresses;
}

// Three records with two words between them.
void make_chain(const Island& island) {
  for (size_t i = 0; i < 3; ++i) {
    island.words()[4 * i] = i < 2 ? island.address(4 * (i + 1)) : 0;
    island.words()[4 * i + 1] = 0x1000 * (i + 1);
  }
}

TEST(FrameChainTest, IsFollowedUntilTheNullPointer) {
  const Island island(12);
  make_chain(island);
  EXPECT_THAT(walk(island, island.address(0)), ElementsAre(0x1000, 0x2000, 0x3000));
  EXPECT_THAT(walk(island, island.address(0), 1), ElementsAre(0x2000, 0x3000));
  EXPECT_THAT(walk(island, island.address(0), 3), IsEmpty());
  EXPECT_THAT(walk(island, island.address(0), 0, 2), ElementsAre(0x1000, 0x2000));
}

TEST(FrameChainTest, EndsAtAnInvalidRecord) {
  const Island island(12);
  const uintptr_t wrong[] = {
      island.address(0),       // the record itself: would never end
      island.address(1),       // within itself
      island.address(4) + 1,   // not aligned
      island.address(11),      // its second half would be out of bounds
      island.address(12),      // out of bounds
      island.address(0) - 16,  // below the bounds
      1,
      UINTPTR_MAX,
      UINTPTR_MAX - 7,
      uintptr_t{1} << 63,
  };
  for (const uintptr_t caller : wrong) {
    make_chain(island);
    island.words()[0] = caller;
    EXPECT_THAT(walk(island, island.address(0)), ElementsAre(0x1000)) << std::hex << caller;
  }
  make_chain(island);
  island.words()[8] = island.address(0);  // back to the first record
  EXPECT_THAT(walk(island, island.address(0)), ElementsAre(0x1000, 0x2000, 0x3000));
  make_chain(island);
  island.words()[5] = 0;  // null return address
  EXPECT_THAT(walk(island, island.address(0)), ElementsAre(0x1000));
}

TEST(FrameChainTest, NoStackGivesNoFrames) {
  std::vector<uintptr_t> addresses(4);
  EXPECT_EQ(walk_frame_chain(reinterpret_cast<uintptr_t>(&addresses), {}, addresses, 0), 0u);
  EXPECT_EQ(walk_frame_chain(0, {0, UINTPTR_MAX}, {}, 0), 0u);
}

TEST(FrameChainTest, RandomMemoryIsWalkedWithinTheBounds) {
  const Island island(64);
  std::mt19937_64 random(1);
  std::vector<uintptr_t> addresses(1000);
  for (int round = 0; round < 20'000; ++round) {
    for (size_t i = 0; i < island.size(); ++i) {
      const uint64_t choice = random();
      island.words()[i] = choice % 8 == 0   ? choice
                          : choice % 8 == 1 ? island.bounds().high - choice % 32
                                            : island.address(0) + (choice >> 8) % (island.size() * 8 + 64);
    }
    const uintptr_t start = island.address(0) + random() % (island.size() * 8 + 64) - 32;
    EXPECT_LE(walk_frame_chain(start, island.bounds(), addresses, random() % 3), island.size() / 2);
  }
}

TEST(StackBoundsTest, ThreadsStackContainsItsVariables) {
  const auto check = [] {
    const auto address = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    EXPECT_TRUE(find_own_stack().hold(address));
  };
  check();
  std::thread(check).join();
}

}  // namespace
}  // namespace kymo::unwind
