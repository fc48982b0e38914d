// Profilers and threads. The tests are mainly for ThreadSanitizer and AddressSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/test_wait.h"
#include "edge/log.h"
#include "edge/test_module.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"

namespace kymo {
namespace {

using edge::AdoptedLog;
using edge::KeptLog;
using edge::Operation;
using edge::testing::TestModule;

void on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(EdgeThreadsTest, EachThreadHasItsOwnProfiler) {
  on_threads(8, [](int number) {
    const std::string name = "thread " + std::to_string(number);
    for (int round = 0; round < 10; ++round) {
      const TestModule module;
      EdgeProfiler profiler(module, {.report_input_shapes = true, .profile_memory = true});
      for (int i = 0; i < 100; ++i) {
        const Operation outer(name, i);
        edge::memory(*edge::current_log(), {.address = &name, .bytes = 1});
        const Operation inner("inner", -1, [&](edge::Inputs& inputs) { inputs.integer(i); });
      }
      const EdgeResult result = profiler.disable_profiler();
      ASSERT_EQ(result.events().size(), 200u);
      EXPECT_EQ(result.allocations().size(), 100u);
      EXPECT_EQ(result.events()[0].name, name);
      EXPECT_TRUE(result.losses().empty());
    }
  });
}

TEST(EdgeThreadsTest, OneProfilerRecordsFourThreadsThatAdoptItsLog) {
  const TestModule module;
  EdgeProfiler profiler(module, {.profile_memory = true});
  edge::Log* const log = edge::current_log();
  on_threads(4, [&](int) {
    const AdoptedLog adopted(log);
    for (int i = 0; i < 1'000; ++i) {
      const Operation operation("there");
      edge::memory(*log, {.bytes = 1});
      get_current_edge_profiler()->record_backend_event(1, 2, 3, "event", "backend");
    }
  });
  for (int i = 0; i < 1'000; ++i) const Operation operation("here");
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_EQ(result.events().size(), 9'000u);
  EXPECT_EQ(result.allocations().size(), 4'000u);
}

TEST(EdgeThreadsTest, ProfilerStopsWhileOtherThreadsRecord) {
  const TestModule module;
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> done{false};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    EdgeResult result;
    {
      EdgeProfiler profiler(module, {.report_input_shapes = true, .profile_memory = true});
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, kept = KeptLog(edge::current_log())] {
          const AdoptedLog adopted(kept.get());
          ++ready;
          while (!done) {
            const Operation outer("outer");
            const Operation inner("inner", 1, [](edge::Inputs& inputs) { inputs.text("text"); });
            edge::memory(*kept.get(), {.bytes = 1});
          }
        });
      }
      base::wait_until("three threads", [&] { return ready == 3; });
      { const Operation here("here"); }
      result = profiler.disable_profiler();
    }
    size_t unfinished = 0;
    for (const EdgeEvent& event : result.events()) {
      EXPECT_LE(event.end_ns, result.end_ns());
      EXPECT_LE(event.start_ns, event.end_ns);
      unfinished += event.finished ? 0 : 1;
    }
    EXPECT_LE(unfinished, 6u);
    done = true;
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(EdgeThreadsTest, OperationsMayEndOnOtherThreadsAfterTheProfiler) {
  const TestModule module;
  std::vector<edge::OpenOperation*> open(400);
  edge::Log* log = nullptr;
  {
    EdgeProfiler profiler(module, {});
    log = edge::current_log();
    for (auto& operation : open) operation = edge::begin(*log, {.name = "asynchronous"}, nullptr);
    on_threads(4, [&](int number) {
      for (size_t i = static_cast<size_t>(number) * 50; i < static_cast<size_t>(number + 1) * 50; ++i)
        edge::end(*log, open[i]);
    });
    const EdgeResult result = profiler.disable_profiler();
    ASSERT_EQ(result.events().size(), 400u);
    size_t finished = 0;
    for (const EdgeEvent& event : result.events()) finished += event.finished ? 1 : 0;
    EXPECT_EQ(finished, 200u);
  }
  on_threads(4, [&](int number) {
    for (size_t i = 200 + static_cast<size_t>(number) * 50; i < 200 + static_cast<size_t>(number + 1) * 50; ++i)
      edge::end(*log, open[i]);  // the last one destroys the log
  });
}

TEST(EdgeThreadsTest, ThreadsStartAndEndDuringRecording) {
  const TestModule module;
  EdgeProfiler profiler(module, {});
  edge::Log* const log = edge::current_log();
  for (int round = 0; round < 50; ++round) {
    on_threads(2, [&](int) {
      const AdoptedLog adopted(log);
      const Operation operation("operation");
    });
  }
  EXPECT_EQ(profiler.disable_profiler().events().size(), 100u);
}

// This happens if a coroutine continues on another thread.
TEST(EdgeThreadsTest, ProfilerDestroyedOnAnotherThreadLeavesItsThreadFree) {
  const TestModule module;
  alignas(EdgeProfiler) std::byte memory[sizeof(EdgeProfiler)];
  auto* const profiler = ::new (static_cast<void*>(memory)) EdgeProfiler(module, {});
  { const Operation operation("recorded"); }
  std::thread([&] { profiler->~EdgeProfiler(); }).join();
  EXPECT_EQ(module.ended, 1);
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
  { const Operation operation("not recorded"); }
  EdgeProfiler next(module, {});
  { const Operation operation("recorded again"); }
  EXPECT_EQ(next.disable_profiler().events().size(), 1u);
}

}  // namespace
}  // namespace kymo
