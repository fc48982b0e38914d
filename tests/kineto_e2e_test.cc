// The peers' protocols with real processes: kymod in the place of dynolog, a stand-in for programs with libkineto
// (unmodified/kineto_peer.cc), one for dyno, and Kymo's own programs when they are set to use the protocol of
// libkineto.
//
// Each test has its own network, because the names and the port are the same everywhere.
#include <algorithm>

#include "ondemand.h"
#include "peers.h"
#include "readback.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;

class KinetoTest : public WithDaemon {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !enter_own_network()) GTEST_SKIP() << "needs root, for a network of its own";
    WithDaemon::SetUp();
    if (IsSkipped()) return;
    kill_daemon();
    start_daemon({"--dynolog"});
  }
  Process start_peer(const Environment& environment = {}) {
    Process peer = start({program("kineto_peer"), "20"}, {.environment = environment});
    wait_until_connected(peer);
    return peer;
  }
  // The text of the request, which a stand-in writes to its file.
  std::string text_in(const std::string& path) {
    wait_until(path, [&] { return std::filesystem::exists(path); });
    return contents_of(path);
  }
  std::string numbered(const std::string& name, const Process& process, const std::string& ending = ".json") const {
    return file(name + "_" + std::to_string(process.pid()) + ending);
  }
};

// Connected by a name, or by a file in a folder.
class KinetoPeersTest : public KinetoTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    KinetoTest::SetUp();
    if (IsSkipped() || !by_path()) return;
    kill_daemon();
    start_daemon({"--dynolog", "--dynolog-dir", file("run")});
  }
  bool by_path() const { return std::string(GetParam()) == "Path"; }
  Process start_peer() {
    return KinetoTest::start_peer(by_path() ? Environment{{"KINETO_IPC_SOCKET_DIR", file("run")}} : Environment{});
  }
};

TEST_P(KinetoPeersTest, DynoTriggersByTimeByIterationAndForMemory) {
  const Process peer = start_peer();
  const std::string pid = std::to_string(peer.pid());
  EXPECT_THAT(kymo({"ps"}).out, HasSubstr("kineto"));
  const std::string reply = gputrace({"ACTIVITIES_LOG_FILE=" + file("time.json"), "PROFILE_START_TIME=0",
                                      "ACTIVITIES_DURATION_MSECS=100", "PROFILE_WITH_STACK=true"});
  EXPECT_EQ(reply, "{\"activityProfilersBusy\":0,\"activityProfilersTriggered\":[" + pid +
                       "],\"eventProfilersBusy\":0,\"eventProfilersTriggered\":[],\"processesMatched\":[" + pid + "]}");
  const std::string by_time = text_in(numbered("time", peer));
  EXPECT_THAT(by_time, HasSubstr("ACTIVITIES_DURATION_MSECS=100\n"));
  EXPECT_THAT(by_time, HasSubstr("PROFILE_WITH_STACK=true\n"));
  EXPECT_THAT(by_time, HasSubstr("REQUEST_TRACE_ID="));
  wait_until_doing(peer, "idle");
  gputrace({"ACTIVITIES_LOG_FILE=" + file("steps.json"), "PROFILE_START_ITERATION=0",
            "PROFILE_START_ITERATION_ROUNDUP=10", "ACTIVITIES_ITERATIONS=3"},
           getpid());  // the pid of a parent selects it too
  EXPECT_THAT(text_in(numbered("steps", peer)), HasSubstr("PROFILE_START_ITERATION_ROUNDUP=10\n"));
  wait_until_doing(peer, "idle");
  gputrace({"PROFILE_PROFILE_MEMORY=true", "PROFILE_MEMORY=true", "PROFILE_MEMORY_DURATION_MSECS=100",
            "ACTIVITIES_LOG_FILE=" + file("memory.pickle")},
           peer.pid());
  EXPECT_THAT(text_in(file("memory.pickle")), HasSubstr("PROFILE_MEMORY_DURATION_MSECS=100\n"));
}

