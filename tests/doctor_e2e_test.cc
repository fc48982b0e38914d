// `kymo doctor`, and other users: why a program is not listed, and which users must not see it.
#include "ondemand.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kNobody = 65534;

class DoctorTest : public WithDaemon {
 protected:
  Ending examine(const Process& process) { return kymo({"doctor", std::to_string(process.pid())}); }
};

TEST_F(DoctorTest, AConnectedProgramIsGood) {
  const Process program = serve();
  const Ending good = examine(program);
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("is connected at"));
  EXPECT_THAT(good.out, Not(HasSubstr("bad")));
}

TEST_F(DoctorTest, AnUnsetVariableIsReported) {
  const Process unasked = start({program("serves")});
  wait_until("its library", [&] { return examine(unasked).out.find("ondemand is loaded") != std::string::npos; });
  const Ending bad = examine(unasked);
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("KYMO_DAEMON was not set when it was started"));
  EXPECT_THAT(kymo({"doctor"}).out, HasSubstr("not connected")) << "without a number, whoever is there";
}

TEST_F(DoctorTest, ASocketWithoutADaemonIsReported) {
  const Process astray = start({program("serves")}, {.environment = {{"KYMO_DAEMON", file("elsewhere.sock")}}});
  wait_until("its agent", [&] { return examine(astray).out.find("kymo-agent runs") != std::string::npos; });
  EXPECT_THAT(examine(astray).out,
              HasSubstr("it looks at " + file("elsewhere.sock") + ", but the daemon is at " + socket()));
}

TEST_F(DoctorTest, AStoppedProgramIsReported) {
  const Process program =
      start({kymo::e2e::program("serves")}, {.environment = {{"KYMO_DAEMON", file("elsewhere.sock")}}});
  program.signal(SIGSTOP);
  wait_until("its rest", [&] { return examine(program).out.find("is stopped") != std::string::npos; });
  EXPECT_THAT(examine(program).out, HasSubstr("kill -CONT " + std::to_string(program.pid())));
}

TEST_F(DoctorTest, AConnectedProgramThatIsStoppedIsReported) {
  const Process program = serve();
  program.signal(SIGSTOP);
  wait_until("its rest", [&] { return examine(program).out.find("is stopped") != std::string::npos; });
  EXPECT_EQ(examine(program).code, 1);
  program.signal(SIGCONT);
}

TEST_F(DoctorTest, AConnectedProgramThatRecordsItselfIsReported) {
  const Process program = serve({}, {{"KYMO_TRACE", file("own.kymo")}});
  const Ending examined = examine(program);
  EXPECT_EQ(examined.code, 1) << examined.out;
  EXPECT_THAT(examined.out, HasSubstr("it is already recording to " + file("own.kymo")));
}

TEST_F(DoctorTest, AProgramThatWasSwitchedOffIsReported) {
  const Process off = start({program("serves")}, {.environment = {{"KYMO_DAEMON", "0"}}});
  wait_until("its library", [&] { return examine(off).out.find("ondemand is loaded") != std::string::npos; });
  EXPECT_THAT(examine(off).out, HasSubstr("KYMO_DAEMON=0 switches traces on demand off"));
}

TEST_F(DoctorTest, WorksWithoutADaemon) {
  const Process program = serve();
  kill_daemon();
  const Ending examined = kymo({"doctor", std::to_string(program.pid()), "--json"});
  EXPECT_EQ(examined.code, 1);
  EXPECT_THAT(examined.out, HasSubstr("no process is listening at"));
  EXPECT_THAT(examined.out, HasSubstr("\"verdict\": \"bad\""));
}

TEST_F(DoctorTest, AContainerWithoutTheSocketIsReported) {
  // Another folder is mounted over the folder of the socket, as in a container.
  const std::string script = "mount -t tmpfs none " + file("run") + " && exec " + program("serves");
  if (run({"/usr/bin/env", "unshare", "-m", "true"}).code != 0) GTEST_SKIP() << "no mount namespace can be made here";
  const Process hidden =
      start({"/usr/bin/env", "unshare", "-m", "sh", "-c", script}, {.environment = {{"KYMO_DAEMON", socket()}}});
  wait_until("its agent", [&] { return examine(hidden).out.find("kymo-agent runs") != std::string::npos; });
  const Ending examined = examine(hidden);
  EXPECT_EQ(examined.code, 1);
  EXPECT_THAT(examined.out, HasSubstr("mount namespace"));
}

TEST_F(DoctorTest, AnotherUserSeesAndTriggersNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  const Process program = serve();
  chmod(folder().c_str(), 0755);
  chmod(file("run").c_str(), 0755);
  const StartOptions as_nobody{.environment = {}, .user = kNobody};
  const Ending listed = run(spoken({"ps"}), as_nobody);
  EXPECT_EQ(listed.out, "") << listed.err;
  const Ending asked = run(spoken({"trigger", "--pid", std::to_string(program.pid())}), as_nobody);
  EXPECT_NE(asked.code, 0);
  EXPECT_EQ(asked.out, "") << asked.err;
  const Ending cancelled = run(spoken({"trigger", "--cancel", "all"}), as_nobody);
  EXPECT_NE(cancelled.code, 0);
  EXPECT_EQ(doing(program.pid()), "idle");
  const Ending examined = run(spoken({"doctor", std::to_string(program.pid())}), as_nobody);
  EXPECT_EQ(examined.code, 1);
  EXPECT_THAT(examined.out, HasSubstr("belongs to root")) << "and the reason is printed";
}

}  // namespace
}  // namespace kymo::e2e
