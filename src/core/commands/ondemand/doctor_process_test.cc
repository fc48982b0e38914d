#include "commands/ondemand/doctor_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <latch>
#include <thread>

#include "base/file.h"
#include "base/test_wait.h"
#include "daemon/proc.h"

namespace kymo::cli {
namespace {

using ::testing::HasSubstr;

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
    base::wait_until("the environment of the process",
                     [this] { return pid_ <= 0 || daemon::start_variable(pid_, "IS_THERE").value; });
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

const Finding* finding_named(const Findings& findings, const std::string& name) {
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
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {}), "recording", Verdict::Bad, "/tmp/x.kymo"));
  EXPECT_TRUE(says(examine_connected(sleeper.pid()), "recording", Verdict::Bad, "/tmp/x.kymo"));
  const Sleeper recorded({"KYMO_DAEMON=1", "KYMO_SESSION_FILE=/tmp/y.kymo"});
  EXPECT_TRUE(says(examine_connected(recorded.pid()), "recording", Verdict::Bad, "'kymo record' records it to"));
  const Sleeper flight({"KYMO_DAEMON=1", "KYMO_TRACE=/tmp/x.kymo", "KYMO_FLIGHT=30s"});
  EXPECT_TRUE(says(examine_connected(flight.pid()), "recording", Verdict::Doubtful, "/tmp/x.kymo"));
  const Sleeper free({"KYMO_DAEMON=1"});
  EXPECT_THAT(examine_connected(free.pid()), ::testing::IsEmpty());
}

TEST(DoctorProcessTest, VariableThatSwitchesTheAgentOffIsReported) {
  const Sleeper off({"KYMO_DAEMON=0"}), empty({"KYMO_DAEMON="}), relative({"KYMO_DAEMON=run/kymod.sock"});
  EXPECT_TRUE(says(examine_process(off.pid(), {}), "variable", Verdict::Bad, "KYMO_DAEMON=0 switches traces"));
  EXPECT_TRUE(says(examine_process(empty.pid(), {}), "variable", Verdict::Bad, "KYMO_DAEMON= switches traces"));
  EXPECT_TRUE(says(examine_process(relative.pid(), {}), "variable", Verdict::Bad, "is not an absolute path"));
  EXPECT_EQ(finding_named(examine_process(off.pid(), {{"/here.sock", geteuid()}}), "socket"), nullptr);
  const Sleeper kineto({"KYMO_DAEMON=0", "KINETO_USE_DAEMON=1"});
  EXPECT_TRUE(says(examine_process(kineto.pid(), {}), "variable", Verdict::Good, "KINETO_USE_DAEMON"));
}

// A socket of the abstract namespace that programs inherit; its name has a NUL at its end.
base::FileDescriptor named_socket(const std::string& name) {
  base::FileDescriptor made(::socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 2);
  EXPECT_EQ(::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  return made;
}

TEST(DoctorProcessTest, StaticallyLinkedLibkinetoIsFoundByItsSocket) {
  const Sleeper without({"KINETO_USE_DAEMON=1"});
  EXPECT_FALSE(has_kineto_socket(without.pid()));
  EXPECT_TRUE(
      says(examine_process(without.pid(), {}), "library", Verdict::Doubtful, "neither libtorch nor the socket"));
  const auto socket = named_socket("dynoconfigclient" + std::to_string(getpid()));
  const Sleeper with({"KINETO_USE_DAEMON=1"});
  EXPECT_TRUE(has_kineto_socket(with.pid()));
  EXPECT_TRUE(says(examine_process(with.pid(), {}), "library", Verdict::Good, "libkineto runs"));
  EXPECT_FALSE(has_kineto_socket(without.pid())) << "the socket is in its network, but not its own";
}

// Runs in its own network, because the name is the same everywhere.
void check_owners_of_dynolog() {
  const Sleeper sleeper({"KINETO_USE_DAEMON=1"});
  const uint64_t network = daemon::namespace_of(getpid(), "net");
  const auto examined = [&](const std::string& dynolog, uint64_t of_daemon) {
    return examine_process(sleeper.pid(), {{"/here.sock", geteuid(), dynolog, of_daemon}});
  };
  EXPECT_TRUE(says(examined("", network), "dynolog", Verdict::Bad,
                   "kymod at /here.sock does not serve programs with libkineto"));
  EXPECT_TRUE(says(examined("/ipc/dynolog", network), "dynolog", Verdict::Bad, "at /ipc/dynolog"));
  const auto socket = named_socket("dynolog");
  const std::string who = "(" + std::to_string(getpid()) + ") has the name dynolog, not kymod";
  EXPECT_TRUE(says(examined("", network), "dynolog", Verdict::Bad, who));
  EXPECT_TRUE(says(examined("@dynolog", network + 1), "dynolog", Verdict::Bad, who));
  EXPECT_TRUE(says(examined("@dynolog", network), "dynolog", Verdict::Good, "kymod serves it"));
  EXPECT_TRUE(says(examine_process(sleeper.pid(), {}), "dynolog", Verdict::Doubtful, "serves the name dynolog"));
}

TEST(DoctorProcessTest, OwnerOfTheNameDynologIsReported) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, for a network of its own";
  constexpr int kNotPermitted = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNET) != 0) _exit(kNotPermitted);
    check_owners_of_dynolog();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted)
    GTEST_SKIP() << "no network namespace can be made here";
  EXPECT_EQ(status, 0);
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
