// Wrong uses, together with libtorch's own profiler and with other listeners: each one is handled in a defined way.
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/profiler_legacy.h>

#include <filesystem>
#include <optional>

#include "kymo/error.h"
#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

using ::testing::HasSubstr;
using torch::jit::mobile::Module;
namespace legacy = torch::autograd::profiler;

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class TorchFaultsTest : public ::testing::Test {
 protected:
  void TearDown() override {  // nothing may remain active after a failed test
    EXPECT_FALSE(at::hasThreadLocalCallbacks());
    EXPECT_EQ(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE), nullptr);
    EXPECT_FALSE(legacy::profilerEnabled());
  }

  Module module_ = to_mobile(nested_module());
};

TEST_F(TorchFaultsTest, SecondProfilerOnTheThreadIsRefusedAndTheFirstContinues) {
  EdgeProfiler first(module_, {});
  EXPECT_THAT(refusal([&] { EdgeProfiler second(module_, {}); }), HasSubstr("EdgeProfiler"));
  module_.forward(two_squares());
  EXPECT_EQ(first.disable_profiler().events().size(), 5u);
}

TEST_F(TorchFaultsTest, AnotherProfilerMayBeginAfterTheFirstStopped) {
  EdgeProfiler first(module_, {});
  first.disable_profiler();
  EdgeProfiler second(module_, {});
  module_.forward(two_squares());
  EXPECT_EQ(second.disable_profiler().events().size(), 5u);
  EXPECT_EQ(first.get_profiler_result().events().size(), 0u);
}

TEST_F(TorchFaultsTest, ProfilerWithoutAFileStopsAtTheEndOfTheScope) {
  { EdgeProfiler profiler(module_, {}); }
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
}

TEST_F(TorchFaultsTest, SecondStopAndEarlyResultAreErrors) {
  EdgeProfiler profiler(module_, {});
  EXPECT_NE(refusal([&] { profiler.get_profiler_result(); }), "");
  profiler.disable_profiler();
  EXPECT_NE(refusal([&] { profiler.disable_profiler(); }), "");
}

TEST_F(TorchFaultsTest, UnwritableFileIsReportedAtOnce) {
  EXPECT_THAT(refusal([&] { EdgeProfiler profiler(module_, {.trace_file = "/nowhere/run.json"}); }),
              HasSubstr("/nowhere/run.json"));
}

TEST_F(TorchFaultsTest, RefusedWhileTheProfilerOfLibtorchIsActive) {
  legacy::enableProfilerLegacy(legacy::ProfilerConfig(legacy::ProfilerState::CPU));
  EXPECT_THAT(refusal([&] { EdgeProfiler profiler(module_, {}); }), HasSubstr("libtorch's own profiler"));
  torch::add(torch::ones({2}), 1);
  EXPECT_FALSE(legacy::disableProfilerLegacy().empty());  // libtorch's own profiler continued
  EdgeProfiler profiler(module_, {});
  module_.forward(two_squares());
  EXPECT_EQ(profiler.disable_profiler().events().size(), 5u);
}

TEST_F(TorchFaultsTest, ProfilerOfLibtorchIsRefusedWhileActive) {
  EdgeProfiler profiler(module_, {});
  EXPECT_THROW(legacy::enableProfilerLegacy(legacy::ProfilerConfig(legacy::ProfilerState::CPU)), c10::Error);
  module_.forward(two_squares());
  EXPECT_EQ(profiler.disable_profiler().events().size(), 5u);
}

TEST_F(TorchFaultsTest, OtherListenersStillReceiveEverything) {
  static int calls = 0;
  const auto count = [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
    ++calls;
    return nullptr;
  };
  const at::CallbackHandle callback = at::addThreadLocalCallback(at::RecordFunctionCallback(count));
  {
    EdgeProfiler profiler(module_, {});
    module_.forward(two_squares());
    EXPECT_EQ(profiler.disable_profiler().events().size(), 5u);
  }
  const int before = calls;
  EXPECT_GT(before, 0);
  torch::add(torch::ones({2}), 1);
  EXPECT_GT(calls, before);
  at::removeCallback(callback);
}

// The program puts its own state into libtorch's slot, and that state outlives the end of the profiler.
TEST_F(TorchFaultsTest, OtherStateInTheSlotOfLibtorchDoesNotStopTheProfiler) {
  struct Reporter : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, int64_t, int64_t, int64_t, c10::Device) override {}
    bool memoryProfilingEnabled() const override { return true; }
  };
  EdgeProfiler profiler(module_, {.profile_memory = true});
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<Reporter>());
    module_.forward(two_squares());
    EXPECT_EQ(profiler.disable_profiler().events().size(), 5u);
  }
  // The guard restores the previous state. It belongs to the stopped profiler, which no longer records.
  module_.forward(two_squares());
  { EdgeProfiler next(module_, {}); }
  c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
}

TEST_F(TorchFaultsTest, OperationAroundTheEndIsUnfinished) {
  std::optional<EdgeResult> result;
  {
    EdgeProfiler profiler(module_, {});
    RECORD_USER_SCOPE("open");
    module_.forward(two_squares());
    result = profiler.disable_profiler();
    module_.forward(two_squares());
  }
  ASSERT_EQ(result->events().size(), 6u);
  EXPECT_FALSE(result->events()[0].finished);
}

}  // namespace
}  // namespace kymo::edge::testing
