// A program of libtorch, the daemon and the command. The program is linked with libkymo_torch.so, or has it in
// LD_PRELOAD.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/test_tree.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;

enum class Way { Linked, Preloaded };

class TorchTriggerTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo() || access(program("kymod").c_str(), X_OK) != 0) GTEST_SKIP() << "kymo or kymod is not built";
    std::filesystem::create_directory(file("run"));
    chmod(file("run").c_str(), 0700);
    daemon_.emplace(start({program("kymod"), "--quiet", "--socket", socket()}));
    wait_until("the daemon", [this] { return kymo({"ps"}).code == 0; });
  }

  void start_training(Way way) {
    Environment environment = {{"KYMO_DAEMON", socket()}, {"OMP_NUM_THREADS", "1"}};
    if (way == Way::Preloaded) environment.emplace_back("LD_PRELOAD", kymo::base::built("lib/libkymo_torch.so"));
    trainer_.emplace(
        start({program(way == Way::Linked ? "trainer_linked" : "trainer")}, {.environment = std::move(environment)}));
    wait_until("the program at work", [this] { return trainer_->errors() == kAtWork; });
    wait_until("the program at the daemon", [this] { return kymo({"ps", "--pid", pid()}).code == 0; });
  }

  std::string socket() const { return file("run/kymod.sock"); }
  std::string pid() const { return std::to_string(trainer_->pid()); }
  Ending kymo(Words words) {
    words.insert(words.begin() + 1, {"--socket", socket()});
    words.insert(words.begin(), program("kymo"));
    return run(words);
  }
  Readback triggered(Words how) {
    how.insert(how.begin(), "trigger");
    how.insert(how.end(), {"--pid", pid(), "-o", file("t-{pid}.kymo")});
    const Ending done = kymo(how);
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_EQ(trainer_->errors(), kAtWork) << "the library never prints";
    return read_back(trace(), Detail::Arguments);
  }
  std::string trace() const { return file("t-" + pid() + ".kymo"); }

  static constexpr const char* kAtWork = "trains\ntrains\n";

  std::optional<Process> daemon_, trainer_;
};

std::set<std::string> fields_of(const Readback& trace, const std::string& name) {
  std::set<std::string> fields;
  for (const Event* event : trace.ranges_named(name))
    for (const Argument& argument : trace.detail_of(*event).arguments) fields.insert(argument.name);
  return fields;
}

class TorchTriggerEitherWayTest : public TorchTriggerTest, public ::testing::WithParamInterface<Way> {};

TEST_P(TorchTriggerEitherWayTest, TraceHasTheRequestedDataOfAllThreads) {
  start_training(GetParam());
  const Readback read = triggered({"--duration", "300ms", "--shapes", "--flops", "--memory", "--modules", "--stack"});
  EXPECT_TRUE(sound(read)) << read.summary();
  std::set<uint32_t> threads;
  for (const Event* event : read.ranges_named("aten::addmm")) threads.insert(event->track);
  EXPECT_EQ(threads.size(), 2u) << read.summary();
  EXPECT_GT(read.count("step"), 0u);
  EXPECT_GT(read.count("AddmmBackward0"), 0u);
  for (const char* const field : {"Input Dims", "Input type", "Flops", "Sequence number", "C++ stack"})
    EXPECT_TRUE(fields_of(read, "aten::addmm").contains(field)) << field;
  EXPECT_GT(read.points_count("allocate"), 0u);
  const Ending memory = run({program("kymo"), "memory", trace()});
  EXPECT_EQ(memory.code, 0) << memory.err;
  EXPECT_THAT(memory.out, HasSubstr("cpu"));
}

TEST_F(TorchTriggerTest, IterationsAreCountedByScopesNamedStep) {
  start_training(Way::Preloaded);
  const Readback read = triggered({"--iterations", "5"});
  EXPECT_TRUE(sound(read)) << read.summary();
  EXPECT_GE(read.count("step"), 3u) << read.summary();
  EXPECT_LE(read.count("step") + read.open_count("step"), 8u) << read.summary();
}

// The recorder runs before the client has prepared the stacks: a scope that begins in between has its end, too.
TEST_F(TorchTriggerTest, StepsOfAThreadFitTheWindow) {
  start_training(Way::Linked);
  for (int i = 0; i < 3; ++i) {
    const Readback read = triggered({"--duration", "300ms", "--stack", "--memory"});
    EXPECT_TRUE(sound(read)) << read.summary();
    std::map<uint32_t, uint64_t> steps;
    uint64_t first = UINT64_MAX, last = 0;
    for (const Event* event : read.ranges_named("step")) {
      EXPECT_EQ(event->depth, 0u) << "a step in a step that never ended";
      steps[event->track] += event->end - event->start;
      first = std::min(first, event->start);
      last = std::max(last, event->end);
    }
    EXPECT_EQ(steps.size(), 2u);
    EXPECT_LE(read.open_count("step"), 2u);
    for (const auto& [track, time] : steps) EXPECT_LE(time, last - first) << "two steps of a thread at the same time";
    std::filesystem::remove(trace());
  }
}

TEST_F(TorchTriggerTest, MemoryProfileIsWritten) {
  start_training(Way::Linked);
  const Ending done =
      kymo({"trigger", "--pid", pid(), "--memory-profile", "--duration", "200ms", "-o", file("m-{pid}.html")});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(contents_of(file("m-" + pid() + ".html")), HasSubstr("aten::"));
}

std::string way_name(const ::testing::TestParamInfo<Way>& way) {
  return way.param == Way::Linked ? "Linked" : "Preloaded";
}
INSTANTIATE_TEST_SUITE_P(Torch, TorchTriggerEitherWayTest, ::testing::Values(Way::Linked, Way::Preloaded), way_name);

}  // namespace
}  // namespace kymo::e2e
