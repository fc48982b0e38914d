// A program with KINETO_USE_DAEMON, and a dynolog daemon that the test simulates.
#include "ondemand/fabric_poll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/test_wait.h"
#include "kymo/annotate.h"
#include "kymo/error.h"
#include "kymo/ondemand.h"
#include "ondemand/identity.h"
#include "ondemand/output_file.h"
#include "ondemand/requests.h"
#include "wire/fabric.h"

namespace kymo::ondemand {
namespace {

class FabricPollTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-fabric-test-XXXXXX";
    folder = mkdtemp(pattern);
    setenv("KINETO_IPC_SOCKET_DIR", folder.c_str(), 1);
    daemon = bound(*wire::fabric_address(wire::kFabricDaemonName, folder));
  }
  void TearDown() override {
    unsetenv("KINETO_IPC_SOCKET_DIR");
    std::filesystem::remove_all(folder);
  }

  static base::FileDescriptor bound(const wire::FabricAddress& address) {
    base::FileDescriptor file(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(file.get(), reinterpret_cast<const sockaddr*>(&address.address), address.length), 0);
    return file;
  }
  // The next poll. Stores its sender in `asker`.
  std::optional<wire::FabricPoll> next_poll(int milliseconds = 100'000) {
    pollfd file{daemon.get(), POLLIN, 0};
    if (poll(&file, 1, milliseconds) != 1) return std::nullopt;
    std::vector<std::byte> bytes(4096);
    asker_length = sizeof asker;
    const ssize_t got =
        recvfrom(daemon.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&asker), &asker_length);
    if (got <= 0) return std::nullopt;
    const auto request = wire::read_fabric_request({bytes.data(), static_cast<size_t>(got)});
    EXPECT_TRUE(request) << request.reason();
    return std::get<wire::FabricPoll>(*request);
  }
  void answer(const std::vector<std::byte>& bytes, const base::FileDescriptor& from) {
    sendto(from.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&asker), asker_length);
  }
  static std::vector<std::byte> config(const std::string& text) {
    return *wire::fabric_datagram(wire::FabricReply(wire::FabricConfig{text}));
  }
  void serve(FabricPoller& poller) {
    std::vector<pollfd> files;
    poller.add_files(files);
    poll(files.data(), files.size(), 0);
    poller.serve(files);
  }

  std::string folder;
  base::FileDescriptor daemon;
  sockaddr_un asker{};
  socklen_t asker_length = 0;
};

TEST_F(FabricPollTest, PollsAtOnceWithItsParentsAndReportsWhetherItIsBusy) {
  FabricPoller poller([](const std::string&) {});
  ASSERT_TRUE(poller.open());
  poller.ask(false);
  const auto poll = next_poll();
  ASSERT_TRUE(poll);
  EXPECT_EQ(poll->ready_for, wire::kFabricActivities);
  EXPECT_EQ(poll->pids, process_ancestry(11));
  poller.ask(false);
  EXPECT_FALSE(next_poll(0)) << "not before five seconds are over";
  FabricPoller busy([](const std::string&) {});
  ASSERT_TRUE(busy.open());
  busy.ask(true);
  EXPECT_EQ(next_poll()->ready_for, 0u);
}

TEST_F(FabricPollTest, OnlyAnswersOfTheDaemonAreAccepted) {
  std::vector<std::string> texts;
  FabricPoller poller([&](const std::string& text) { texts.push_back(text); });
  ASSERT_TRUE(poller.open());
  poller.ask(false);
  ASSERT_TRUE(next_poll());
  const auto stranger = bound(*wire::fabric_address("stranger", folder));
  const auto abstract = bound(*wire::fabric_address("kymo-test-" + std::to_string(getpid())));
  const base::FileDescriptor unbound(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const auto* sender : {&stranger, &abstract, &unbound}) answer(config("forged"), *sender);
  auto bad = config("size");
  bad[7] = std::byte{0x40};  // 2^62 bytes
  answer(bad, daemon);
  answer(std::vector<std::byte>(3, std::byte{1}), daemon);
  answer({}, daemon);
  serve(poller);
  answer(config("good"), daemon);
  serve(poller);
  EXPECT_EQ(texts, std::vector<std::string>{"good"});
}

