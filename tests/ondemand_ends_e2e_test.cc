// Requests that do not end normally: cancelled, refused, or interrupted because a program or daemon dies.
#include "base/test_tree.h"
#include "ondemand.h"
#include "readback.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;

class OnDemandEndsTest : public WithDaemon {
 protected:
  bool anything_left(const Process& process) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder()))
      if (entry.path().filename().string().starts_with("t-" + std::to_string(process.pid()))) return true;
    return false;
  }
};

TEST_F(OnDemandEndsTest, NoMatchHasItsOwnReasonAndStatus) {
  const Process program = serve();
  const Ending none = kymo({"trigger", "--name", "nobody"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("no program is called nobody; connected: serves"));
  EXPECT_EQ(kymo({"trigger", "--pid", std::to_string(getpid() == 1 ? 2 : 1)}).code, 3);
}

TEST_F(OnDemandEndsTest, AnInterruptedCommandStopsTheRecordingAndKeepsIt) {
  const Process program = serve();
  Process waiting = start_kymo({"trigger", "--all", "--duration", "1h", "-o", pattern()});
  wait_until_doing(program, "recording");
  waiting.signal(SIGINT);
  const Ending ended = waiting.wait();
  EXPECT_EQ(ended.code, 128 + SIGINT) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("it is shorter than asked for: it was stopped"));
  EXPECT_THAT(ended.err, HasSubstr("what was recorded so far is kept"));
  EXPECT_EQ(doing(program.pid()), "idle");
  EXPECT_TRUE(std::filesystem::exists(trace_of(program)));
}

TEST_F(OnDemandEndsTest, ACommandThatIsInterruptedBeforeTheStartLeavesNothing) {
  const Process program = serve();
  Process waiting = start_kymo({"trigger", "--all", "--start-at", "+1h", "-o", pattern()});
  wait_until_doing(program, "waiting");
  waiting.signal(SIGINT);
  const Ending ended = waiting.wait();
  EXPECT_EQ(ended.code, 128 + SIGINT) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("cancelled"));
  EXPECT_FALSE(anything_left(program));
}

TEST_F(OnDemandEndsTest, ARecordingIsStoppedAndKeptByAnotherCommand) {
  const Process program = serve();
  Process waiting = start_kymo({"trigger", "--all", "--duration", "1h", "-o", pattern()});
  wait_until_doing(program, "recording");
  const Ending stopped = kymo({"trigger", "--cancel", "all", "--keep"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_EQ(stopped.out, "stopped in 1 process\n");
  const Ending ended = waiting.wait();
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_TRUE(std::filesystem::exists(trace_of(program)));
}

TEST_F(OnDemandEndsTest, TheOutcomeOfARequestCanBeSeenLater) {
  const Process program = serve();
  EXPECT_EQ(kymo({"trigger", "--status"}).out, "");
  EXPECT_EQ(kymo({"trigger", "--all", "--duration", "10ms", "--no-wait", "-o", pattern()}).code, 0);
  wait_until("the outcome", [&] { return kymo({"trigger", "--status"}).out.find("finished") != std::string::npos; });
  const Ending seen = kymo({"trigger", "--status=1", "--json"});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_THAT(seen.out, HasSubstr("\"file\": \"" + trace_of(program) + "\""));
  EXPECT_EQ(kymo({"trigger", "--status=2"}).code, 3);
}

TEST_F(OnDemandEndsTest, ARequestThatIsRefusedIsNotPromised) {
  const Process program = serve();
  const Ending asked = kymo({"trigger", "--all", "--no-wait", "-o", file("missing/t-{pid}.kymo")});
  EXPECT_EQ(asked.code, 1) << asked.out;
  EXPECT_THAT(asked.out, HasSubstr("failed"));
  EXPECT_THAT(kymo({"trigger", "--status"}).out, HasSubstr("failed"));
}

TEST_F(OnDemandEndsTest, AWaitForIterationsThatNeverComeIsExplained) {
  const Process program = serve({"nobody"});
  Process waiting = start_kymo({"trigger", "--all", "--iterations", "3", "-o", pattern()});
  wait_until("the hint", [&] {
    return waiting.errors().find("waits for an iteration to start; an iteration is a call of kymo::step()") !=
           std::string::npos;
  });
  waiting.signal(SIGTERM);
  const Ending ended = waiting.wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM) << ended.out << ended.err;
  EXPECT_FALSE(anything_left(program));
}

// The daemons of the host and of the user, at their own places, which are hidden from the rest of the system.
TEST_F(OnDemandEndsTest, ProgramsOfTwoDaemonsAreListedAndTriggeredTogether) {
  if (geteuid() != 0 || run({"/usr/bin/env", "unshare", "-m", "true"}).code != 0)
    GTEST_SKIP() << "needs root, and a mount namespace of its own";
  const std::string bin = std::filesystem::path(kymo::e2e::program("kymo")).parent_path();
  const std::string script = ". " + base::in_tree("tests/wait_until.sh") + " && mount -t tmpfs none /run && cd " +
                             folder() + " && export PATH=" + bin + R"(:$PATH
export XDG_RUNTIME_DIR=/run/mine; mkdir -m 700 /run/mine
kymod --quiet & host=$!
kymod --quiet --user & user=$!
wait_until '[ -S /run/kymo/kymod.sock ] && [ -S /run/mine/kymo/kymod.sock ]'
KYMO_DAEMON=/run/kymo/kymod.sock serves & one=$!
KYMO_DAEMON=1 serves & two=$!
wait_until 'kymo ps --pid $one > ps.out 2> /dev/null && kymo ps --pid $two >> ps.out 2> /dev/null'
kymo trigger --all --duration 10ms -o 'both-{pid}.kymo'; code=$?
kymo trigger --all --limit 1 --duration 10ms -o 'single-{pid}.kymo' || code=$?
kymo trigger --name nobody
[ $? = 3 ] || code=99
[ -e both-$one.kymo ] && [ -e both-$two.kymo ] || code=98
[ $(ls single-* | wc -l) = 1 ] || code=97
[ $(kymo trigger --status --json | grep -c '"state": "finished"') = 3 ] || code=96
kymo trigger --pid $one --duration 1h --no-wait && kymo trigger --pid $two --duration 1h --no-wait || code=95
kymo trigger --cancel all
kill $one $two $host $user
exit $code)";
  const Ending done = run({"/usr/bin/env", "unshare", "-m", "sh", "-c", script});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("cancelled in 2 processes"));
}

