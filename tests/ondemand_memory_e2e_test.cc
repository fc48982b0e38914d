// What a memory profile holds that a running program is asked for: its heap, and what it takes of devices.
#include "base/test_tree.h"
#include "ondemand.h"
#include "readback.h"

namespace kymo::e2e {
namespace {

class OnDemandMemoryTest : public WithDaemon {
 protected:
  Process hold(const std::string& what, Environment environment = {}) {
    environment.emplace_back("KYMO_DAEMON", socket());
    Process process = start({program("holds"), what}, {.environment = std::move(environment)});
    wait_until("the program at the daemon, or its end", [&] {
      return process.ended() || kymo({"ps", "--pid", std::to_string(process.pid())}).code == 0;
    });
    return process;
  }
  // A machine that is very busy may let the program take nothing meanwhile: asked again then.
  void ask_for_profile(const std::string& output) {
    wait_until("a profile with something in it", [&] {
      return kymo({"trigger", "--all", "--memory-profile", "--duration", "100ms", "-o", output}).code == 0;
    });
  }
  size_t mallocs(const Process& process, const Words& more) {
    Words words = {"trigger", "--all", "--duration", "100ms", "-o", pattern()};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(kymo(words).code, 0);
    return read_back(trace_of(process)).points_count("malloc");
  }
};

TEST_F(OnDemandMemoryTest, HeapIsInItWhereTheLibraryIsPreloadedAndInATraceOnlyIfAskedFor) {
  const std::string library = kymo::base::built("lib/libkymo_malloc.so");
  if (access(library.c_str(), R_OK) != 0) GTEST_SKIP() << "libkymo_malloc.so is not built";
  const Process process = hold("heap", {{"LD_PRELOAD", library}});
  EXPECT_EQ(mallocs(process, {}), 0u);
  ask_for_profile(pattern());
  EXPECT_GT(read_back(trace_of(process)).points_count("malloc"), 0u);
  EXPECT_EQ(mallocs(process, {}), 0u) << "again not";
  wait_until("a trace with the heap in it", [&] { return mallocs(process, {"--memory"}) > 0; });
  ask_for_profile(pattern(".pickle"));
  EXPECT_TRUE(contents_of(trace_of(process, ".pickle")).starts_with("\x80"));
}

TEST_F(OnDemandMemoryTest, WhatIsTakenOfADeviceIsInIt) {
  Process process = hold("device");
  if (process.ended()) GTEST_SKIP() << "no device here";
  ask_for_profile(pattern());
  EXPECT_FALSE(read_back(trace_of(process)).points.empty());
}

TEST_F(OnDemandMemoryTest, WithoutAnyOfItTheRemedyIsSaid) {
  const Process process = hold("heap");
  const Ending done = kymo({"trigger", "--all", "--memory-profile", "--duration", "20ms", "-o", pattern()});
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.out, ::testing::HasSubstr("LD_PRELOAD=libkymo_malloc.so"));
  EXPECT_FALSE(std::filesystem::exists(trace_of(process) + ".part"));
}

}  // namespace
}  // namespace kymo::e2e