TEST_F(FabricPollTest, FolderCanBeSpelledDifferentlyThanByTheDaemon) {
  std::vector<std::string> texts;
  FabricPoller poller([&](const std::string& text) { texts.push_back(text); });
  setenv("KINETO_IPC_SOCKET_DIR", (folder + "/").c_str(), 1);
  ASSERT_TRUE(poller.open());
  poller.ask(false);
  ASSERT_TRUE(next_poll());
  answer(config("good"), daemon);
  serve(poller);
  EXPECT_EQ(texts, std::vector<std::string>{"good"});
}

TEST_F(FabricPollTest, SocketFileIsRemovedWithThePoller) {
  {
    FabricPoller poller([](const std::string&) {});
    ASSERT_TRUE(poller.open());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(FabricPollTest, ConfigTriggersATraceAtThePathThatLibkinetoWouldUse) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets no child of a program with threads have threads";
#endif
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("KINETO_USE_DAEMON", "1", 1);
    init();
    const std::string mine = folder + "/t_" + std::to_string(getpid()) + ".json";
    const bool is_there = base::wait_until("the trace of the child", [&] {
      KYMO_RANGE("work");
      return std::filesystem::exists(mine);
    });
    exit(is_there ? 0 : 1);
  }
  ASSERT_TRUE(next_poll());
  answer(config("\n    ACTIVITIES_LOG_FILE=" + folder +
                "/t.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=1000\n    "
                "REQUEST_TRACE_ID=42\n"),
         daemon);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::ifstream file(folder + "/t_" + std::to_string(pid) + ".json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\"traceEvents\""), std::string::npos);
  EXPECT_NE(text.find("\"work\""), std::string::npos);
  EXPECT_NE(text.find("\"trace_id\": \"42\""), std::string::npos);
}

TEST(ConfigJobTest, ConfigTextBecomesAJob) {
  const auto by_time = job_of_config("ACTIVITIES_LOG_FILE=/tmp/a.json\nACTIVITIES_DURATION_MSECS=300\n");
  ASSERT_TRUE(by_time);
  EXPECT_EQ(by_time->duration_ns, 300'000'000u);
  EXPECT_EQ(by_time->output, "/tmp/a_" + std::to_string(getpid()) + ".json");
  const auto by_iterations = job_of_config(
      "ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=10\n"
      "ACTIVITIES_ITERATIONS=3\nPROFILE_REPORT_INPUT_SHAPES=true\n");
  ASSERT_TRUE(by_iterations);
  EXPECT_EQ(by_iterations->iterations, 3u);
  EXPECT_EQ(by_iterations->iteration_roundup, 10u);
  EXPECT_EQ(by_iterations->instead_ns, 500'000'000u);
  EXPECT_TRUE(by_iterations->flags.shapes);
  const auto memory = job_of_config("PROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS=200\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->kind, JobKind::Memory);
  EXPECT_EQ(memory->output, "/tmp/memory_snapshot_" + std::to_string(getpid()) + ".pickle");
  const auto unknown = job_of_config("ACTIVITIES_DURATION_MSECS=20\nNO_SUCH_KEY=1\n");
  ASSERT_TRUE(unknown) << "not fatal";
  ASSERT_EQ(unknown->metadata.size(), 1u);
  EXPECT_EQ(unknown->metadata[0].first, "config line 2");
  EXPECT_NE(unknown->metadata[0].second.find("NO_SUCH_KEY"), std::string::npos);
  EXPECT_FALSE(job_of_config("ACTIVITIES_DURATION_MSECS=soon\n"));
  EXPECT_FALSE(job_of_config("PROFILE_START_TIME=1000\n"));
}

TEST(ConfigJobTest, ConfigTextOverridesTheBaseConfig) {
  char path[] = "/tmp/kymo-base-config-XXXXXX";
  close(mkstemp(path));
  setenv("KINETO_CONFIG", path, 1);
  std::ofstream(path) << "ACTIVITIES_DURATION_MSECS=70\nPROFILE_WITH_STACK=true\n";
  const auto plain = job_of_config("ACTIVITIES_LOG_FILE=/tmp/a.json\n");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->duration_ns, 70'000'000u);
  EXPECT_TRUE(plain->flags.stack);
  EXPECT_EQ(job_of_config("ACTIVITIES_DURATION_MSECS=80\n")->duration_ns, 80'000'000u);
  std::ofstream(path) << "nonsense\n";
  EXPECT_EQ(job_of_config("ACTIVITIES_LOG_FILE=/tmp/a.json\n")->duration_ns, 500'000'000u);
  unsetenv("KINETO_CONFIG");
  unlink(path);
}