TEST_P(KinetoPeersTest, KymoTriggersByTimeByIterationAndForMemoryAndGetsTheResult) {
  const Process peer = start_peer();
  const auto asked = [&](Words words) {
    words.insert(words.begin(), {"trigger", "--pid", std::to_string(peer.pid())});
    const Ending done = kymo(words);
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_THAT(done.out, HasSubstr("finished"));
  };
  asked({"--duration", "100ms", "--shapes", "--flops", "-o", file("time.json")});
  const std::string by_time = text_in(numbered("time", peer));
  EXPECT_THAT(by_time, HasSubstr("ACTIVITIES_DURATION_MSECS=100\n"));
  EXPECT_THAT(by_time, HasSubstr("PROFILE_REPORT_INPUT_SHAPES=true\n"));
  EXPECT_THAT(by_time, HasSubstr("PROFILE_WITH_FLOPS=true\n"));
  asked({"--iterations", "3", "--roundup", "10", "-o", file("steps.json")});
  EXPECT_THAT(text_in(numbered("steps", peer)), HasSubstr("ACTIVITIES_ITERATIONS=3\n"));
  asked({"--memory-profile", "--duration", "100ms", "-o", file("memory-{pid}.pickle")});
  EXPECT_THAT(text_in(file("memory-" + std::to_string(peer.pid()) + ".pickle")), HasSubstr("PROFILE_MEMORY=true\n"));
}

