// The daemon with several users, namespaces and clients that behave badly: real processes, and what each of them gets.
#include <sys/un.h>

#include "ondemand.h"
#include "peers.h"
#include "readback.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kHer = 65533, kHim = 65532;

class DaemonTest : public WithDaemon {
 protected:
  // A connection that sends nothing.
  static Socket silent(const std::string& path) {
    Socket socket(AF_UNIX, SOCK_SEQPACKET);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  Ending trigger_all() { return kymo({"trigger", "--all", "--duration", "20ms", "-o", pattern()}); }
};

// ---- Users ---------------------------------------------------------------------------------------------------------

class TwoUsersTest : public DaemonTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
    DaemonTest::SetUp();
    if (IsSkipped()) return;
    chmod(folder().c_str(), 0755);
    chmod(file("run").c_str(), 0755);
    chmod(memory().c_str(), 01777);
    make_folder("hers", kHer, 0700);
    make_folder("his", kHim, 0700);
    make_folder("all", 0, 01777);
  }
  void make_folder(const std::string& name, uid_t owner, mode_t mode) {
    std::filesystem::create_directory(file(name));
    EXPECT_EQ(chown(file(name).c_str(), owner, owner), 0);
    chmod(file(name).c_str(), mode);
  }
  Process serve_as(uid_t user) {
    Process process = start({program("serves")}, {.environment = {{"KYMO_DAEMON", socket()}}, .user = user});
    wait_until_connected(process);
    return process;
  }
  Ending kymo_as(uid_t user, const Words& words) { return run(spoken(words), {.environment = {}, .user = user}); }
  Ending trigger_as(uid_t user, const std::string& selection, const std::string& where) {
    return kymo_as(user, {"trigger", "--name", selection, "--duration", "20ms", "-o", file(where + "/{pid}.kymo")});
  }
  std::string trace_in(const std::string& where, const Process& process) const {
    return file(where + "/" + std::to_string(process.pid()) + ".kymo");
  }
  static void expect_private(const std::string& path, uid_t owner) {
    struct stat status {};
    ASSERT_EQ(lstat(path.c_str(), &status), 0) << path;
    EXPECT_EQ(status.st_uid, owner);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
  }
};

TEST_F(TwoUsersTest, EachUserSeesAndTriggersTheirOwnProgramsAndRootSeesAll) {
  struct stat status {};
  ASSERT_EQ(stat(socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u) << "everybody may connect; the daemon then checks who it is";
  const Process hers = serve_as(kHer), his = serve_as(kHim);
  const std::string her_pid = std::to_string(hers.pid()), his_pid = std::to_string(his.pid());
  const Ending listed = kymo_as(kHer, {"ps"});
  EXPECT_THAT(listed.out, HasSubstr(her_pid));
  EXPECT_THAT(listed.out, Not(HasSubstr(his_pid)));

  const Ending refused = kymo_as(kHer, {"trigger", "--pid", his_pid, "-o", file("hers/x.kymo")});
  EXPECT_EQ(refused.code, 3) << refused.out << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("run kymo as that user or as root"));
  const Ending own = trigger_as(kHer, "serves", "hers");
  EXPECT_EQ(own.code, 0) << own.out << own.err;
  expect_private(trace_in("hers", hers), kHer);
  EXPECT_FALSE(std::filesystem::exists(trace_in("hers", his)));

  const Ending both = trigger_as(0, "serves", "all");
  EXPECT_EQ(both.code, 0) << both.out << both.err;
  expect_private(trace_in("all", hers), kHer);
  expect_private(trace_in("all", his), kHim);
}

TEST_F(TwoUsersTest, TracesGoOnlyWhereTheUserOfTheProgramMayWrite) {
  const Process hers = serve_as(kHer), his = serve_as(kHim);
  const Ending asked = trigger_as(0, "serves", "hers");
  EXPECT_EQ(asked.code, 1) << asked.out << asked.err;
  expect_private(trace_in("hers", hers), kHer);
  EXPECT_FALSE(std::filesystem::exists(trace_in("hers", his)));
}

TEST_F(TwoUsersTest, AUserCannotCancelTheRequestOfAnotherUser) {
  const Process hers = serve_as(kHer);
  EXPECT_EQ(kymo_as(kHer, {"trigger", "--all", "--duration", "1h", "--no-wait", "-o", file("hers/x.kymo")}).code, 0);
  wait_until_doing(hers, "recording");
  EXPECT_EQ(kymo_as(kHim, {"trigger", "--cancel", "all"}).code, 3);
  EXPECT_EQ(kymo_as(kHim, {"trigger", "--cancel", "1"}).code, 3);
  EXPECT_EQ(doing(hers.pid()), "recording");
  EXPECT_EQ(kymo_as(kHer, {"trigger", "--cancel", "all"}).code, 0);
}

