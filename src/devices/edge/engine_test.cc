#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "counters/events.h"
#include "edge/log.h"
#include "kymo/edge_engine.h"
#include "kymo/error.h"
#include "kymo/queue.h"

namespace kymo::edge {
namespace {

// A log that receives this thread's operations until it is stopped.
class TestLog {
 public:
  explicit TestLog(LogOptions options = {}) : log(Log::make(std::move(options), nullptr)), adopted(log) {}
  ~TestLog() {
    stop();
    log->release();
  }
  TestLog(const TestLog&) = delete;
  TestLog& operator=(const TestLog&) = delete;

  void stop() {
    adopted.reset();
    log->stop();
  }
  const ThreadLog& thread(size_t number = 0) {
    stop();
    return *log->contents().threads.at(number);
  }

  Log* log;
  std::optional<AdoptedLog> adopted;
};

uint64_t end_of(const RawOperation& operation) { return operation.end_ticks.load(); }

TEST(EngineTest, OperationsNestByTheirScopes) {
  TestLog test;
  {
    const Operation outer("outer", 7);
    { const Operation first("first"); }
    { const Operation second("second"); }
  }
  { const Operation last("last"); }

  const ThreadLog& thread = test.thread();
  ASSERT_EQ(thread.operations.size(), 4u);
  const RawOperation &outer = thread.operations[0], &first = thread.operations[1], &second = thread.operations[2];
  EXPECT_EQ(thread.names[outer.name], "outer");
  EXPECT_EQ(thread.names[second.name], "second");
  EXPECT_EQ(outer.debug_handle, 7);
  EXPECT_EQ(outer.parent, kNothing);
  EXPECT_EQ(first.parent, 0u);
  EXPECT_EQ(second.parent, 0u);
  EXPECT_EQ(thread.operations[3].parent, kNothing);
  EXPECT_LE(outer.begin_ticks, first.begin_ticks);
  EXPECT_LE(first.begin_ticks, end_of(first));
  EXPECT_LE(end_of(first), second.begin_ticks);
  EXPECT_LE(end_of(second), end_of(outer));
  EXPECT_EQ(thread.not_kept, 0u);
}

TEST(EngineTest, TimesAreBetweenTheLogsEnds) {
  TestLog test;
  { const Operation operation("operation"); }
  const ThreadLog& thread = test.thread();
  const LogContents contents = test.log->contents();
  EXPECT_LE(contents.begin.ticks, thread.operations[0].begin_ticks);
  EXPECT_GE(contents.end.ticks, end_of(thread.operations[0]));
  EXPECT_LT(contents.begin.monotonic_ns, contents.end.monotonic_ns);
  EXPECT_GT(contents.begin.realtime_ns, uint64_t{1'500'000'000'000'000'000});
}

TEST(EngineTest, NothingIsRecordedWithoutALog) {
  EXPECT_EQ(current_log(), nullptr);
  bool asked = false;
  {
    const Operation operation("operation", 1, [&](Inputs&) { asked = true; });
  }
  EXPECT_FALSE(asked);
}

TEST(EngineTest, InputsAreRequestedOnlyIfWanted) {
  bool asked = false;
  const auto put = [&](Inputs& inputs) {
    asked = true;
    const std::array<int64_t, 2> shape{3, 4}, strides{4, 1};
    inputs.tensor(Element::Float, shape, strides);
    inputs.integer(5);
  };
  {
    TestLog test;
    { const Operation operation("operation", 1, put); }
    EXPECT_EQ(test.thread().operations[0].extras, kNothing);
  }
  EXPECT_FALSE(asked);

  TestLog test({.wanted = {.inputs = true}});
  { const Operation operation("operation", 1, put); }
  EXPECT_TRUE(asked);
  const ThreadLog& thread = test.thread();
  Inputs expected;
  put(expected);
  const RawExtras& operation = thread.extras_of(thread.operations[0]);
  ASSERT_EQ(operation.inputs_size, expected.bytes().size());
  const auto kept = thread.inputs.run(operation.inputs_at, operation.inputs_size);
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), expected.bytes().begin(), expected.bytes().end()));
}