// Every line that dyno writes, and all other keys.
TEST(ConfigJobTest, AllKeysAreKnown) {
  const auto job = job_of_config(
      "ACTIVITIES_LOG_FILE=/tmp/x.pt.trace.json\nACTIVITIES_DURATION_SECS=2\nACTIVITIES_WARMUP_PERIOD_SECS=5\n"
      "PROFILE_START_TIME=0\nACTIVITY_TYPES=cpu_op,kernel\nACTIVITIES_ENABLED=yes\nACTIVITIES_MAX_GPU_BUFFER_SIZE_MB="
      "64\n"
      "ACTIVITIES_DISPLAY_CUDA_SYNC_WAIT_EVENTS=false\nCLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION=t\n"
      "PROFILE_PROFILE_MEMORY=true\nPYTHON_STACK_TRACE=1\nPROFILE_WITH_FLOPS=Y\nPROFILE_WITH_MODULES=TRUE\n"
      "PROFILE_MEMORY=false\nPROFILE_MEMORY_DURATION_MSECS=10\nREQUEST_TRACE_ID=1\nREQUEST_GROUP_TRACE_ID=2\n"
      "CUPTI_PER_THREAD_BUFFER_ENABLED=true\nCUPTI_PM_SAMPLING_METRICS=a,b\nCUPTI_PM_SAMPLING_DEVICE_ID=0\n"
      "ROCTRACER_MAX_EVENTS=7\nCUSTOM_CONFIG=x\nENABLE_IPC_FABRIC=true\nON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=5\n"
      "VERBOSE_LOG_LEVEL=1\nVERBOSE_LOG_MODULES=a\n");
  ASSERT_TRUE(job) << job.reason();
  EXPECT_EQ(job->output, "/tmp/x_" + std::to_string(getpid()) + ".pt.trace.json");
  EXPECT_EQ(job->duration_ns, 2'000'000'000u);
  EXPECT_TRUE(job->flags.shapes && job->flags.memory && job->flags.stack && job->flags.flops && job->flags.modules);
  EXPECT_EQ(job->metadata,
            (std::vector<std::pair<std::string, std::string>>{{"trace_id", "1"}, {"group_trace_id", "2"}}))
      << "no key of them is unknown";
  EXPECT_EQ(job_of_config("PROFILE_START_ITERATION=7\nACTIVITIES_ITERATIONS=2\n")->start_iteration, 7u);
  EXPECT_FALSE(job_of_config("ACTIVITIES_ENABLED=false\n"));
  EXPECT_EQ(job_of_config("ACTIVITIES_LOG_FILE=/tmp/plain\n")->output, "/tmp/plain") << "as the peers do";
  EXPECT_EQ(job_of_config("ACTIVITIES_DURATION_MSECS=5\n")->output,
            "/tmp/libkineto_activities_" + std::to_string(getpid()) + ".json");
  EXPECT_EQ(job_of_config("PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE=/tmp/m.pickle\n")->output, "/tmp/m.pickle");
}

// The requester is unknown. So a trace is written only to the folders that Kineto uses, for every form of path.
TEST(ConfigJobTest, WritesOnlyToTheFoldersOfKineto) {
  const auto why_not = [](const std::string& path) -> std::string {
    const auto job = job_of_config("ACTIVITIES_LOG_FILE=" + path + "\nACTIVITIES_DURATION_MSECS=300\n");
    try {
      const OutputFile file(job->output, job->allowed);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  char folder[] = "/tmp/kymo-config-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string inside = folder;
  EXPECT_EQ(why_not(inside + "/a.json"), "");
  EXPECT_THAT(why_not("/etc/kymo-test.json"), ::testing::HasSubstr("is not below /tmp"));
  EXPECT_THAT(why_not("/tmp/../etc/kymo-test.json"), ::testing::HasSubstr("is not below /tmp"));
  ASSERT_EQ(::symlink("/etc", (inside + "/link").c_str()), 0);
  EXPECT_THAT(why_not(inside + "/link/kymo-test.json"), ::testing::HasSubstr("is not below /tmp"));
  ::setenv("KINETO_ONDEMAND_TRACE_DIR", "/etc", 1);
  EXPECT_THAT(why_not("/var/kymo-test.json"), ::testing::HasSubstr("is not below /etc;"));
  EXPECT_THAT(why_not(inside + "/b.json"), ::testing::HasSubstr("is not below /etc;"))
      << "it replaces /tmp, as in libkineto";
  ::unsetenv("KINETO_ONDEMAND_TRACE_DIR");
  std::filesystem::remove_all(inside);
}

}  // namespace
}  // namespace kymo::ondemand
