// The profiler in programs that do not know it: masks in the environment, tables at the end, SIGINT, fork.
#include <signal.h>

#include <regex>

#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kNoDevice = 77;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Replaces times and the device, which vary.
std::string without_times(const std::string& text) {
  const std::string times = std::regex_replace(text, std::regex(" +[0-9]+\\.[0-9]+(?= )"), " T");
  const std::string devices = std::regex_replace(times, std::regex("(cuda|opencl|vulkan):[0-9]+:"), "device:");
  return std::regex_replace(devices, std::regex(" +"), " ");
}

class ProfilerEndToEnd : public EndToEnd {
 protected:
  Ending profiled(const std::string& then, const Environment& environment) {
    const Ending ending = run({program("profiled"), then}, {environment});
    no_device_ = ending.code == kNoDevice;
    return ending;
  }
  bool no_device_ = false;
};

#define SKIP_WITHOUT_DEVICE() \
  if (no_device_) GTEST_SKIP() << "no device here"

TEST_F(ProfilerEndToEnd, TablesArePrintedOnceAtTheEnd) {
  const Ending ending = profiled("exit", {{"KYMO_PROFILE_LOG", "statistics"}});
  SKIP_WITHOUT_DEVICE();
  EXPECT_EQ(ending.code, 0);
  const std::string text = without_times(ending.err);
  EXPECT_THAT(text, HasSubstr("\nOperations: 1 named operation, 2 kernels\n"));
  EXPECT_THAT(text, HasSubstr("\nG1 1 T T T T three scales:device:f32[16]\n"));
  EXPECT_THAT(text, HasSubstr("\nK2 3 T T T scale:device:f32[16]\n"));
  EXPECT_THAT(text, HasSubstr("\nCopies: 2 copies (128 B), 0 of scalars\n"));
  EXPECT_THAT(text, HasSubstr("\nHost fallbacks: 1 run, T ms, 64 B copied\n"));
  EXPECT_EQ(count_of(text, "Operations: "), 1u);
}

TEST_F(ProfilerEndToEnd, ATableIsPrintedOnlyOnRequest) {
  const Ending ending = profiled("exit", {{"KYMO_PROFILE_LOG", "0x20"}});
  SKIP_WITHOUT_DEVICE();
  EXPECT_THAT(ending.err, HasSubstr("\nCopies: 2 copies (128 B), 0 of scalars\n"));
  EXPECT_THAT(ending.err, Not(HasSubstr("Operations")));
  EXPECT_THAT(ending.err, Not(HasSubstr("fallbacks")));
}

TEST_F(ProfilerEndToEnd, LogLinesAreCompleteAtTheEnd) {
  const Ending ending = profiled("exit", {{"KYMO_PROFILE_LOG", "operations,gpu-time"}});
  SKIP_WITHOUT_DEVICE();
  const std::string text = std::regex_replace(without_times(ending.err), std::regex("gpu= ?T ms"), "T");
  EXPECT_EQ(count_of(text, "\n"), 5u) << ending.err;
  EXPECT_THAT(ending.err, HasSubstr("(id=K2, run=3, gpu="));
  EXPECT_THAT(ending.err, HasSubstr("(id=G1, run=1, gpu="));
}

TEST_F(ProfilerEndToEnd, AnInvalidMaskPrintsOneLineAndTurnsNothingOn) {
  const Ending ending = profiled("exit", {{"KYMO_PROFILE_LOG", "statistics"}, {"KYMO_SIGNPOSTS", "everything"}});
  SKIP_WITHOUT_DEVICE();
  EXPECT_EQ(ending.code, 0);
  EXPECT_THAT(ending.err, StartsWith("kymo: not profiling: KYMO_SIGNPOSTS: \"everything\" is neither a number nor one "
                                     "of all-events, all-intervals, "));
  EXPECT_EQ(count_of(ending.err, "\n"), 1u);
}

TEST_F(ProfilerEndToEnd, AnInterruptedProgramPrintsAndEndsByTheSignal) {
  Process sleeping = start({program("profiled"), "sleep"}, {{{"KYMO_PROFILE_LOG", "statistics"}}});
  wait_until("it has done its work", [&] { return sleeping.ended() || sleeping.errors() == "ready\n"; });
  if (!sleeping.ended()) sleeping.signal(SIGINT);
  const Ending ending = sleeping.wait();
  if (ending.code == kNoDevice) GTEST_SKIP() << "no device here";
  EXPECT_EQ(ending.signal, SIGINT);
  EXPECT_EQ(count_of(ending.err, "\nOperations: 1 named operation, 2 kernels\n"), 1u) << ending.err;
}

TEST_F(ProfilerEndToEnd, TheHandlerOfTheProgramIsCalledAndTheProgramContinues) {
  const Ending ending = profiled("handled", {});
  SKIP_WITHOUT_DEVICE();
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_EQ(count_of(ending.err, "Operations: 1 named operation, 2 kernels\n"), 1u) << ending.err;
}

TEST_F(ProfilerEndToEnd, AnIgnoredInterruptStaysIgnored) {
  const Ending ending = profiled("ignored", {});
  SKIP_WITHOUT_DEVICE();
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(without_times(ending.err), HasSubstr("\nK2 6 T"));
}

TEST_F(ProfilerEndToEnd, AForkedChildPrintsNothing) {
  const Ending ending = profiled("fork", {{"KYMO_PROFILE_LOG", "statistics"}});
  SKIP_WITHOUT_DEVICE();
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(count_of(ending.err, "Operations: "), 1u) << ending.err;
}

TEST_F(ProfilerEndToEnd, NamedOperationsAndFallbacksAreRangesInTheTrace) {
  const std::string trace = file("trace.kymo");
  const Ending ending = run_traced(trace, {program("profiled")});
  if (ending.code == kNoDevice) GTEST_SKIP() << "no device here";
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ending.err, "");
  const Readback recorded = read_back(trace);
  EXPECT_TRUE(sound(recorded));
  EXPECT_EQ(recorded.count("three scales"), 1u);
  EXPECT_EQ(recorded.count("sort"), 1u);
}

}  // namespace
}  // namespace kymo::e2e
