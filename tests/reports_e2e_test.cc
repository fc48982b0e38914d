// What could not be recorded is reported: by the program, by `kymo record`, and by the commands that read the trace.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class ReportsTest : public CommandTest {};

TEST_F(ReportsTest, AProcessWithoutAThreadForItsCollectorIsInTheTrace) {
  constexpr uid_t kUser = 61'235;  // has no other process
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string own = file("own");
  ASSERT_TRUE(fs::create_directory(own) && chown(own.c_str(), kUser, kUser) == 0 && chmod(folder().c_str(), 0711) == 0);
  const StartOptions as_user{.environment = {{"KYMO_TRACE", own + "/a.kymo"}, {"KYMO_SHM_DIR", own}}, .user = kUser};
  const Words limited{"/usr/bin/prlimit", "--nproc=1", program("tries")};
  if (run({"/usr/bin/test", "-x", program("tries"), "-a", "-x", limited[0]}, {.environment = {}, .user = kUser}).code !=
      0)
    GTEST_SKIP() << "other users cannot run the programs";
  const Ending ending = run(limited, as_user);
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(ending.err, HasSubstr("not recording: no thread for the collector"));
  const Ending info = kymo({"info", own + "/a.kymo", "--strict"});
  EXPECT_EQ(info.code, 3) << info.err;
  EXPECT_THAT(info.err, HasSubstr("could not record: no thread for the collector"));
}

TEST_F(ReportsTest, ARelativeFolderOfSharedMemoryStaysValidAfterAChangeOfFolder) {
  ASSERT_TRUE(fs::create_directory(file("relative")));
  const std::string command = "cd " + folder() + " && exec " + program("open") + " moves " + program("tries");
  const Ending ending =
      run({"/bin/sh", "-c", command}, {.environment = {{"KYMO_TRACE", file("a.kymo")}, {"KYMO_SHM_DIR", "relative"}}});
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(ending.err, IsEmpty());
  kymo({"recover", file("a.kymo")}, {.environment = {{"KYMO_SHM_DIR", file("relative")}}});
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("moving"), 1u);
  EXPECT_EQ(trace.count("work"), 1000u);
}

// The report is in the file when the process ends: a report to its parent would be lost if the parent is killed then.
TEST_F(ReportsTest, AProcessThatCannotRecordWritesThatIntoTheTrace) {
  const std::string script =
      program("tries") + " && KYMO_SHM_DIR=" + file("nowhere") + " " + program("tries") + "; kill -KILL $PPID";
  const Ending ending = run_traced(file("a.kymo"), {program("open"), "starts", script});
  EXPECT_EQ(ending.signal, SIGKILL) << ending.err;
  const Ending info = kymo({"info", file("a.kymo"), "--strict"});
  EXPECT_EQ(info.code, 3) << info.err;
  EXPECT_THAT(info.err, HasSubstr("could not record: " + file("nowhere")));
}

// A container has its own /dev/shm. Here the folder of the segments is private to the program.
TEST_F(ReportsTest, AProgramWithPrivateSharedMemoryIsReported) {
  const std::string hidden = "mount -t tmpfs none " + memory() + " && exec " + program("tries");
  const Words isolated{"/usr/bin/unshare", "--mount", "/bin/sh", "-c", hidden};
  if (run(isolated).code != 0) GTEST_SKIP() << "cannot make a mount namespace here";
  Words recorded{"record", "--strict", "-o", file("a.kymo"), "--"};
  recorded.insert(recorded.end(), isolated.begin(), isolated.end());
  const Ending ending = kymo(recorded);
  EXPECT_EQ(ending.code, 3) << ending.err;
  EXPECT_THAT(ending.err, HasSubstr("out of the recording's sight (chroot, container)"));

  // With KYMO_TRACE the program writes the trace itself.
  const std::string script = "unshare --mount /bin/sh -c '" + hidden + "'";
  const Ending traced = run_traced(file("b.kymo"), {program("open"), "starts", script});
  EXPECT_EQ(traced.code, 0) << traced.err;
  EXPECT_EQ(kymo({"info", file("b.kymo"), "--strict"}).code, 0);
  EXPECT_EQ(read_back(file("b.kymo")).count("work"), 1000u);
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

// A full disk, here as a limit on the size of files: neither the trace nor a copy of it can be written.
TEST_F(ReportsTest, DataThatCannotBeAddedIsSaidToBeInSharedMemory) {
  ASSERT_EQ(run_traced(file("a.kymo"), {program("ends"), "kill", "5000"}).signal, SIGKILL);
  const std::string info = program("kymo") + " info --strict " + file("a.kymo");
  // Through a pipe, because the limit also holds for the files that get the output.
  const Ending full = run({"/bin/sh", "-c", "(ulimit -f 1; " + info + "; echo exit code $?) 2>&1 | cat"});
  EXPECT_THAT(full.out, HasSubstr("they are still in shared memory, and could not be added: cannot write"));
  EXPECT_THAT(full.out, HasSubstr("exit code 3"));
  const Ending later = run({"/bin/sh", "-c", info});
  EXPECT_EQ(later.code, 0) << later.err;
}

}  // namespace
}  // namespace kymo::e2e