TEST(EngineTest, InputsThatAreTooLongAreCountedAndTheOperationIsKept) {
  TestLog test({.wanted = {.inputs = true}});
  const std::string max(Inputs::kMaxBytes - 1 - sizeof(uint32_t), 'x');
  {
    const Operation operation("long", 1, [&](Inputs& inputs) { inputs.text(max); });
  }
  {
    const Operation operation("too long", 1, [&](Inputs& inputs) {
      inputs.integer(7);
      inputs.text(max);
      inputs.integer(7);
    });
  }
  const ThreadLog& thread = test.thread();
  ASSERT_EQ(thread.operations.size(), 2u);
  EXPECT_EQ(thread.extras_of(thread.operations[0]).inputs_size, Inputs::kMaxBytes);
  EXPECT_EQ(thread.extras_of(thread.operations[1]).inputs_size, 0u);
  EXPECT_EQ(thread.not_kept, 1u);
}

TEST(EngineTest, OperationFactsAreKeptUnchanged) {
  TestLog test;
  {
    const Operation operation(OperationFacts{.name = "backward",
                                             .scope = Scope::Backward,
                                             .debug_handle = -5,
                                             .sequence = 12,
                                             .forward_thread = 3,
                                             .engine_id = 99});
  }
  const RawOperation& kept = test.thread().operations[0];
  EXPECT_EQ(kept.scope, Scope::Backward);
  EXPECT_EQ(kept.debug_handle, -5);
  const RawExtras& extras = test.thread().extras_of(kept);
  EXPECT_EQ(extras.sequence, 12);
  EXPECT_EQ(extras.forward_thread, 3u);
  EXPECT_EQ(extras.engine_id, 99u);
}

TEST(EngineTest, MemoryBelongsToTheInnermostOperation) {
  TestLog test({.wanted = {.memory = true}});
  Log& log = *test.log;
  int place = 0;
  memory(log, {.address = &place, .bytes = 8});
  {
    const Operation outer("outer");
    const Operation inner("inner");
    memory(log, {.address = &place, .bytes = 64, .total_allocated = 72, .total_reserved = 100, .device = {1, 2}});
    out_of_memory(log, {.bytes = 1 << 30});
  }
  const ThreadLog& thread = test.thread();
  ASSERT_EQ(thread.memory.size(), 3u);
  EXPECT_EQ(thread.memory[0].operation, kNothing);
  EXPECT_EQ(thread.memory[1].operation, 1u);
  EXPECT_EQ(thread.memory[1].bytes, 64);
  EXPECT_EQ(thread.memory[1].address, reinterpret_cast<uintptr_t>(&place));
  EXPECT_EQ(thread.memory[1].total_reserved, 100u);
  EXPECT_EQ(thread.memory[1].device, (DeviceId{1, 2}));
  EXPECT_FALSE(thread.memory[1].out_of_memory);
  EXPECT_TRUE(thread.memory[2].out_of_memory);
}

TEST(EngineTest, MemoryIsNotKeptIfNotWanted) {
  TestLog test;
  { const Operation operation("operation"); }
  memory(*test.log, {.bytes = 8});
  EXPECT_EQ(test.thread().memory.size(), 0u);
}

TEST(EngineTest, DeviceOperationsAndBackendEventsAreKept) {
  TestLog test;
  {
    const Operation operation("operation");
    device_operation(*test.log, {"kernel", {10, 0}, 3, 100, 200, 300});
    backend_event(*test.log, {5, 4, 6, "event", "backend"});
  }
  const ThreadLog& thread = test.thread();
  ASSERT_EQ(thread.device_operations.size(), 1u);
  EXPECT_EQ(thread.names[thread.device_operations[0].name], "kernel");
  EXPECT_EQ(thread.device_operations[0].operation, 0u);
  EXPECT_EQ(thread.device_operations[0].end_ns, 300u);
  ASSERT_EQ(thread.backend_events.size(), 1u);
  EXPECT_EQ(thread.backend_events[0].start_us, 5);
  EXPECT_EQ(thread.backend_events[0].end_us, 4);
  EXPECT_EQ(thread.names[thread.backend_events[0].backend], "backend");
}

