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

}  // namespace
}  // namespace kymo::memory
