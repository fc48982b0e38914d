// start(), stop(), the masks, and functions that need no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "device/watcher.h"
#include "profiler/test_signposts.h"

namespace kymo::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using tests::CollectingSink;
using tests::printed_by;
using Which = tests::ReceivedSignpost::Which;

class ProfilerControlTest : public ::testing::Test {
 protected:
  void SetUp() override { tests::turn_everything_off(); }
  void TearDown() override { tests::turn_everything_off(); }
  static bool devices_are_watched() { return device::watcher(device::WatcherRole::Profiler) != nullptr; }
};

TEST_F(ProfilerControlTest, SecondStartIsRefusedAndTheFirstContinues) {
  profiler::start("interval");
  try {
    profiler::start("event");
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the profiler runs already"));
  }
  EXPECT_TRUE(profiler::is_running());
  EXPECT_TRUE(devices_are_watched());
  profiler::stop();
  profiler::stop();
  EXPECT_FALSE(devices_are_watched());
}

TEST_F(ProfilerControlTest, NestedGuardIsRefusedAndTheOuterContinues) {
  const profiler::Profile outer;
  EXPECT_THROW(profiler::Profile inner("event"), Error);
  EXPECT_TRUE(profiler::is_running());
}

TEST_F(ProfilerControlTest, InvalidModeIsRefusedAndChangesNothing) {
  EXPECT_THROW(profiler::start("interval,evnet"), InvalidArgument);
  EXPECT_THROW(profiler::start(""), InvalidArgument);
  EXPECT_FALSE(profiler::is_running());
  EXPECT_FALSE(devices_are_watched());
  profiler::start(" Interval , EVENT ");
  EXPECT_THROW(profiler::start("nonsense"), InvalidArgument);
  EXPECT_TRUE(profiler::is_running());
}

TEST_F(ProfilerControlTest, InvalidMaskChangesNothing) {
  profiler::set_log("operations");
  EXPECT_TRUE(devices_are_watched());
  EXPECT_THROW(profiler::set_log("operation"), InvalidArgument);
  EXPECT_THROW(profiler::set_signposts("schedule,events"), InvalidArgument);
  EXPECT_TRUE(devices_are_watched());
  profiler::set_log("");
  EXPECT_FALSE(devices_are_watched());
}

TEST_F(ProfilerControlTest, StopDoesNotChangeTheMasks) {
  profiler::set_signposts("operations");
  profiler::start();
  profiler::stop();
  EXPECT_TRUE(devices_are_watched());
  EXPECT_FALSE(profiler::is_running());
}

TEST_F(ProfilerControlTest, FallbacksNeedNoDevice) {
  const CollectingSink sink(true);
  profiler::set_signposts("fallbacks,intervals,events");
  EXPECT_FALSE(devices_are_watched());
  const device::Tensor nothing;
  for (int i = 0; i < 2; ++i) const profiler::HostFallback fallback("sort", {&nothing, nullptr});
  { const profiler::HostFallback other("unique"); }
  profiler::set_signposts("");
  { const profiler::HostFallback unwatched("sort"); }

  const auto received = sink.all(KYMO_SIGNPOST_FALLBACK);
  ASSERT_EQ(received.size(), 9u);
  EXPECT_THAT(received[0].message,
              MatchesRegex("Host Fallback::sort:undefined \\(id=[0-9]+, run=1, CopyOverhead=0 B\\)"));
  EXPECT_THAT(received[1].message,
              MatchesRegex("Host Fallback::sort:undefined \\(id=[0-9]+, run=1, CopyOverhead=0 B, cpu=[0-9.]+ ms\\)"));
  EXPECT_EQ(received[2].which, Which::Event);
  EXPECT_EQ(received[3].run, 2u);
  EXPECT_EQ(received[3].id, received[0].id);
  EXPECT_NE(received[6].id, received[0].id);

  const auto fallbacks = profiler::statistics().fallbacks;
  ASSERT_EQ(fallbacks.size(), 2u);
  EXPECT_EQ(fallbacks[0].runs + fallbacks[1].runs, 3u);
}

TEST_F(ProfilerControlTest, StatisticsArePrintedOnRequest) {
  profiler::set_log("fallback-statistics");
  { const profiler::HostFallback fallback("sort"); }
  const std::string text = printed_by([] { profiler::print_statistics(); });
  EXPECT_THAT(text, HasSubstr("no operations were logged\n"));
  EXPECT_THAT(text, HasSubstr("Host fallbacks: 1 run, "));
  EXPECT_EQ(text, profiler::statistics_text());
}

TEST_F(ProfilerControlTest, OperationsMayEndInAnyOrder) {
  profiler::start();
  auto outer = std::make_unique<profiler::Operation>("outer");
  auto inner = std::make_unique<profiler::Operation>("inner");
  outer.reset();
  inner.reset();
  EXPECT_THAT(profiler::statistics().operations, SizeIs(2));
}

TEST_F(ProfilerControlTest, ForkedChildStartsWithAnEmptyProfiler) {
  struct sigaction before {};
  sigaction(SIGINT, nullptr, &before);
  profiler::set_log("statistics");
  profiler::start();
  auto operation = std::make_unique<profiler::Operation>("parents");
  { const profiler::HostFallback fallback("parents"); }
  const pid_t child = fork();
  if (child == 0) {
    bool good = !profiler::is_running() && !devices_are_watched();
    operation.reset();
    good &= profiler::statistics().fallbacks.empty() && profiler::statistics().operations.empty();
    struct sigaction interrupt {};
    good &= sigaction(SIGINT, nullptr, &interrupt) == 0 && interrupt.sa_handler == before.sa_handler;
    profiler::start("event");  // the child may start its own
    { const profiler::HostFallback fallback("childs"); }
    good &= profiler::is_running() && profiler::statistics().fallbacks.size() == 1;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(profiler::is_running());
  operation.reset();
  EXPECT_THAT(profiler::statistics().operations, SizeIs(1));
}

}  // namespace
}  // namespace kymo::profiler
