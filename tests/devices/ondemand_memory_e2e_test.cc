// The contents of a memory profile that a running program writes on request: its heap, and its device memory.
#include <filesystem>

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
  // On a very busy machine the program may allocate nothing during this time. Then it is asked again.
  void ask_for_profile(const std::string& output) {
    wait_until("a profile with something in it", [&] {
      return kymo({"trigger", "--all", "--memory-profile", "--duration", "100ms", "-o", output}).code == 0;
    });
  }
  size_t mallocs(const Process& process, const Words& more) {
    Words words = {"trigger", "--all", "--duration", "100ms", "-o", pattern()};
    words.insert(words.end(), more.begin(), more.end());
    std::filesystem::remove(trace_of(process));  // otherwise the next one has another name
    EXPECT_EQ(kymo(words).code, 0);
    return read_back(trace_of(process)).points_count("malloc");
  }
};

TEST_F(OnDemandMemoryTest, TheHeapIsInAProfileIfTheLibraryIsPreloadedAndInATraceOnlyOnRequest) {
  const std::string library = kymo::base::built("lib/libkymo_malloc.so");
  if (access(library.c_str(), R_OK) != 0) GTEST_SKIP() << "libkymo_malloc.so is not built";
  const Process process = hold("heap", {{"LD_PRELOAD", library}});
  EXPECT_EQ(mallocs(process, {}), 0u);
  std::filesystem::remove(trace_of(process));
  ask_for_profile(pattern());
  EXPECT_GT(read_back(trace_of(process)).points_count("malloc"), 0u);
  EXPECT_EQ(mallocs(process, {}), 0u) << "again not";
  wait_until("a trace with the heap in it", [&] { return mallocs(process, {"--memory"}) > 0; });
  ask_for_profile(pattern(".pickle"));
  EXPECT_TRUE(contents_of(trace_of(process, ".pickle")).starts_with("\x80"));
}

TEST_F(OnDemandMemoryTest, DeviceMemoryIsInTheProfile) {
  Process process = hold("device");
  if (process.ended()) GTEST_SKIP() << "no device here";
  ask_for_profile(pattern());
  EXPECT_FALSE(read_back(trace_of(process)).points.empty());
}

TEST_F(OnDemandMemoryTest, WithoutDataTheRemedyIsReported) {
  const Process process = hold("heap");
  const Ending done = kymo({"trigger", "--all", "--memory-profile", "--duration", "20ms", "-o", pattern()});
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.out, ::testing::HasSubstr("LD_PRELOAD=libkymo_malloc.so"));
  EXPECT_FALSE(std::filesystem::exists(trace_of(process) + ".part"));
}

}  // namespace
}  // namespace kymo::e2e