TEST_F(OnDemandEndsTest, ARequestIsMadeWithoutWaitingAndCancelledLater) {
  const Process program = serve();
  const Ending asked = kymo({"trigger", "--all", "--duration", "1h", "--no-wait", "-o", pattern()});
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("1 process has not ended yet; 'kymo trigger --status=1' shows the outcome"));
  wait_until_doing(program, "recording");
  const Ending cancelled = kymo({"trigger", "--cancel", "all"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_EQ(cancelled.out, "cancelled in 1 process\n");
  wait_until_doing(program, "idle");
  EXPECT_EQ(kymo({"trigger", "--cancel", "all"}).code, 3);
  EXPECT_FALSE(anything_left(program));
}

TEST_F(OnDemandEndsTest, ARequestForLaterIsCancelledBeforeItStarts) {
  const Process program = serve();
  const Ending asked =
      kymo({"trigger", "--all", "--start-at", "+1h", "--duration", "1s", "--no-wait", "-o", pattern()});
  EXPECT_EQ(asked.code, 0) << asked.err;
  wait_until_doing(program, "waiting");
  EXPECT_EQ(kymo({"trigger", "--cancel", "all"}).code, 0);
  wait_until_doing(program, "idle");
  EXPECT_FALSE(anything_left(program));
  EXPECT_EQ(kymo({"trigger", "--all", "--duration", "10ms", "-o", pattern()}).code, 0) << "and is free again";
}

TEST_F(OnDemandEndsTest, ABusyProgramReportsIt) {
  const Process program = serve();
  EXPECT_EQ(kymo({"trigger", "--all", "--duration", "1h", "--no-wait", "-o", pattern()}).code, 0);
  wait_until_doing(program, "recording");
  const Ending second = kymo({"trigger", "--all", "--duration", "10ms", "-o", pattern()});
  EXPECT_EQ(second.code, 1) << second.out << second.err;
  EXPECT_THAT(second.out, HasSubstr("busy"));
  const Ending examined = kymo({"doctor", std::to_string(program.pid())});
  EXPECT_THAT(examined.out, HasSubstr("but busy: recording"));
}

TEST_F(OnDemandEndsTest, OneOfTwoCommandsAtOnceIsServedAndTheOtherGetsTheReason) {
  const Process program = serve();
  const Words words = {"trigger", "--all", "--duration", "300ms", "-o"};
  const auto with = [&words](const std::string& output) {
    Words all = words;
    all.push_back(output);
    return all;
  };
  Process one = start_kymo(with(pattern())), other = start_kymo(with(pattern(".json")));
  const Ending first = one.wait(), second = other.wait();
  // One may be finished before the other has started.
  EXPECT_TRUE(first.code == 0 || second.code == 0) << first.out << second.out;
  for (const Ending& ending : {first, second})
    EXPECT_THAT(ending.out, HasSubstr(ending.code == 0 ? "finished" : "busy")) << ending.err;
}

TEST_F(OnDemandEndsTest, TheReasonFromTheProgramReachesTheUser) {
  const Process program = serve({"refuses"});
  const Ending done = kymo({"trigger", "--all", "--duration", "10ms", "-o", pattern()});
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.out, HasSubstr("the accelerator is lent to somebody else"));
  EXPECT_FALSE(anything_left(program));
}

