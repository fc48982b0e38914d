#include "device/allocator/bins.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kymo::device {
namespace {

constexpr size_t kLongestInBins = 32 * kMiB;

TEST(BinsTest, SizesBelow64KiBHaveTheirOwnBinAndSizesInABinDifferByLessThanASixtieth) {
  const Bins bins(size_t{1} << 40);
  uint32_t last = 0;
  size_t first_of_bin = kBlockAlignment;
  for (size_t size = kBlockAlignment; size < (size_t{1} << 40);
       size += std::max(kBlockAlignment, size / 1000 / 512 * 512)) {
    const uint32_t bin = bins.index(size);
    ASSERT_GE(bin, last);
    if (bin != last) first_of_bin = size;
    if (size < kMiB / 16) {
      ASSERT_TRUE(size == kBlockAlignment || bin == last + 1) << size;  // each size has its own bin
    }
    ASSERT_LE(size - first_of_bin, first_of_bin / 60);
    last = bin;
  }
}

TEST(BinsTest, BlocksAboveTheMaximumShareTheLastBin) {
  Bins bins(kLongestInBins);
  std::vector<Block> blocks(3);
  blocks[0].size = kLongestInBins;
  blocks[1].size = 8 * kLongestInBins;
  blocks[2].size = 2 * kLongestInBins;
  for (Block& block : blocks) bins.insert(&block);
  EXPECT_EQ(bins.best(kLongestInBins + kBlockAlignment), &blocks[2]);
  EXPECT_EQ(bins.best(3 * kLongestInBins), &blocks[1]);
  EXPECT_EQ(bins.best(9 * kLongestInBins), nullptr);
}

// Compared with a plain search of all blocks.
TEST(BinsTest, SearchFindsTheSmallestFitAndBestFindsANearFit) {
  std::mt19937_64 random(7);
  Bins bins(kLongestInBins);
  std::vector<Block> blocks(400);
  std::vector<Block*> in, out;
  const auto random_size = [&] {
    const size_t power = kBlockAlignment << random() % 16;
    return round_up(power + random() % power, kBlockAlignment);
  };
  for (Block& block : blocks) out.push_back(&block);
  for (int step = 0; step < 20'000; ++step) {
    const bool insert = in.empty() || (!out.empty() && random() % 2 == 0);
    auto& from = insert ? out : in;
    std::swap(from[random() % from.size()], from.back());
    Block* const block = from.back();
    from.pop_back();
    if (insert) {
      block->size = random_size();
      bins.insert(block);
      in.push_back(block);
    } else {
      bins.remove(block);
      out.push_back(block);
    }
    ASSERT_EQ(bins.empty(), in.empty());

    const size_t size = random_size();
    size_t shortest = 0;
    for (const Block* candidate : in)
      if (candidate->size >= size && (shortest == 0 || candidate->size < shortest)) shortest = candidate->size;
    const Block* const found = bins.search(size, [](const Block*) { return true; });
    ASSERT_EQ(found == nullptr ? 0 : found->size, shortest);
    const Block* const best = bins.best(size);
    if (best != nullptr) {
      ASSERT_GE(best->size, size);
      // At most two bins off: one because only a part of its own bin was searched, one because the next bin was not
      // searched.
      ASSERT_LE(best->size, std::max(shortest, size + size / 64) + shortest / 32) << size << ' ' << shortest;
    }
  }
}

TEST(BinsTest, BlocksOfOneSizeAreLastInFirstOut) {
  Bins bins(kLongestInBins);
  std::vector<Block> blocks(3);
  for (Block& block : blocks) {
    block.size = 2 * kMiB;
    bins.insert(&block);
  }
  EXPECT_EQ(bins.best(2 * kMiB), &blocks[2]);
  bins.remove(&blocks[2]);
  EXPECT_EQ(bins.best(2 * kMiB), &blocks[1]);
}

}  // namespace
}  // namespace kymo::device
