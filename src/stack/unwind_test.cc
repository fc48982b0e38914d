#include "stack/unwind.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "stack/test_island.h"
#include "stack/test_library.h"
#include "stack/unwind_rule.h"

namespace kymo::stack {
namespace {

using Kind = UnwindRule::Kind;

TEST(UnwindRuleTest, IsTheSameAfterPacking) {
  const UnwindRule rules[] = {
      {},
      {.kind = Kind::Outermost},
      {Kind::FromStackPointer, true, 6, -5, -6},
      {Kind::FromFramePointer, false, 2, -1, 0},
      {Kind::FromStackPointer, true, (1 << 19) - 1, -(1 << 19), -(1 << 19)},
  };
  for (const UnwindRule& rule : rules) EXPECT_EQ(unpacked(packed(rule)), rule);
}

TEST(UnwindRuleTest, WhatDoesNotFitIsUnknown) {
  EXPECT_EQ(unpacked(packed({Kind::FromStackPointer, true, 1 << 19, -1, -2})), UnwindRule{});
  EXPECT_EQ(unpacked(packed({Kind::FromStackPointer, true, 6, -(1 << 19) - 1, -2})), UnwindRule{});
}

TEST(UnwindRuleTest, WhereThereIsNoCodeItIsUnknown) {
  EXPECT_EQ(find_unwind_rule(0).kind, Kind::Unknown);
  EXPECT_EQ(find_unwind_rule(1).kind, Kind::Unknown);
  EXPECT_EQ(find_unwind_rule(UINTPTR_MAX).kind, Kind::Unknown);
  const int variable = 0;
  EXPECT_EQ(find_unwind_rule(reinterpret_cast<uintptr_t>(&variable)).kind, Kind::Unknown);
}

TEST(UnwindRuleTest, EveryInstructionOfALibraryHasARuleOrNone) {
  const auto begin = reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "qsort"));
  ASSERT_NE(begin, 0u);
  size_t usual = 0;
  for (uintptr_t address = begin; address < begin + 20'000; ++address) {
    const Kind kind = find_unwind_rule(address).kind;
    usual += kind == Kind::FromStackPointer || kind == Kind::FromFramePointer ? 1 : 0;
  }
  EXPECT_GT(usual, 10'000u);
}

// Registers and stacks that are nonsense, and return addresses that have rules.
TEST(UnwindTest, NonsenseIsWalkedWithinItsBounds) {
  const TestLibrary library(KYMO_FRAMES_OMITTED);
  std::vector<uintptr_t> code = stack_in(library, 3);
  const Island island(64);
  std::mt19937_64 random(3);
  std::vector<uintptr_t> addresses(1000);
  for (int round = 0; round < 20'000; ++round) {
    for (size_t i = 0; i < island.size(); ++i) {
      const uint64_t choice = random();
      island.words()[i] = choice % 4 == 0   ? choice
                          : choice % 4 == 1 ? island.address(0) + (choice >> 8) % (island.size() * 8 + 64) - 32
                                            : code[(choice >> 8) % code.size()] + (choice >> 40) % 8 * 4;
    }
    const auto near = [&] { return island.address(0) + random() % (island.size() * 8 + 64) - 32; };
    const Machine machine{code[random() % code.size()], near(), near(), code[random() % code.size()]};
    EXPECT_LE(unwind(machine, island.bounds(), addresses, random() % 3).count, island.size() + 1);
  }
}

}  // namespace
}  // namespace kymo::stack
