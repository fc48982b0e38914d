#include "device/random/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "device/random/test_values.h"

namespace kymo::device::random {
namespace {

using testing::ElementsAre;

TEST(PhiloxTest, MatchesThePublishedVectors) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(PhiloxTest, SeedIsTheKeyAndBlockIsTheCounter) {
  EXPECT_THAT(words(4, 0, 1), ElementsAre(0xf8e4cca4, 0x5cb200db, 0xb1a574eb, 0x097eff67));
  EXPECT_THAT(words(8, 42), ElementsAre(0x9ceaf053, 0x77f5493b, 0x12bf50ad, 0x5742b3d7, 0xfcdb2127, 0x53ba6cfd,
                                        0x838f5a6e, 0x744e06fb));
  EXPECT_THAT(words(4, Generator::kDefaultSeed), ElementsAre(0x64a3e0f6, 0xd72e25ab, 0x0be1367b, 0x53eccf2d));
  const auto across = words(8, 7, 0xffffffff);  // tests the carry into the counter's second word
  const auto after = philox({0, 1, 0, 0}, {7, 0});
  EXPECT_TRUE(std::equal(after.begin(), after.end(), across.begin() + 4));
}

TEST(FillTest, TakesOneBlockForFourElementsOrTwoWideOnes) {
  const Fill four = uniform_fill(DType::F16, 0, 1), two = integer_fill(DType::I64, 0, 9);
  const Fill wide_bernoulli = bernoulli_fill(DType::F64, 0.5);
  for (const auto& [count, of_four, of_two] : {std::array<uint64_t, 3>{0, 0, 0},
                                               {1, 1, 1},
                                               {2, 1, 1},
                                               {3, 1, 2},
                                               {4, 1, 2},
                                               {5, 2, 3},
                                               {8, 2, 4},
                                               {1001, 251, 501}}) {
    EXPECT_EQ(four.blocks(count), of_four);
    EXPECT_EQ(two.blocks(count), of_two);
    EXPECT_EQ(wide_bernoulli.blocks(count), of_two);
  }
  EXPECT_EQ(four.blocks(~uint64_t{0}), uint64_t{1} << 62);
}

TEST(FillTest, PartOfAFillIsTheSameAsASeparateFill) {
  for (const Fill& fill : {normal_fill(DType::F32, 1, 2), integer_fill(DType::I32, -5, 1000)}) {
    const auto whole = filled<uint32_t>(fill, 4003), part = filled<uint32_t>(fill, 4003 - 400, 42, 100);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 400));
  }
  const Fill wide = integer_fill(DType::I64, 0, 1 << 20);
  const auto whole = filled<int64_t>(wide, 1001), part = filled<int64_t>(wide, 801, 42, 100);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 200));
}

TEST(FillTest, WritesOnlyItsElements) {
  for (const DType type : {DType::U8, DType::BF16, DType::I32, DType::I64})
    for (uint64_t count = 0; count < 9; ++count) {
      std::vector<uint8_t> out(100, 0xab);
      fill_on_host(bernoulli_fill(type, 1), {1, 0}, count, out.data() + 1);  // not aligned: alignment is not required
      const size_t bytes = count * size_of(type);
      EXPECT_EQ(out[0], 0xab);
      EXPECT_TRUE(
          std::all_of(out.begin() + 1 + static_cast<ptrdiff_t>(bytes), out.end(), [](int b) { return b == 0xab; }));
      if (count == 0) continue;
      EXPECT_NE(out[bytes], 0xab) << "the last element was not written";
    }
}

TEST(FillTest, LaunchHasWholeGroupsAndAtMostEnoughToFillTheDevice) {
  const Fill fill = normal_fill(DType::F32, 0, 1);
  const auto shape = [&](uint64_t count, uint32_t units, uint32_t group) {
    const LaunchShape s = launch_shape(fill, count, units, group);
    return std::pair<uint64_t, uint32_t>(s.threads, s.group);
  };
  EXPECT_EQ(shape(1, 132, 1024), std::pair(uint64_t{512}, 512u));
  EXPECT_EQ(shape(2048, 132, 1024), std::pair(uint64_t{512}, 512u));
  EXPECT_EQ(shape(2049, 132, 1024), std::pair(uint64_t{1024}, 512u));
  EXPECT_EQ(shape(1'000'000'000, 132, 1024), std::pair(uint64_t{132 * 2048}, 512u));
  EXPECT_EQ(shape(100, 0, 0), std::pair(uint64_t{25}, 1u));
  EXPECT_EQ(shape(~uint64_t{0}, 2, 64), std::pair(uint64_t{4096}, 64u));
}

}  // namespace
}  // namespace kymo::device::random
