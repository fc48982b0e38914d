// Programs that close descriptors, execute or start other programs, have many threads, or little disk space.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/test_size.h"
#include "base/test_wait.h"
#include "kymo/session.h"
#include "ondemand/test_program.h"

namespace kymo::ondemand {
namespace {

using testing::names_in_trace;
using testing::Program;
using testing::work_in_ranges;
using wire::RequestState;

class AgentHardTest : public testing::WithDaemon {
 protected:
  void TearDown() override {
    if (!disk.empty()) umount2(disk.c_str(), MNT_DETACH);
    WithDaemon::TearDown();
  }

  // Runs this program again as a new process image. Its agent starts when the image is loaded, and it runs no tests.
  static int run_image(const std::string& image) {
    const pid_t pid = fork();
    if (pid == 0) {
      become(image);
      _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static void become(const std::string& image) {
    execl(image.c_str(), image.c_str(), "--gtest_filter=none", "--gtest_brief=1", nullptr);
  }
  bool somebody_knocks() {
    auto connection = daemon->accept(0);
    return connection.has_value();
  }
  static std::string printed_by(const std::function<void()>& body) {
    ::testing::internal::CaptureStderr();
    body();
    return ::testing::internal::GetCapturedStderr();
  }

  std::string disk;  // a small disk, mounted by the test
};

TEST_F(AgentHardTest, ProgramThatClosesAllDescriptorsKeepsItsFilesAndCanBeTraced) {
  constexpr int kFiles = 150;
  Program program(socket, [this](const std::atomic<bool>& over) {
    wait_for_file("go");
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    std::vector<int> own;
    for (int i = 0; i < kFiles; ++i)
      own.push_back(open(file("own" + std::to_string(i)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    work_in_ranges(over);
    for (const int fd : own) EXPECT_EQ(write(fd, "mine", 4), 4);
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  std::ofstream(file("go")) << "now";
  while (agent->next()) {  // until it has noticed
  }
  agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(50));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(program.end(), 0);
  for (int i = 0; i < kFiles; ++i) EXPECT_EQ(std::filesystem::file_size(file("own" + std::to_string(i))), 4u);
}

TEST_F(AgentHardTest, ExecutedProgramInheritsNoDescriptorsAndConnectsItself) {
  Program program(socket, [](const std::atomic<bool>&) {
    base::wait_until("the recording", is_recording);
    execl("/bin/sleep", "sleep", "60", nullptr);
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000));
  while (agent->next()) {
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(program.pid()) + "/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry, ignored);
    if (std::stoi(entry.path().filename()) > 2) {
      EXPECT_EQ(target.find("socket:"), std::string::npos) << entry;
      EXPECT_EQ(target.find("inotify"), std::string::npos) << entry;
      EXPECT_EQ(target.find(folder), std::string::npos) << entry << target;
    }
  }
  Program other(socket, [](const std::atomic<bool>&) { become("/proc/self/exe"); });
  std::string command_line;
  // The process image before exec may have connected too.
  while (command_line.find("--gtest_filter=none") == std::string::npos) {
    auto connection = daemon->accept();
    ASSERT_TRUE(connection);
    const auto hello = connection->next_of<wire::Hello>();
    if (!hello) continue;
    EXPECT_EQ(hello->pid, other.pid());
    command_line = hello->command_line;
  }
}

TEST_F(AgentHardTest, ChildProgramsDoNotDisturbATrace) {
  Program program(socket, [](const std::atomic<bool>& over) {
    while (!over) {
      KYMO_RANGE("work");
      char name[] = "true";
      char* arguments[] = {name, nullptr};
      pid_t spawned = -1;
      if (posix_spawn(&spawned, "/bin/true", nullptr, nullptr, arguments, environ) == 0) waitpid(spawned, nullptr, 0);
      const pid_t child = vfork();
      if (child == 0) {
        execl("/bin/true", "true", nullptr);
        _exit(127);
      }
      waitpid(child, nullptr, 0);
    }
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(200));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(trace::Reader(done->path).writers().size(), 1u);
  EXPECT_EQ(program.end(), 0);
  EXPECT_FALSE(somebody_knocks()) << "a child between fork and exec has no agent";
}

TEST_F(AgentHardTest, EventsOfAThousandThreadsAreRecordedOrCountedAsLost) {
  constexpr int kThreads = base::test_size(1000);
  Program program(socket, [](const std::atomic<bool>& over) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&over] {
        while (!over) usleep(100'000);
        KYMO_RANGE("work");
      });
    for (std::thread& thread : threads) thread.join();
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  EXPECT_EQ(program.end(), 0);
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(names_in_trace(done->path)["work"] + done->losses, static_cast<uint64_t>(kThreads));
}

// ---- Rights

TEST_F(AgentHardTest, SetUserIdProgramHasNoAgent) {
  struct statvfs where {};
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a program of another user's";
  if (statvfs(folder.c_str(), &where) != 0 || (where.f_flag & ST_NOSUID) != 0)
    GTEST_SKIP() << "no program gets other rights in " << folder;
  constexpr uid_t kNobody = 65534;
  std::filesystem::permissions(folder, std::filesystem::perms{0755});
  std::filesystem::permissions(socket, std::filesystem::perms{0777});
  const std::string image = file("image");
  std::filesystem::copy_file("/proc/self/exe", image);
  ASSERT_EQ(chown(image.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(chmod(image.c_str(), 0755), 0);
  setenv("KYMO_DAEMON", socket.c_str(), 1);
  EXPECT_EQ(run_image(image), 0);
  EXPECT_TRUE(somebody_knocks());
  ASSERT_EQ(chmod(image.c_str(), 04755), 0);
  run_image(image);  // the exit status is ignored: sanitizers may fail in a set-user-ID program
  EXPECT_FALSE(somebody_knocks());
  unsetenv("KYMO_DAEMON");
}

TEST_F(AgentHardTest, InvalidDaemonValuePrintsOneLineAndTheProgramContinues) {
  for (const std::string& value : {std::string("run/kymod.sock"), "/" + std::string(200, 'x') + "/d.sock"}) {
    setenv("KYMO_DAEMON", value.c_str(), 1);
    const std::string said = printed_by([] { EXPECT_EQ(run_image("/proc/self/exe"), 0); });
    EXPECT_NE(said.find("kymo: KYMO_DAEMON is ignored: \"" + value), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
  for (const std::string& value : {std::string("0"), std::string(), file("nothing/there.sock"), file("notes")}) {
    std::ofstream(file("notes")) << "no socket";
    setenv("KYMO_DAEMON", value.c_str(), 1);
    EXPECT_EQ(printed_by([] { EXPECT_EQ(run_image("/proc/self/exe"), 0); }), "") << value;
  }
  unsetenv("KYMO_DAEMON");
}

// ---- No space

// Enough data that does not compress well.
void much_work(const std::atomic<bool>& over) {
  for (uint64_t i = 1; !over; ++i) {
    for (uint64_t k = 0; k < 100; ++k) {
      KYMO_RANGE("work", arg("number", i * 0x9e3779b97f4a7c15 + k * i * i));
    }
    usleep(100);
  }
}

TEST_F(AgentHardTest, FullDiskIsReportedAndTheProgramContinues) {
  disk = file("disk");
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=16k,mode=0700") != 0)
    GTEST_SKIP() << "may not mount a disk of its own here";
  Program program(socket, much_work);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start = start_for(2000);
  start.options.output = disk + "/a.kymo";
  agent->send(start);
  const auto failed = agent->next_of<wire::Done>();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->state, RequestState::Failed);
  EXPECT_NE(failed->text.find("No space left"), std::string::npos) << failed->text;
  agent->send(start_for(10));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(program.end(), 0);
}

TEST_F(AgentHardTest, FileSizeLimitIsReportedAndTheProgramContinues) {
  Program program(socket, [](const std::atomic<bool>& over) {
    const rlimit little{16 << 10, 16 << 10};
    setrlimit(RLIMIT_FSIZE, &little);
    much_work(over);
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(2000));
  const auto failed = agent->next_of<wire::Done>();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->state, RequestState::Failed) << failed->events;
  EXPECT_FALSE(failed->text.empty());
  EXPECT_EQ(program.end(), 0);
}

}  // namespace
}  // namespace kymo::ondemand
