#include "cli/doctor_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <latch>
#include <thread>

#include "cli/process_view.h"
#include "daemon/proc.h"

namespace kymo::cli {
namespace {

using ::testing::HasSubstr;
using wire::Verdict;

// A process that does nothing, with its own environment.
class Sleeper {
 public:
  explicit Sleeper(std::vector<std::string> environment) {
    environment.push_back("IS_THERE=1");
    std::vector<char*> variables;
    for (std::string& variable : environment) variables.push_back(variable.data());
    variables.push_back(nullptr);
    char name[] = "sleep", time[] = "1000";
    char* words[] = {name, time, nullptr};
    if (posix_spawn(&pid_, "/bin/sleep", nullptr, nullptr, words, variables.data()) != 0) pid_ = -1;
    // The process starts before the kernel shows its environment.
    while (pid_ > 0 && !daemon::start_variable(pid_, "IS_THERE").value) std::this_thread::yield();
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

const wire::Finding* finding_named(const Findings& findings, const std::string& name) {
  for (const auto& finding : findings)
    if (finding.name == name) return &finding;
  return nullptr;
}

::testing::AssertionResult says(const Findings& findings, const std::string& name, Verdict verdict,
                                const std::string& part) {
  const auto* finding = finding_named(findings, name);
  if (finding == nullptr) return ::testing::AssertionFailure() << "nothing about " << name;
  if (finding->verdict != verdict || finding->text.find(part) == finding->text.npos)
    return ::testing::AssertionFailure() << name << ": " << finding->text;
  return ::testing::AssertionSuccess();
}

TEST(DoctorProcessTest, MissingProcessIsReported) {
  pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  EXPECT_TRUE(says(examine_process(gone, {}), "process", Verdict::Bad, "there is no process"));
}

TEST(DoctorProcessTest, UnsetVariableIsReportedAsTheReason) {
  const Sleeper sleeper({"HOME=/"});
  const Findings findings = examine_process(sleeper.pid(), {});
  EXPECT_TRUE(says(findings, "process", Verdict::Good, "sleep"));
  EXPECT_TRUE(says(findings, "variable", Verdict::Bad, "KYMO_DAEMON was not set"));
  EXPECT_EQ(finding_named(findings, "variable")->remedy, "start it again with KYMO_DAEMON=1");
  EXPECT_EQ(finding_named(findings, "agent"), nullptr);
}

TEST(DoctorProcessTest, ProgramWithoutTheLibraryIsReported) {
  const Sleeper sleeper({"KYMO_DAEMON=1"});
  const Findings findings = examine_process(sleeper.pid(), {});
  EXPECT_TRUE(says(findings, "variable", Verdict::Good, "KYMO_DAEMON=1"));
  EXPECT_TRUE(says(findings, "library", Verdict::Bad, "neither libkymo_ondemand"));
}

TEST(DoctorProcessTest, ProgramThatUsesAnotherSocketIsReported) {
  const Sleeper sleeper({"KYMO_DAEMON=/elsewhere.sock"});
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {{"/here.sock", geteuid()}}), "socket", Verdict::Bad,
                   "it looks at /elsewhere.sock, but the daemon is at /here.sock"));
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {{"/elsewhere.sock", geteuid()}}), "socket", Verdict::Good, ""));
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {{"/elsewhere.sock", geteuid() + 1}}), "socket", Verdict::Bad,
                   "the program trusts only"));
}

TEST(DoctorProcessTest, FolderThatOthersCanChangeIsReported) {
  std::string folder = (std::filesystem::temp_directory_path() / "kymo-doctor-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string socket = folder + "/kymod.sock";
  const Sleeper sleeper({"KYMO_DAEMON=" + socket});
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {{socket, geteuid()}}), "socket", Verdict::Good, "it looks at"));
  chmod(folder.c_str(), 0777);
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {{socket, geteuid()}}), "socket", Verdict::Bad,
                   folder + " can be changed by others"));
  std::filesystem::remove_all(folder);
}

TEST(DoctorProcessTest, RuntimeFolderIsReadFromTheProcess) {
  const Sleeper sleeper({"KYMO_DAEMON=1", "XDG_RUNTIME_DIR=/its/own"});
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {{"/its/own/kymo/kymod.sock", geteuid()}}), "socket", Verdict::Good,
                   "it looks at /its/own/kymo/kymod.sock"));
}

TEST(DoctorProcessTest, ProgramWithLibkinetoNeedsDynolog) {
  const Sleeper sleeper({"KINETO_USE_DAEMON=1", "KINETO_IPC_SOCKET_DIR=/nowhere", "SLURM_JOB_ID=77"});
  const Findings findings = examine_process(sleeper.pid(), {});
  EXPECT_TRUE(says(findings, "variable", Verdict::Good, "KINETO_USE_DAEMON"));
  EXPECT_TRUE(says(findings, "dynolog", Verdict::Bad, "no socket dynolog in /nowhere"));
  EXPECT_TRUE(says(findings, "job", Verdict::Good, "--job 77 finds it"));
}

TEST(DoctorProcessTest, RunningRecordingIsReported) {
  const Sleeper sleeper({"KYMO_DAEMON=1", "KYMO_TRACE=/tmp/x.kymo"});
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {}), "recording", Verdict::Doubtful, "/tmp/x.kymo"));
}

TEST(DoctorProcessTest, StoppedProcessIsReported) {
  const Sleeper sleeper({});
  kill(sleeper.pid(), SIGSTOP);
  int status = 0;
  waitpid(sleeper.pid(), &status, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {}), "process", Verdict::Bad, "is stopped"));
}

TEST(DoctorProcessTest, ProcessOfAnotherUserIsReported) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  const Sleeper sleeper({});
  const pid_t stranger = fork();
  if (stranger == 0) {
    if (setuid(65534) != 0) _exit(2);
    _exit(says(examine_process(sleeper.pid(), {}), "user", Verdict::Bad, "belongs to root") ? 0 : 1);
  }
  int status = -1;
  waitpid(stranger, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ProcessViewTest, AgentIsFoundByItsThread) {
  EXPECT_EQ(has_agent_thread(getpid()), false);
  std::latch named(1), seen(1);
  std::thread agent([&] {
    pthread_setname_np(pthread_self(), "kymo-agent");
    named.count_down();
    seen.wait();
  });
  named.wait();
  EXPECT_EQ(has_agent_thread(getpid()), true);
  seen.count_down();
  agent.join();
}

TEST(ProcessViewTest, FileIsTheSameInTheSameRoot) {
  EXPECT_EQ(sees_same_file(getpid(), "/proc/self/exe"), true);
  EXPECT_EQ(sees_same_file(getpid(), "/nowhere"), std::nullopt);
}

TEST(ProcessViewTest, OwnProcessesIncludeThisProcess) { EXPECT_THAT(own_processes(), ::testing::Contains(getpid())); }

}  // namespace
}  // namespace kymo::cli
