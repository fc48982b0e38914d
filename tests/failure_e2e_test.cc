// A failure is reported clearly and once, and the program continues unharmed.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "collect/recover.h"
#include "counts.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::AssertionResult;
namespace fs = std::filesystem;
constexpr uid_t kNobody = 65534;

AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no '" << part << "' in '" << text << "'";
}

class FailureTest : public EndToEnd {
 protected:
  // A Session and KYMO_TRACE both fail with `reason` and report `what`, and the program does its work.
  void expect_refused(const std::string& trace, const std::string& what, const std::string& reason,
                      const std::string& kind = "error", StartOptions options = {}) {
    const Ending from_code = run({program("tries"), trace}, options);
    EXPECT_EQ(from_code.code, 0) << from_code.signal << from_code.err;
    EXPECT_TRUE(has(from_code.out, kind + ": "));
    EXPECT_TRUE(has(from_code.out, what));
    EXPECT_TRUE(has(from_code.out, reason));
    EXPECT_TRUE(from_code.out.ends_with("done\n")) << from_code.out;
    EXPECT_EQ(from_code.err, "");

    options.environment.emplace_back("KYMO_TRACE", trace);
    const Ending from_outside = run({program("tries")}, options);
    EXPECT_EQ(from_outside.code, 0) << from_outside.signal;
    EXPECT_EQ(from_outside.out, "done\n");
    EXPECT_TRUE(from_outside.err.starts_with("kymo: not recording: ")) << from_outside.err;
    EXPECT_TRUE(has(from_outside.err, what));
    EXPECT_TRUE(has(from_outside.err, reason));
    EXPECT_EQ(std::count(from_outside.err.begin(), from_outside.err.end(), '\n'), 1) << from_outside.err;
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  }
};

// ---- The file ------------------------------------------------------------------------------------------------------

TEST_F(FailureTest, AMissingFolderIsRefused) {
  expect_refused(file("nowhere/a.kymo"), file("nowhere/a.kymo"), "No such file or directory");
}

TEST_F(FailureTest, APathThatIsAFolderIsRefused) { expect_refused(folder(), folder(), "it is a folder"); }

TEST_F(FailureTest, APathThatIsAPipeIsRefused) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  expect_refused(file("pipe"), file("pipe"), "pipe");
}

TEST_F(FailureTest, AFolderWithoutPermissionIsRefused) {
  StartOptions options;
  if (geteuid() == 0) {
    // root may write everywhere, so another user tries.
    if (access(program("tries").c_str(), X_OK) != 0) GTEST_SKIP() << "the program is not there";
    options.user = kNobody;
    for (const std::string& path : {folder(), memory()}) ASSERT_EQ(chmod(path.c_str(), 0777), 0);
    if (run({"/bin/sh", "-c", "test -x " + program("tries")}, options).code != 0)
      GTEST_SKIP() << "an ordinary user cannot reach the build folder";
  }
  ASSERT_EQ(mkdir(file("closed").c_str(), 0500), 0);
  expect_refused(file("closed/a.kymo"), file("closed/a.kymo"), "Permission denied", "error", options);
  EXPECT_TRUE(fs::is_empty(file("closed")));
}

TEST_F(FailureTest, InvalidOptionsAreReported) {
  const auto complaint = [&](const std::string& name, const std::string& value) {
    const Ending ending = run_traced(file("a.kymo"), {program("tries")}, {{name, value}});
    EXPECT_EQ(ending.code, 0);
    EXPECT_EQ(ending.out, "done\n");
    EXPECT_TRUE(has(ending.err, value));
    return ending.err;
  };
  EXPECT_TRUE(has(complaint("KYMO_POLICY", "sometimes"), "want block, drop or overwrite"));
  EXPECT_TRUE(has(complaint("KYMO_RING_BYTES", "100000"), "power of two"));
  EXPECT_TRUE(has(complaint("KYMO_FLIGHT", "12 parsecs"), "write it like 30s"));
  EXPECT_FALSE(fs::exists(file("a.kymo"))) << "no file for a recording that never was";
}

