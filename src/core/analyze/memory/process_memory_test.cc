// Memory of several processes, and their names.
#include <gtest/gtest.h>

#include "analyze/memory/profile.h"
#include "analyze/memory/test_trace.h"

namespace kymo::memory {
namespace {

using namespace kymo::memory::tests;

TEST(ProcessNameTest, ProcessThatIsNamedByACommandLineKeepsThisName) {
  const TemporaryFolder folder;
  const std::string path = folder / "t.kymo", name = "python train.py --data /mnt/x";
  MemoryTrace trace(path, 1, 100, trace::Writer::Mode::Create, 0, name);
  trace.malloc(1, 100, 0x10, 1000, 1);
  trace.close();
  EXPECT_EQ(read_profile(trace::Reader(path), {}).tables.processes.at(0).name, name);
}

// A parent that allocates 1,000 bytes, and a child that allocates 500 after it and writes the last event. The parent
// was seen alive for the last time at 200.
class ForkTest : public ::testing::Test {
 protected:
  Profile read(uint64_t child_ticks, const ProfileOptions& options = {}) {
    {
      MemoryTrace parent(path_, 1, 100);
      parent.malloc(1, 100, 0x10, 1000, 1);
      parent.file().ending(parent.id(), {200});
      parent.close();
    }
    MemoryTrace child(path_, 2, 101, trace::Writer::Mode::Append, 100);
    child.malloc(1, child_ticks, 0x10, 500, 1);
    child.file().ending(child.id(), {child_ticks + 1});
    child.close();
    return read_profile(trace::Reader(path_), options);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "t.kymo";
};

TEST_F(ForkTest, WhatIsInUseAtTheEndIsThatOfEachProcess) {
  const Profile profile = read(300);
  ASSERT_EQ(profile.memories.size(), 2u);
  EXPECT_EQ(profile.memories[0].in_use, 1000u);
  EXPECT_EQ(profile.memories[1].in_use, 500u);
  EXPECT_EQ(profile.end_bytes, 1500u);
  EXPECT_EQ(profile.left.bytes, 1500u);
  EXPECT_EQ(profile.left.count, 2u);
  EXPECT_EQ(profile.peak_bytes, 1500u) << "a parent waits for its child";
}

TEST_F(ForkTest, ParentThatEndedLongBeforeItsChildIsNotInUse) {
  const uint64_t late = 10'000'000'000;
  EXPECT_EQ(read(late).peak_bytes, 1000u);
  EXPECT_EQ(read(late).end_bytes, 1500u);
  const Profile alive = read(late, {.only_alive = true});
  EXPECT_EQ(alive.end_bytes, 500u);
  EXPECT_EQ(alive.left.count, 1u);
}

// A program of 1,000 bytes that runs another one of 500 bytes in its process.
TEST(ExecTest, MemoryOfTheProgramBeforeIsNotLeft) {
  const TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  {
    MemoryTrace before(path, 1, 100);
    before.malloc(1, 100, 0x10, 1000, 1);
    before.file().ending(before.id(), {200});
    before.close();
  }
  {  // the samples of the program before are of another writer
    TestRecorder samples(path, 3, 100, trace::Writer::Mode::Append);
    samples.add_class(1, "sample", "cpu");
    samples.add_thread(1, 101, "main");
    samples.point(1, 150, PointKind::Sample, 1, 0);
    samples.close();
  }
  MemoryTrace after(path, 2, 100, trace::Writer::Mode::Append);
  after.malloc(1, 300, 0x10, 500, 1);
  after.file().ending(after.id(), {400});
  after.close();
  const Profile profile = read_profile(trace::Reader(path), {});
  EXPECT_EQ(profile.peak_bytes, 1000u);
  EXPECT_EQ(profile.end_bytes, 500u);
  EXPECT_EQ(profile.left.count, 1u);
  EXPECT_EQ(profile.memories.at(0).returns, 0u);
}

// It ends by exec, and the next program is too small to allocate anything.
TEST(ExecTest, MemoryBeforeAProgramWithoutAllocationsIsNotLeft) {
  const TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  {
    MemoryTrace before(path, 1, 100);
    before.malloc(1, 100, 0x10, 1000, 1);
    before.file().ending(before.id(), {200});
    before.close();
  }
  trace::Writer after(path, trace::Writer::Mode::Append);
  trace::Origin origin;
  origin.pid = 100;
  origin.policy = "block";
  origin.start_realtime_ns = kRealtimeZero + 300;
  trace::WriterId id;
  id.bytes.fill(2);
  after.origin(id, origin);
  after.close();
  const Profile profile = read_profile(trace::Reader(path), {});
  EXPECT_EQ(profile.peak_bytes, 1000u);
  EXPECT_EQ(profile.end_bytes, 0u);
  EXPECT_EQ(profile.left.count, 0u);
}

}  // namespace
}  // namespace kymo::memory