TEST_F(TwoUsersTest, ADaemonOfAUserServesOnlyThatUser) {
  const Environment hers = {{"XDG_RUNTIME_DIR", file("hers")}, {"KYMO_DAEMON", "1"}};
  const Process daemon = start({program("kymod"), "--quiet"}, {.environment = hers, .user = kHer});
  const Process served = start({program("serves")}, {.environment = hers, .user = kHer});
  const std::string path = file("hers/kymo/kymod.sock"), pid = std::to_string(served.pid());
  const Words ps = {program("kymo"), "ps", "--socket", path, "--pid", pid};
  wait_until("the program at its user's daemon", [&] {
    return run({program("kymo"), "ps", "--pid", pid}, {.environment = hers, .user = kHer}).code == 0;
  });
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(file("hers/kymo").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);

  const Ending refused = run(ps, {.environment = {}, .user = kHim});
  EXPECT_EQ(refused.code, 1) << refused.out;
  chmod(file("hers").c_str(), 0755);
  chmod(file("hers/kymo").c_str(), 0755);
  chmod(path.c_str(), 0666);  // even if the path to it is open
  const Ending reported = run(ps, {.environment = {}, .user = kHim});
  EXPECT_EQ(reported.code, 1) << reported.out;
  EXPECT_THAT(reported.err, HasSubstr("65533")) << "whose it is";
}

TEST_F(TwoUsersTest, AProgramDoesNotTrustADaemonOfAnotherUser) {
  const std::string path = file("his/kymod.sock");
  const Process daemon = start({program("kymod"), "--quiet", "--socket", path}, {.environment = {}, .user = kHim});
  chmod(file("his").c_str(), 0755);
  wait_until("his daemon", [&] { return chmod(path.c_str(), 0666) == 0; });
  const Process hers = start({program("serves")}, {.environment = {{"KYMO_DAEMON", path}}, .user = kHer});
  const std::string pid = std::to_string(hers.pid());
  wait_until("her agent", [&] {
    return run(spoken({"doctor", pid})).out.find("kymo-agent runs") != std::string::npos;
  });
  const Ending listed = run({program("kymo"), "ps", "--socket", path, "--pid", pid}, {.environment = {}, .user = kHim});
  EXPECT_EQ(listed.code, 3) << listed.out << listed.err;
}

// ---- Namespaces ----------------------------------------------------------------------------------------------------

TEST_F(DaemonTest, AProgramInItsOwnNetworkNamespaceIsServedByAPath) {
  if (run({"/usr/bin/unshare", "-n", "/bin/true"}).code != 0) GTEST_SKIP() << "no network namespace can be made here";
  const Process served =
      start({"/usr/bin/unshare", "-n", program("serves")}, {.environment = {{"KYMO_DAEMON", socket()}}});
  wait_until_connected(served);
  const Ending done = trigger_all();
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_TRUE(std::filesystem::exists(trace_of(served)));
}

TEST_F(DaemonTest, ProgramsWithTheSamePidInTheirOwnNamespacesWriteTheirOwnFiles) {
  if (run({"/usr/bin/unshare", "-p", "-f", "/bin/true"}).code != 0) GTEST_SKIP() << "no pid namespace can be made here";
  const auto start_contained = [&] {
    return start({"/usr/bin/unshare", "-p", "-f", program("serves")}, {.environment = {{"KYMO_DAEMON", socket()}}});
  };
  const Process one = start_contained(), two = start_contained();
  wait_until_connected(one);  // the program is its child
  wait_until_connected(two);
  const Ending done = trigger_all();
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_FALSE(std::filesystem::exists(file("t-1.kymo"))) << "named by the pid that kymo ps shows";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) files += entry.path().extension() == ".kymo";
  EXPECT_EQ(files, 2u) << done.out;
}

// ---- Bad clients ---------------------------------------------------------------------------------------------------