TEST_F(OnDemandEndsTest, AProgramThatIsKilledDoesNotAffectOthers) {
  const Process lives = serve();
  const Process dies = serve();
  Process waiting = start_kymo({"trigger", "--all", "--duration", "1s", "-o", pattern()});
  wait_until_doing(dies, "recording");
  dies.signal(SIGKILL);
  const Ending ended = waiting.wait();
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("failed"));
  EXPECT_GT(read_back(trace_of(lives)).count("request"), 0u);
}

TEST_F(OnDemandEndsTest, TheTraceOfAKilledProgramHasTheStartOfItsWindowAndNoEnd) {
  const Process dies = serve();
  Process waiting = start_kymo({"trigger", "--all", "--start-at", "+1s", "--duration", "1h", "-o", pattern()});
  wait_until_doing(dies, "recording");
  const std::string part = trace_of(dies) + ".part";
  wait_until("a request in the file", [&] { return read_back(part).count("request") > 0; });
  dies.signal(SIGKILL);
  EXPECT_EQ(waiting.wait().code, 1);
  const Ending info = run({program("kymo"), "info", part});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("its end is not in the file"));
  const Readback trace = read_back(part);
  EXPECT_TRUE(sound(trace)) << trace.summary();
  EXPECT_GT(trace.count("request"), 0u);
  const Readback recorded = read_back(trace::Reader(part, part, trace::Extent::Recorded));
  EXPECT_GT(recorded.count("request"), trace.count("request")) << "recording begins before the span";

  const Ending cut = run({program("kymo"), "cut", part, "-o", file("cut.kymo")});
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_EQ(read_back(file("cut.kymo")).count("request"), trace.count("request"));
}

TEST_F(OnDemandEndsTest, AProgramThatEndsDuringATraceCompletesIt) {
  Process program = serve();
  Process waiting = start_kymo({"trigger", "--all", "--duration", "1h", "-o", pattern()});
  wait_until_doing(program, "recording");
  wait_until("a request in the file", [&] { return read_back(trace_of(program) + ".part").count("request") > 0; });
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 0);
  const Ending ended = waiting.wait();
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("it is shorter than asked for"));
  const Readback trace = read_back(trace_of(program));
  EXPECT_TRUE(sound(trace)) << trace.summary();
  EXPECT_GT(trace.count("request"), 0u);
}

TEST_F(OnDemandEndsTest, ProgramsReconnectToARestartedDaemon) {
  const Process program = serve();
  kill_daemon();
  EXPECT_EQ(kymo({"ps"}).code, 1);
  start_daemon();
  wait_until_connected(program);
  const Ending done = kymo({"trigger", "--all", "--duration", "50ms", "-o", pattern()});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

TEST_F(OnDemandEndsTest, ATraceSurvivesTheDaemonThatRequestedIt) {
  const Process program = serve();
  Process waiting = start_kymo({"trigger", "--all", "--duration", "1s", "-o", pattern()});
  wait_until_doing(program, "recording");
  kill_daemon();
  const Ending ended = waiting.wait();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("closed the connection; recordings that have started continue"));
  start_daemon();
  wait_until_connected(program);
  wait_until_doing(program, "idle");
  EXPECT_GT(read_back(trace_of(program)).count("request"), 0u);
}

TEST_F(OnDemandEndsTest, ANewDaemonCancelsTheRequestsOfThePreviousOne) {
  const Process program = serve();
  EXPECT_EQ(kymo({"trigger", "--all", "--duration", "1h", "--no-wait", "-o", pattern()}).code, 0);
  wait_until_doing(program, "recording");
  kill_daemon();
  start_daemon();
  wait_until_connected(program);
  wait_until_doing(program, "recording");
  EXPECT_EQ(kymo({"trigger", "--cancel", "all"}).code, 0);
  wait_until_doing(program, "idle");
  EXPECT_FALSE(anything_left(program));
}

TEST_F(OnDemandEndsTest, AMissingFolderIsReportedByTheProgram) {
  const Process program = serve();
  const Ending done = kymo({"trigger", "--all", "--duration", "10ms", "-o", file("none/t-{pid}.kymo")});
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.out, HasSubstr("make the folder first"));
}

TEST_F(OnDemandEndsTest, AFolderThatTheDaemonDoesNotAllowIsRefusedForAll) {
  const Process program = serve();
  kill_daemon();
  std::filesystem::create_directory(file("allowed"));
  start_daemon({"--output-folder", file("allowed")});
  wait_until_connected(program);
  const Ending refused = kymo({"trigger", "--all", "--duration", "10ms", "-o", pattern()});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("traces are allowed only below " + file("allowed")));
  const Ending done = kymo({"trigger", "--all", "--duration", "10ms"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr(file("allowed/serves-"))) << "unless a place is given it is one that is allowed";
}

}  // namespace
}  // namespace kymo::e2e
