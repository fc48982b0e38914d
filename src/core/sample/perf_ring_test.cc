#include "sample/perf_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace kymo::sample {
namespace {

constexpr uint64_t kSize = 64;

// A ring with records whose bytes after the header all have one value.
struct TestRing {
  std::vector<std::byte> data = std::vector<std::byte>(kSize);
  uint64_t head = 0;
  RingReader reader{data.data(), kSize};

  void add(uint16_t size, unsigned char value) {
    std::vector<std::byte> record(size, std::byte{value});
    std::memset(record.data(), 0, std::min<size_t>(size, 8));
    std::memcpy(record.data() + 6, &size, sizeof size);
    for (size_t i = 0; i < record.size(); ++i) data[(head + i) % kSize] = record[i];
    head += size;
    reader.extend(head);
  }
};

TEST(PerfRingTest, ReadsRecordsInOrder) {
  TestRing ring;
  EXPECT_TRUE(ring.reader.front().empty());
  ring.add(16, 1);
  ring.add(24, 2);
  EXPECT_EQ(ring.reader.front().size(), 16u);
  EXPECT_EQ(ring.reader.front().size(), 16u) << "it stays until it is popped";
  ring.reader.pop();
  EXPECT_EQ(ring.reader.front()[8], std::byte{2});
  ring.reader.pop();
  EXPECT_TRUE(ring.reader.front().empty());
  EXPECT_EQ(ring.reader.tail(), 40u);
  EXPECT_EQ(ring.reader.damaged(), 0u);
}

TEST(PerfRingTest, RecordAcrossTheEndIsWhole) {
  TestRing ring;
  ring.add(48, 1);
  ring.reader.front();
  ring.reader.pop();
  ring.add(40, 7);
  const base::Bytes record = ring.reader.front();
  ASSERT_EQ(record.size(), 40u);
  for (size_t i = 8; i < record.size(); ++i) ASSERT_EQ(record[i], std::byte{7}) << i;
}

TEST(PerfRingTest, DamageDiscardsTheContentAndIsCounted) {
  for (const uint16_t size : {uint16_t{0}, uint16_t{7}, uint16_t{48}, uint16_t{0xFFF8}}) {
    TestRing ring;
    ring.add(40, 1);
    std::memcpy(ring.data.data() + 6, &size, sizeof size);
    EXPECT_TRUE(ring.reader.front().empty()) << size;
    EXPECT_EQ(ring.reader.damaged(), 1u) << size;
    EXPECT_EQ(ring.reader.tail(), 40u) << size;
  }
  TestRing far;
  far.reader.extend(kSize + 8);
  EXPECT_TRUE(far.reader.front().empty());
  EXPECT_EQ(far.reader.damaged(), 1u);
}

}  // namespace
}  // namespace kymo::sample