TEST_F(DaemonTest, HundredsOfSilentClientsDoNotBlockOthers) {
  const Process served = serve();
  std::vector<Socket> guests;
  for (int i = 0; i < 300; ++i) guests.push_back(silent(socket()));
  const Ending done = trigger_all();
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

TEST_F(DaemonTest, WithoutFreeDescriptorsItRefusesAndServesExistingClients) {
  kill_daemon();
  daemon_.emplace(start({"/bin/sh", "-c", "ulimit -n 32 && exec " + program("kymod") + " --socket " + socket()}));
  wait_until("the daemon", [this] { return kymo({"ps"}).code == 0; });
  const Process served = serve();
  Process waiting = start_kymo({"trigger", "--all", "--duration", "1s", "-o", pattern()});
  wait_until_doing(served, "recording");
  {
    std::vector<Socket> guests;
    for (int i = 0; i < 100; ++i) guests.push_back(silent(socket()));
    wait_until("its complaint",
               [&] { return daemon_->errors().find("no file descriptors left") != std::string::npos; });
    const Ending ended = waiting.wait();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  }
  wait_until("room again", [this] { return kymo({"ps"}).code == 0; });
  EXPECT_EQ(trigger_all().code, 0);
}

TEST_F(DaemonTest, ACommandThatDoesNotReadDoesNotAffectOthers) {
  const Process served = serve();
  Process stopped = start_kymo({"trigger", "--all", "--duration", "500ms", "-o", pattern()});
  wait_until_doing(served, "recording");
  stopped.signal(SIGSTOP);
  wait_until_doing(served, "idle");
  const Ending other = trigger_all();
  EXPECT_EQ(other.code, 0) << other.out << other.err;
  stopped.signal(SIGCONT);
  EXPECT_EQ(stopped.wait().code, 0) << "it was kept for it";
}

TEST_F(DaemonTest, AllProgramsReconnectToADaemonThatIsKilledRepeatedly) {
  std::vector<Process> programs;
  for (int i = 0; i < 5; ++i) programs.push_back(serve());
  for (int i = 0; i < 3; ++i) {
    kill_daemon();
    start_daemon();
    for (const Process& one : programs) wait_until_connected(one);
  }
  const Ending done = trigger_all();
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  for (const Process& one : programs) EXPECT_TRUE(std::filesystem::exists(trace_of(one)));
}

TEST_F(DaemonTest, StoppingItDuringATraceLeavesNoSocketAndTheTraceIsCompleted) {
  const Process served = serve();
  EXPECT_EQ(kymo({"trigger", "--all", "--duration", "300ms", "--no-wait", "-o", pattern()}).code, 0);
  daemon_->signal(SIGTERM);
  EXPECT_EQ(daemon_->wait().code, 0);
  EXPECT_FALSE(std::filesystem::exists(socket()));
  wait_until("the trace", [&] { return std::filesystem::exists(trace_of(served)); });
  EXPECT_TRUE(sound(read_back(trace_of(served))));
}

// ---- Outputs -------------------------------------------------------------------------------------------------------

TEST_F(DaemonTest, ASymlinkAtTheOutputIsNotFollowed) {
  const Process served = serve();
  write_file(file("victim"), "precious");
  std::filesystem::create_symlink(file("victim"), trace_of(served));
  const Ending done = trigger_all();
  EXPECT_EQ(done.code, 1) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("link"));
  EXPECT_EQ(contents_of(file("victim")), "precious");
}

TEST_F(DaemonTest, ASymlinkOutOfTheAllowedFolderIsRefused) {
  kill_daemon();
  for (const char* name : {"allowed", "elsewhere"}) std::filesystem::create_directory(file(name));
  std::filesystem::create_symlink(file("elsewhere"), file("allowed/link"));
  start_daemon({"--output-folder", file("allowed")});
  const Process served = serve();
  const Ending outside = kymo({"trigger", "--all", "--duration", "20ms", "-o", file("elsewhere/x.kymo")});
  EXPECT_EQ(outside.code, 1);
  EXPECT_THAT(outside.err, HasSubstr("traces are allowed only below " + file("allowed")));
  const Ending linked = kymo({"trigger", "--all", "--duration", "20ms", "-o", file("allowed/link/x.kymo")});
  EXPECT_EQ(linked.code, 1);
  EXPECT_THAT(linked.out, HasSubstr("is not below"));
  EXPECT_TRUE(std::filesystem::is_empty(file("elsewhere")));
  EXPECT_EQ(kymo({"trigger", "--all", "--duration", "20ms", "-o", file("allowed/x.kymo")}).code, 0);
}

}  // namespace
}  // namespace kymo::e2e