TEST(EngineTest, EndedOperationIsNotAParentEvenIfItEndedOutOfOrder) {
  TestLog test;
  Log& log = *test.log;
  OpenOperation* const first = begin(log, {.name = "first"}, nullptr);
  OpenOperation* const second = begin(log, {.name = "second"}, nullptr);
  end(log, first);
  OpenOperation* const third = begin(log, {.name = "third"}, nullptr);
  end(log, third);
  end(log, second);
  end(log, begin(log, {.name = "fourth"}, nullptr));
  end(log, nullptr);

  const ThreadLog& thread = test.thread();
  EXPECT_EQ(thread.operations[1].parent, 0u);
  EXPECT_EQ(thread.operations[2].parent, 1u);
  EXPECT_EQ(thread.operations[3].parent, kNothing);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_NE(end_of(thread.operations[i]), 0u);
}

TEST(EngineTest, OperationMayEndOnAnotherThread) {
  TestLog test;
  Log& log = *test.log;
  OpenOperation* const open = begin(log, {.name = "asynchronous"}, nullptr);
  std::thread([&] { end(log, open); }).join();
  end(log, begin(log, {.name = "after"}, nullptr));

  const ThreadLog& thread = test.thread();
  EXPECT_NE(end_of(thread.operations[0]), 0u);
  EXPECT_EQ(thread.operations[1].parent, kNothing);
  EXPECT_EQ(test.log->contents().threads.size(), 1u);
}

TEST(EngineTest, OperationOpenAtTheEndStaysUnfinishedAndKeepsTheLog) {
  auto test = std::make_unique<TestLog>();
  Log& log = *test->log;
  OpenOperation* const outer = begin(log, {.name = "outer"}, nullptr);
  OpenOperation* const inner = begin(log, {.name = "inner"}, nullptr);
  const ThreadLog& thread = test->thread();
  EXPECT_EQ(begin(log, {.name = "late"}, nullptr), nullptr);
  end(log, inner);
  EXPECT_EQ(end_of(thread.operations[0]), 0u);
  EXPECT_EQ(end_of(thread.operations[1]), 0u);
  test.reset();
  std::thread([&] { end(log, outer); }).join();  // the last reference: AddressSanitizer checks the lifetime
}

TEST(EngineTest, EachThreadHasItsOwnLog) {
  TestLog test;
  { const Operation operation("here"); }
  std::thread([&] {
    const AdoptedLog adopted(test.log);
    const Operation operation("there");
  }).join();
  const ThreadLog &here = test.thread(0), &there = test.thread(1);
  EXPECT_EQ(here.names[here.operations[0].name], "here");
  EXPECT_EQ(there.names[there.operations[0].name], "there");
  EXPECT_EQ(there.operations[0].parent, kNothing);
  EXPECT_NE(here.thread, there.thread);
}

TEST(EngineTest, AdoptedLogLastsForItsScopeAndMayBeNull) {
  TestLog test;
  {
    const AdoptedLog none(nullptr);
    EXPECT_EQ(current_log(), nullptr);
    const Operation operation("not recorded");
  }
  EXPECT_EQ(current_log(), test.log);
  { const Operation operation("recorded"); }
  EXPECT_EQ(test.thread().operations.size(), 1u);
}

TEST(EngineTest, ThreadMayUseManyLogsInTurn) {
  std::vector<std::unique_ptr<TestLog>> logs;
  for (int i = 0; i < 9; ++i) logs.push_back(std::make_unique<TestLog>());
  for (int round = 0; round < 3; ++round) {
    for (const auto& test : logs) {
      const AdoptedLog adopted(test->log);
      const Operation outer("outer");
      for (const auto& other : logs) {
        const AdoptedLog inner(other->log);
        const Operation operation("inner");
      }
    }
  }
  while (!logs.empty()) {
    EXPECT_EQ(logs.back()->log->contents().threads.size(), 1u);
    EXPECT_EQ(logs.back()->thread().operations.size(), 3u * 10);
    logs.pop_back();
  }
}

