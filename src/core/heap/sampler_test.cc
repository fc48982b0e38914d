#include "heap/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "heap/heap_recorder.h"

namespace kymo::heap {
namespace {

TEST(SamplerTest, EachSizeIsSampledWithItsProbabilityAndTheWeightsAddUp) {
  constexpr uint64_t kMean = 4096;
  for (const uint64_t bytes : {uint64_t{16}, uint64_t{500}, uint64_t{4096}, uint64_t{100'000}}) {
    Sampler sampler(bytes);
    constexpr int kTries = 400'000;
    int taken = 0;
    for (int i = 0; i < kTries; ++i) taken += sampler.takes(bytes, kMean) ? 1 : 0;
    const double chance = 1 - std::exp(-static_cast<double>(bytes) / kMean);
    EXPECT_NEAR(taken / (chance * kTries), 1, 0.1) << bytes;
    const double estimate = static_cast<double>(sample_weight(bytes, kMean)) * taken;
    EXPECT_NEAR(estimate / (static_cast<double>(bytes) * kTries), 1, 0.1) << bytes;
  }
}

TEST(SamplerTest, WeightsAreSizesDividedByTheirProbability) {
  for (const double mean : {100.0, 4096.0, 524288.0}) {
    for (double bytes = 1; bytes < 1e9; bytes *= 3.7) {
      const double expected = bytes / -std::expm1(-bytes / mean);
      const auto weight = static_cast<double>(sample_weight(static_cast<uint64_t>(bytes), static_cast<uint64_t>(mean)));
      const double whole = std::floor(bytes) / -std::expm1(-std::floor(bytes) / mean);
      EXPECT_NEAR(weight / whole, 1, 1e-2 / std::min(1.0, whole / 100)) << bytes << " of " << mean << expected;
    }
  }
  EXPECT_EQ(sample_weight(0, 4096), 0u);
  EXPECT_EQ(sample_weight(1 << 30, 4096), 1u << 30);
}

TEST(SamplerTest, HugeSizesAreSampledAndDoNoHarm) {
  Sampler sampler;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(sampler.takes(~uint64_t{0}, 4096));
  sampler.takes(0, 4096);
}

TEST(SampledSetTest, AnAddressIsFoundOnce) {
  const auto set = std::make_unique<SampledSet>();
  EXPECT_FALSE(set->remove(4096));
  EXPECT_TRUE(set->add(4096));
  EXPECT_TRUE(set->remove(4096));
  EXPECT_FALSE(set->remove(4096));
}

TEST(SampledSetTest, HoldsThousandsAndReportsWhenItIsFull) {
  const auto set = std::make_unique<SampledSet>();
  std::set<uintptr_t> inside;
  size_t before_the_first_refusal = 0;
  for (uintptr_t address = 0xffff00000000; inside.size() < 100'000 && address < 0xffff00000000 + (1ull << 34);
       address += 70'016)
    if (set->add(address))
      inside.insert(address);
    else if (before_the_first_refusal == 0)
      before_the_first_refusal = inside.size();
  EXPECT_GT(before_the_first_refusal, 20'000u);
  EXPECT_LE(inside.size(), 65'536u);
  for (const uintptr_t address : inside) ASSERT_TRUE(set->remove(address));
  for (const uintptr_t address : inside) ASSERT_FALSE(set->remove(address));
}

TEST(SampledSetTest, ThreadsAddAndRemoveAtTheSameTime) {
  const auto set = std::make_unique<SampledSet>();
  std::vector<std::thread> threads;
  for (uintptr_t i = 0; i < 4; ++i)
    threads.emplace_back([&set, i] {
      for (uintptr_t round = 0; round < 20; ++round) {
        for (uintptr_t n = 1; n < 1000; ++n) EXPECT_TRUE(set->add(n << 12 | i << 4));
        for (uintptr_t n = 1; n < 1000; ++n) EXPECT_TRUE(set->remove(n << 12 | i << 4));
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(HeapModeTest, ValidModesAreParsed) {
  const auto bytes_of = [](const char* text) {
    HeapMode mode;
    EXPECT_TRUE(parse_heap_mode(text, mode)) << text;
    EXPECT_TRUE(mode.on) << text;
    return mode.sample_bytes;
  };
  EXPECT_EQ(bytes_of("all"), 0u);
  EXPECT_EQ(bytes_of("ALL"), 0u);
  EXPECT_EQ(bytes_of("sample:1"), 1u);
  EXPECT_EQ(bytes_of("sample:512k"), 512u << 10);
  EXPECT_EQ(bytes_of("sample:512KiB"), 512u << 10);
  EXPECT_EQ(bytes_of("Sample:3M"), 3u << 20);
  EXPECT_EQ(bytes_of("sample:2G"), 2ull << 30);
  EXPECT_EQ(bytes_of("sample:2GB"), 2ull << 30);
  HeapMode mode;
  EXPECT_TRUE(parse_heap_mode("off", mode));
  EXPECT_FALSE(mode.on);
}

TEST(HeapModeTest, InvalidModesAreRefused) {
  for (const char* text : {"", "some", "sample", "sample:", "sample:0", "sample:-1", "sample:k", "sample:5x",
                           "sample:5kk", "sample:5 k", "sample:99999999999999999999", "sample:2000G", "allx"}) {
    HeapMode mode{17, false};
    EXPECT_FALSE(parse_heap_mode(text, mode)) << text;
    EXPECT_EQ(mode.sample_bytes, 17u) << text;
  }
}

}  // namespace
}  // namespace kymo::heap