INSTANTIATE_TEST_SUITE_P(Found, KinetoPeersTest, ::testing::Values("Name", "Path"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(KinetoTest, JobIdsHaveSixtyFourBitsAndSelectOnlyTheirPrograms) {
  const Process peer = start_peer({{"SLURM_JOB_ID", "5000000000"}}), other = start_peer();
  const std::string file_line = "ACTIVITIES_LOG_FILE=" + file("job.json");
  EXPECT_THAT(gputrace({file_line}, 0, 5'000'000'000),
              HasSubstr("\"processesMatched\":[" + std::to_string(peer.pid()) + "]"));
  EXPECT_THAT(text_in(numbered("job", peer)), HasSubstr(file_line));
  EXPECT_THAT(gputrace({file_line}, 0, 77), HasSubstr("\"processesMatched\":[]"));
}

// Sends everything that can end, block or mislead the peers' daemon and their programs.
TEST_F(KinetoTest, NoMessageEndsTheDaemonOrAProgram) {
  const Process peer = start_peer();
  const std::vector<std::string> before = abstract_names("dynoconfigclient");
  const Process ours = start({program("serves")}, {.environment = {{"KINETO_USE_DAEMON", "1"}}});
  wait_until_connected(ours);
  std::vector<std::string> ends = abstract_names("dynoconfigclient");
  std::erase_if(ends, [&](const std::string& end) { return std::ranges::find(before, end) != before.end(); });
  ASSERT_EQ(ends.size(), 1u);
  ends.push_back(std::string("dynolog\0", 8));
  const Socket unnamed(AF_UNIX, SOCK_DGRAM), by_path(AF_UNIX, SOCK_DGRAM);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  file("hostile.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(by_path.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string question = fabric_question(1, {getpid()});
  for (const std::string& end : ends) {
    for (const Socket* from : {&unnamed, &by_path}) {
      for (const std::string& bytes :
           {fabric_message("req", question), fabric_message("req", "ACTIVITIES_LOG_FILE=" + file("forged.json")),
            fabric_message("req", question, uint64_t{1} << 62), fabric_message("req", fabric_question(-5, {getpid()})),
            fabric_message("req", fabric_question(1000, {getpid()})), fabric_message("req", fabric_question(0, {})),
            fabric_message("ctxt", "x"), std::string("x"), std::string(100'000, 'x')})
        send_datagram(*from, end, bytes);
    }
  }
  std::vector<Socket> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(std::move(*connected_to_dyno()));
  const uint32_t two_gigabytes = 0x7fffffff;
  send(idle[0].fd(), &two_gigabytes, sizeof two_gigabytes, MSG_NOSIGNAL);
  for (int i = 0; i < 5; ++i) {
    const auto hasty = connected_to_dyno();  // does not wait for the answer
    const std::string call = std::string("\x13\0\0\0", 4) + "{\"fn\":\"getVersion\"}";
    send(hasty->fd(), call.data(), call.size(), MSG_NOSIGNAL);
  }
  EXPECT_EQ(dyno("{\"fn\":\"setKinetOnDemandRequest\",\"config\":\"A\"B\",\"pids\":[0]}"), "");
  EXPECT_THAT(dyno("{\"fn\":\"setKinetOnDemandRequest\",\"pids\":[0]}"), HasSubstr("\"status\":\"failed"));

  EXPECT_EQ(dyno("{\"fn\":\"getStatus\"}"), "{\"status\":1}");
  gputrace({"ACTIVITIES_LOG_FILE=" + file("still.json")}, peer.pid());
  EXPECT_THAT(text_in(numbered("still", peer)), HasSubstr("still.json"));
  EXPECT_EQ(kymo({"ps", "--pid", std::to_string(ours.pid())}).code, 0) << "it is alive, and known";
  EXPECT_FALSE(std::filesystem::exists(numbered("forged", ours)));
}

TEST_F(KinetoTest, FromTheNetworkOnlyClientsWithTheTokenAreServed) {
  kill_daemon();
  const Ending refused = run({program("kymod"), "--socket", socket(), "--dynolog", "--dynolog-address", "0.0.0.0"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("0.0.0.0:1778 can be reached from other hosts; give a token file"));
  write_file(file("token"), "correct horse battery\n");
  chmod(file("token").c_str(), 0600);
  start_daemon({"--dynolog", "--dynolog-address", "0.0.0.0", "--token", file("token")});
  const Process peer = start_peer();
  const std::vector<std::string> lines = {"ACTIVITIES_LOG_FILE=" + file("far.json")};
  const std::string pid = std::to_string(peer.pid());
  for (const char* token : {"", ",\"token\":\"correct horse batterx\"", ",\"token\":7"})
    EXPECT_THAT(gputrace(lines, 0, 0, token, kFarAddress), HasSubstr("needs this daemon's token"));
  EXPECT_EQ(doing(peer.pid()), "idle");
  EXPECT_THAT(gputrace(lines, 0, 0, ",\"token\":\"correct horse battery\"", kFarAddress),
              HasSubstr("\"activityProfilersTriggered\":[" + pid + "]"));
  EXPECT_THAT(text_in(numbered("far", peer)), HasSubstr("far.json"));
}

TEST_F(KinetoTest, NamesAreNotVisibleFromAnotherNetworkButFilesAre) {
  const Process astray =
      start({"/usr/bin/unshare", "-n", program("serves")}, {.environment = {{"KINETO_USE_DAEMON", "1"}}});
  const std::string pid = std::to_string(astray.pid());
  wait_until("its library", [&] { return kymo({"doctor", pid}).out.find("is loaded") != std::string::npos; });
  EXPECT_EQ(kymo({"ps", "--pid", pid}).code, 3);
  const Ending examined = kymo({"doctor", pid});
  EXPECT_EQ(examined.code, 1);
  EXPECT_THAT(examined.out, HasSubstr("in its network namespace"));
  EXPECT_THAT(examined.out, HasSubstr("KINETO_IPC_SOCKET_DIR"));

  kill_daemon();
  start_daemon({"--dynolog", "--dynolog-dir", file("run")});
  const Process found = start({"/usr/bin/unshare", "-n", program("serves")},
                              {.environment = {{"KINETO_USE_DAEMON", "1"}, {"KINETO_IPC_SOCKET_DIR", file("run")}}});
  wait_until_connected(found);
}

// Both ends are Kymo's; each behaves as if the other were its peer. It takes as long as the protocol needs: a program
// asks every five seconds.
TEST_F(KinetoTest, BothEndsOfKymoUseTheProtocolWithEachOther) {
  const Environment as_libkineto = {{"KINETO_USE_DAEMON", "1"}};
  const Process by_dyno = start({program("serves")}, {.environment = as_libkineto});
  const Process by_kymo = start({program("serves")}, {.environment = as_libkineto});
  const Process both = serve({}, as_libkineto);
  wait_until_connected(by_dyno);
  wait_until_connected(by_kymo);
  EXPECT_THAT(gputrace({"ACTIVITIES_LOG_FILE=" + file("dyno.json"), "ACTIVITIES_DURATION_MSECS=1000",
                        "ACTIVITIES_WARMUP_PERIOD_SECS=0"},
                       by_dyno.pid()),
              HasSubstr("\"activityProfilersTriggered\":[" + std::to_string(by_dyno.pid()) + "]"));
  const Ending done =
      kymo({"trigger", "--pid", std::to_string(by_kymo.pid()), "--iterations", "5", "-o", file("kymo.json")});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr(numbered("kymo", by_kymo)));
  EXPECT_THAT(contents_of(numbered("kymo", by_kymo)), HasSubstr("request"));
  EXPECT_THAT(text_in(numbered("dyno", by_dyno)), HasSubstr("request"));
  // A program that is connected both ways is asked once, in the better way.
  const Ending twice = kymo({"trigger", "--pid", std::to_string(both.pid()), "--duration", "20ms", "-o", pattern()});
  EXPECT_EQ(twice.code, 0) << twice.out << twice.err;
  EXPECT_TRUE(std::filesystem::exists(trace_of(both)));
}

}  // namespace
}  // namespace kymo::e2e