TEST(EngineTest, KeptLogOutlivesItsProfilerAndRecordsNothing) {
  KeptLog kept;
  {
    TestLog test;
    kept = KeptLog(test.log);
    { const Operation operation("operation"); }
  }
  EXPECT_FALSE(kept.get()->on());
  EXPECT_EQ(begin(*kept.get(), {.name = "late"}, nullptr), nullptr);
  memory(*kept.get(), {.bytes = 1});
  const AdoptedLog adopted(kept.get());
  { const Operation operation("later"); }
  EXPECT_EQ(kept.get()->contents().threads.at(0)->operations.size(), 1u);
}

TEST(EngineTest, StacksBeginAtTheCallerOfBegin) {
  TestLog test({.stacks = true});
  for (int i = 0; i < 10; ++i) const Operation operation("operation");
  const ThreadLog& thread = test.thread();
  const uint32_t stack = thread.extras_of(thread.operations[0]).stack;
  ASSERT_NE(stack, kNothing);
  EXPECT_GT(thread.stacks[stack].count, 2u);
  EXPECT_EQ(thread.addresses.run(thread.stacks[stack].at, thread.stacks[stack].count).size(),
            thread.stacks[stack].count);
  EXPECT_EQ(thread.stacks.size(), 1u);  // the same stack ten times
  EXPECT_EQ(thread.extras_of(thread.operations[9]).stack, stack);
}

TEST(EngineTest, CountersAreReadAtBothEnds) {
  const std::vector<std::string> names{"task-clock"};
  std::vector<counters::Event> events;
  try {
    events = counters::find_events(names);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  TestLog test({.events = events});
  {
    const Operation outer("outer");
    const Operation inner("inner");
    const uint64_t from = kymo_ticks();
    while (kymo_ticks() - from < 100'000) continue;
  }
  const ThreadLog& thread = test.thread();
  EXPECT_EQ(thread.no_counters, "");
  ASSERT_EQ(thread.counts.size(), 2u);
  const RawCounts &outer = thread.counts[thread.extras_of(thread.operations[0]).counts],
                  &inner = thread.counts[thread.extras_of(thread.operations[1]).counts];
  const counters::Count in_outer = counters::difference(outer.begin, outer.end, 0),
                        in_inner = counters::difference(inner.begin, inner.end, 0);
  EXPECT_TRUE(in_inner.known);
  EXPECT_GT(in_inner.value, 0);
  EXPECT_GE(in_outer.value, in_inner.value);
}

TEST(EngineTest, OverheadOfCountersIsMeasuredWithoutATrace) {
  EXPECT_EQ(measure_overhead({}).own[0], 0);
  EXPECT_EQ(measure_overhead({.events = {{.name = "nonsense", .type = 0xffff}}}).own[0], 0);
  const std::vector<std::string> names{"task-clock"};
  LogOptions options;
  try {
    options.events = counters::find_events(names);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const CountOverhead overhead = measure_overhead(options);
  EXPECT_GT(overhead.own[0], 0);
  EXPECT_GE(overhead.around[0], 0);
  EXPECT_EQ(overhead.own[1] + overhead.around[1], 0);
  EXPECT_EQ(current_log(), nullptr);
}

TEST(EngineTest, ThreadWithoutCountersReportsTheReasonAndRecords) {
  TestLog test({.events = {{.name = "nonsense", .type = 0xffff}}});
  { const Operation operation("operation"); }
  const ThreadLog& thread = test.thread();
  EXPECT_NE(thread.no_counters, "");
  ASSERT_EQ(thread.operations.size(), 1u);
  EXPECT_EQ(thread.extras_of(thread.operations[0]).counts, kNothing);
  EXPECT_NE(end_of(thread.operations[0]), 0u);
}

}  // namespace
}  // namespace kymo::edge
