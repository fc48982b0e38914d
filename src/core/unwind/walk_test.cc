#include "unwind/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "unwind/island_test_support.h"
#include "unwind/rule_table.h"

namespace kymo::unwind {
namespace {

constexpr size_t kDepth = 20;

struct Addresses {
  std::vector<uintptr_t> all;
  Walked walked;
};

__attribute__((noinline)) Addresses walk_here(size_t room, size_t skip, const ThreadStacks& stacks) {
  Addresses found{std::vector<uintptr_t>(room), {}};
  found.walked = walk(KYMO_CALLER_REGISTERS(), stacks, found.all, skip, WithoutTable::End);
  found.all.resize(found.walked.count);
  return found;
}

__attribute__((noinline)) Addresses descend(size_t depth, size_t room, size_t skip, const ThreadStacks& stacks) {
  if (depth == 0) return walk_here(room, skip, stacks);
  Addresses found = descend(depth - 1, room, skip, stacks);
  asm volatile("" ::: "memory");
  return found;
}

TEST(WalkTest, WalksToTheOutermostFrameOrUntilTheBufferIsFull) {
  const ThreadStacks stacks{find_own_stack()};
  const Addresses whole = descend(kDepth, 1000, 0, stacks);
  EXPECT_EQ(whole.walked.end, WalkEnd::Outermost);
  ASSERT_GT(whole.all.size(), kDepth + 2);
  for (size_t i = 2; i < kDepth; ++i) EXPECT_EQ(whole.all[i], whole.all[1]) << "a frame of descend in its own";
  const Addresses some = descend(kDepth, kDepth, 0, stacks);
  EXPECT_EQ(some.walked.end, WalkEnd::Full);
  EXPECT_EQ(some.all.size(), kDepth);
}

TEST(WalkTest, SkipsTheInnermostFrames) {
  const ThreadStacks stacks{find_own_stack()};
  const size_t frames = descend(kDepth, 1000, 0, stacks).all.size();
  EXPECT_EQ(descend(kDepth, 1000, kDepth, stacks).all.size(), frames - kDepth);
  for (const size_t more : {size_t{100'000}, SIZE_MAX}) {
    const Addresses none = descend(kDepth, 1000, more, stacks);
    EXPECT_EQ(none.walked.end, WalkEnd::Outermost);
    EXPECT_TRUE(none.all.empty());
  }
}

TEST(WalkTest, ForeignStackIsNotWalked) {
  const Addresses none = descend(kDepth, 1000, 0, {{64, 128}});
  EXPECT_EQ(none.walked.end, WalkEnd::Elsewhere);
  EXPECT_TRUE(none.all.empty());
}

// Random registers and stacks, with return addresses that have rules: in this program, in the C library, and in a
// handler's trampoline if there is one.
TEST(WalkTest, RandomStacksAreWalkedWithinTheirBounds) {
  const std::vector<uintptr_t> real = descend(3, 64, 0, {find_own_stack()}).all;
  std::vector<uintptr_t> code;
  for (const uintptr_t address : real)
    if (rule_table.at(address).kind == Rule::Kind::Table) code.push_back(address);
  for (uintptr_t at = reinterpret_cast<uintptr_t>(&std::qsort); code.size() < 200; at += 52) code.push_back(at);
  const Island island(64), alternate(64);
  const ThreadStacks stacks{island.bounds(), alternate.bounds()};
  std::mt19937_64 random(3);
  const auto near = [&](const Island& one) { return one.address(0) + random() % (one.size() * 8 + 64) - 32; };
  std::vector<uintptr_t> addresses(1000);
  for (int round = 0; round < 20'000; ++round) {
    for (const Island* one : {&island, &alternate})
      for (size_t i = 0; i < one->size(); ++i) {
        const uint64_t choice = random();
        one->words()[i] = choice % 4 == 0 ? choice : choice % 4 == 1 ? near(*one) : code[(choice >> 8) % code.size()];
      }
    const Registers at{code[random() % code.size()], near(round % 2 == 0 ? island : alternate), near(island)};
    const auto without = round % 3 == 0 ? WithoutTable::End : WithoutTable::Guess;
    EXPECT_LE(walk(at, stacks, addresses, random() % 3, without).count, 2 * island.size() + 2);
  }
}

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