// ---- Shared memory -------------------------------------------------------------------------------------------------

TEST_F(FailureTest, MissingSharedMemoryIsReported) {
  StartOptions options;
  options.environment = {{"KYMO_SHM_DIR", file("nowhere")}};
  expect_refused(file("a.kymo"), file("nowhere"), "No such file or directory", "not available", options);
}

TEST_F(FailureTest, ASharedMemoryFolderThatOthersMayWriteIsRefused) {
  const std::string open_to_all = memory() + "/kymo-" + std::to_string(geteuid());
  ASSERT_EQ(mkdir(open_to_all.c_str(), 0700), 0);
  ASSERT_EQ(chmod(open_to_all.c_str(), 0777), 0);
  expect_refused(file("a.kymo"), open_to_all, "want 0700", "not available");
}

// Shared memory of a few pages, mounted for the test.
class SmallMemoryTest : public FailureTest {
 protected:
  bool mount_small(const std::string& path, const std::string& size) {
    fs::create_directory(path);
    if (mount("tmpfs", path.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) return false;
    mounted_.push_back(path);
    return true;
  }
  void TearDown() override {
    for (const std::string& path : mounted_) umount2(path.c_str(), MNT_DETACH);
  }

 private:
  std::vector<std::string> mounted_;
};

TEST_F(SmallMemoryTest, SharedMemoryTooSmallToStartIsReported) {
  if (!mount_small(file("small"), "64k")) GTEST_SKIP() << "mounting a tmpfs needs root";
  StartOptions options;
  options.environment = {{"KYMO_SHM_DIR", file("small")}};
  expect_refused(file("a.kymo"), file("small"), "No space left on device", "not available", options);
  EXPECT_TRUE(fs::is_empty(file("small/kymo-" + std::to_string(geteuid())))) << "the unfinished file is removed";
}

// Enough memory to start, but for no ring: the events that could not be recorded are counted.
TEST_F(SmallMemoryTest, SharedMemoryTooSmallForAnyThreadIsCounted) {
  if (!mount_small(file("small"), "1m")) GTEST_SKIP() << "mounting a tmpfs needs root";
  const Ending ending =
      run_traced(file("a.kymo"), {program("threads"), "at-once", "2"}, {{"KYMO_SHM_DIR", file("small")}});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(trace.ranges.empty()) << trace.summary();
  EXPECT_EQ(trace.lost(trace::LossCause::NoSlot), 4u * 2u) << trace.summary();
}

TEST_F(SmallMemoryTest, ForkedChildrenWithoutARingCountEachEventOnce) {
  if (!mount_small(file("small"), "1500k")) GTEST_SKIP() << "mounting a tmpfs needs root";
  const Ending ending = run_traced(file("a.kymo"), {program("forks"), "many", "10"}, {{"KYMO_SHM_DIR", file("small")}});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(trace.ranges.empty()) << trace.summary();
  EXPECT_EQ(trace.lost(trace::LossCause::NoSlot), 60u * 10u * 3u) << trace.summary();
}

// Enough memory to start and for a few rings: the other threads are counted.
TEST_F(SmallMemoryTest, SharedMemoryTooSmallForAllThreadsIsCounted) {
  if (!mount_small(file("small"), "6m")) GTEST_SKIP() << "mounting a tmpfs needs root";
  const Ending ending =
      run_traced(file("a.kymo"), {program("threads"), "at-once", "8"}, {{"KYMO_SHM_DIR", file("small")}});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.lost(), trace.lost(trace::LossCause::NoSlot)) << trace.summary();
  EXPECT_GT(trace.count("short"), 0u);
  EXPECT_GT(trace.lost(), 0u) << "this test wants too little memory";
  EXPECT_EQ(trace.ranges.size() + trace.points.size() + trace.lost(), 4u * 8u) << trace.summary();
}

