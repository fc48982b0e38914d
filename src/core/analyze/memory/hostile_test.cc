// Traces that no program recorded. They must do no harm.
#include <gtest/gtest.h>

#include <random>

#include "analyze/memory/export.h"
#include "analyze/memory/profile.h"
#include "analyze/memory/test_trace.h"
#include "kymo/error.h"
#include "trace/test_support.h"

namespace kymo::memory {
namespace {

using namespace kymo::memory::tests;

TEST(HostileTest, AnyTimesAddressesDepthsAndValuesAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder / "wild.kymo";
  for (unsigned seed = 0; seed < 15; ++seed) {
    std::mt19937_64 random(seed);
    {
      MemoryTrace trace(path);
      for (int chunk = 0; chunk < 6; ++chunk) {
        trace::EventBatch batch = trace::testing::wild_batch(random);
        batch.track = static_cast<uint32_t>(1 + random() % 2);
        for (uint32_t& id : batch.ranges.class_id) id = static_cast<uint32_t>(random() % 14);
        for (uint32_t& id : batch.points.class_id) id = static_cast<uint32_t>(random() % 14);
        for (uint64_t& address : batch.points.id)
          if (random() % 2 == 0) address %= 8;  // so that some addresses are equal
        trace.file().events(trace.id(), batch);
      }
      trace.close();
    }
    const trace::Reader reader(path);
    const Profile profile = read_profile(reader, {"", 20});
    EXPECT_LE(profile.end_bytes, profile.peak_bytes);
    for (const char* const name : {"w.html", "w.json", "w.raw.json", "w.pickle"}) {
      try {
        export_profile(reader, folder / name);
      } catch (const Error&) {
        EXPECT_TRUE(profile.is_empty());
      }
    }
  }
}

TEST(HostileTest, StackThatContainsItselfEnds) {
  const TemporaryFolder folder;
  MemoryTrace trace(folder / "t.kymo");
  trace.node(1, 16, 16, 0x10);
  trace.node(1, 16, 16, 0x10);
  for (int64_t i = 0; i < 5'000; ++i) trace.node(1, 17, 17, 0x20);  // the stack grows by one frame each time
  trace.node(1, int64_t{1} << 62, 17, 0x30);
  trace.malloc(1, 10, 0x10, 8, int64_t{1} << 62);
  trace.close();
  Profile profile = read_profile(trace::Reader(folder / "t.kymo"));
  EXPECT_EQ(profile.tables.stacks.frames(profile.largest_left.at(0).stack).size(), 5'001u);
}

TEST(HostileTest, HugeStackNumbersTakeNoMemory) {
  const TemporaryFolder folder;
  MemoryTrace trace(folder / "t.kymo");
  int64_t node = 16;
  for (uint64_t i = 1; i < 60; ++i) {
    trace.node(1, node, 1, static_cast<int64_t>(0x1000 * i));
    trace.malloc(1, i, 0x10 * i, 8, node);
    node += node / 2 + 60'000;
  }
  trace.close();
  Profile profile = read_profile(trace::Reader(folder / "t.kymo"));
  EXPECT_EQ(profile.by_stack.size(), 59u);
}

TEST(HostileTest, FewBytesThatStandForMillionsOfEventsAreLeftOut) {
  const TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  {
    MemoryTrace trace(path);
    trace.malloc(1, 10, 0x10, 8, 1);
    trace::EventBatch batch;
    batch.track = batch.ring = 2;  // it has no other events
    constexpr uint32_t kNodes = 2'000'000;
    for (uint32_t i = 0; i < kNodes; ++i) {
      batch.points.time.push_back(20);
      batch.points.kind.push_back(PointKind::Instant);
      batch.points.class_id.push_back(kNode);
      batch.points.id.push_back(0);
      for (const uint64_t value : {16 + i, 15 + i, 4096 + i}) batch.points.values.ints.push_back(value);
    }
    trace.file().events(trace.id(), batch);
    trace.close();
  }
  const trace::Reader reader(path);
  ASSERT_LT(reader.file_size(), 8'000u);
  const Profile profile = read_profile(reader);
  EXPECT_EQ(profile.counts.allocations, 1u);
  ASSERT_EQ(profile.problems.size(), 1u);
  EXPECT_NE(profile.problems[0].what.find("2000000 events were left out"), std::string::npos);
}

}  // namespace
}  // namespace kymo::memory