TEST_F(SmallMemoryTest, WithADiskFullFromTheStartEventsAreRecoveredOrCounted) {
  if (!mount_small(file("disk"), "32k")) GTEST_SKIP() << "mounting a tmpfs needs root";
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending =
      run_recorded(Collector::InProgram, file("disk/a.kymo"), {program("burst"), file("counts"), "20000", "3"});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback before = read_back(file("disk/a.kymo"));
  EXPECT_TRUE(sound(before)) << "a full disk tears no chunk";
  EXPECT_LT(before.ranges.size(), counts->done[0]) << "this test wants a disk that is too small";

  // Someone frees space.
  fs::copy_file(file("disk/a.kymo"), file("a.kymo"));
  fs::remove(file("disk/a.kymo"));  // the copy is the only trace that is left
  EXPECT_EQ(collect::recover(file("a.kymo")).processes, 1u);
  const Readback after = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(after));
  EXPECT_EQ(after.ranges.size() - after.count("waiting for the collector") + after.points.size() + after.lost(),
            counts->done[0] + counts->done[1])
      << after.summary();
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(SmallMemoryTest, WithAFullDiskUnderKymoRecordEventsAreRecoveredOrCounted) {
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  if (!mount_small(file("disk"), "32k")) GTEST_SKIP() << "mounting a tmpfs needs root";
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending =
      run_recorded(Collector::KymoRecord, file("disk/a.kymo"), {program("burst"), file("counts"), "20000", "3"});
  EXPECT_NE(ending.code, 0) << "the program went well, the recording did not";
  EXPECT_TRUE(has(ending.err, file("disk/a.kymo")));
  EXPECT_TRUE(has(ending.err, "No space left on device"));
  EXPECT_EQ(counts->done[1], 20000u) << "the program did all of its work";

  fs::copy_file(file("disk/a.kymo"), file("a.kymo"));
  fs::remove(file("disk/a.kymo"));  // otherwise it is a copy
  EXPECT_EQ(collect::recover(file("a.kymo")).processes, 1u);
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.ranges.size() - trace.count("waiting for the collector") + trace.points.size() + trace.lost(),
            counts->done[0] + counts->done[1])
      << trace.summary();
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

// ---- A file that cannot grow ---------------------------------------------------------------------------------------

TEST_F(FailureTest, AFullDiskIsReportedByCloseAndLosesNothing) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run({program("full_disk"), file("a.kymo"), "20000", file("counts")});
  EXPECT_EQ(ending.code, 3) << "close() throws; " << ending.signal << ending.err;
  EXPECT_TRUE(has(ending.out, file("a.kymo")));
  EXPECT_TRUE(has(ending.out, "File too large"));
  EXPECT_TRUE(sound(read_back(file("a.kymo")))) << "whole chunks only";

  collect::recover(file("a.kymo"));
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("work"), counts->done[0]);
  EXPECT_TRUE(numbered_in_order(trace, "work"));
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(FailureTest, AFullDiskDoesNotBlockForLongAndIsCounted) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run({program("full_disk"), file("a.kymo"), "200000", file("counts")});
  EXPECT_EQ(ending.code, 3) << ending.signal << ending.err;
  collect::recover(file("a.kymo"));
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_GT(trace.lost(trace::LossCause::CollectorStalled), 0u);
  EXPECT_EQ(trace.count("work") + trace.lost(), counts->done[0]) << trace.summary();
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

// ---- Programs that close descriptors -------------------------------------------------------------------------------

TEST_F(FailureTest, AProgramThatClosesEveryDescriptorIsRecorded) {
  const Ending ending = run({program("closes_files"), file("own"), file("a.kymo")});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(contents_of(file("own" + std::to_string(i))), "mine\nmine\n") << "the program's own files are its own";
  collect::recover(file("a.kymo"));
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("early"), 1000u);
  EXPECT_EQ(trace.count("late"), 1000u);
  EXPECT_EQ(trace.count("child"), 1000u);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(FailureTest, AProgramWithoutStandardStreamsIsRecorded) {
  const Ending ending =
      run({program("no_streams")}, {.environment = {{"KYMO_TRACE", file("a.kymo")}}, .closed_streams = true});
  EXPECT_EQ(ending.code, 0) << ending.signal;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace)) << "what the program prints is not in its trace";
  EXPECT_EQ(trace.count("work"), 1000u);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kymo::e2e
