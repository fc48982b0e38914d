// Samples a real process, if the system permits it.
#include "sample/sampler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/test_wait.h"
#include "kymo/error.h"
#include "sample/perf_events.h"
#include "sample/wait_limit.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"
#include "trace/values.h"

namespace kymo::sample {
namespace {

// Writes what is ready, again and again, as a collector does.
class TestWriter {
 public:
  TestWriter(Sampler& sampler, const std::string& path)
      : sampler_(sampler), file_(path, trace::Writer::Mode::Create), thread_([this] { run(); }) {}
  void end_file() { ends_file_ = true; }
  void finish() {
    stopping_ = true;
    thread_.join();
    sampler_.stop();
    sampler_.write(file_);
    file_.close();
  }

 private:
  void run() {
    while (!stopping_) {
      sampler_.write(file_);
      if (ends_file_.exchange(false)) sampler_.end_file(file_);
      usleep(1000);
    }
  }

  Sampler& sampler_;
  trace::Writer file_;
  std::atomic<bool> stopping_{false}, ends_file_{false};
  std::thread thread_;
};

void use_cpu(uint64_t ns) {
  static volatile uint64_t sum = 0;
  const uint64_t end = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (base::clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) sum = sum * 31 + 1;
}

TEST(SamplerTest, RingThatStaysFullToTheEndHasLostRecords) {
  std::optional<PerfEvents> events;
  try {
    events.emplace(PerfEvents::for_process(getpid(), {.hertz = 20'000}));
  } catch (const NotAvailable& error) {
    GTEST_SKIP() << error.what();
  }
  PerfSource source(std::move(*events));
  volatile char stack[16'384] = {};  // a copy of it is in each sample
  use_cpu(500'000'000);
  EXPECT_EQ(stack[0], 0);
  const uint64_t counted = source.counts()->lost;
  if (counted == 0) GTEST_SKIP() << "before Linux 6.0, the kernel does not count them";
  uint64_t lost = 0;
  source.read(true, [&](const Record& record) { lost += record.kind == RecordKind::Lost ? record.lost : 0; });
  EXPECT_GE(lost, counted);
}

TEST(SamplerTest, RunningProcessIsSampledAndStatedAgain) {
  const trace::testing::TemporaryFolder folder;
  std::optional<PerfEvents> events;
  try {
    events.emplace(PerfEvents::for_process(getpid(), {}));
  } catch (const NotAvailable& error) {
    GTEST_SKIP() << error.what();
  }
  Sampler sampler(std::make_unique<PerfSource>(std::move(*events)), {1000, "session", {}});
  sampler.add_running(getpid());
  TestWriter writer(sampler, folder / "a.kymo");
  constexpr uint64_t kNs = 200'000'000;
  use_cpu(kNs);
  writer.end_file();
  std::thread(use_cpu, kNs).join();
  writer.finish();
  EXPECT_GT(sampler.totals().samples, 0u);
  EXPECT_EQ(sampler.totals().processes, 1u);

  const trace::Reader reader(folder / "a.kymo");
  EXPECT_TRUE(reader.problems().empty());
  ASSERT_EQ(reader.writers().size(), 1u);
  const trace::WriterInfo& process = reader.writers().begin()->second;
  EXPECT_EQ(process.origin.pid, static_cast<uint64_t>(getpid()));
  EXPECT_EQ(process.origin.session, "session");
  EXPECT_TRUE(process.ending);
  uint64_t samples = 0;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    reader.read(chunk, batch);
    for (const uint32_t id : batch.points.class_id) samples += process.classes.at(id).name == "sample" ? 1 : 0;
  }
  EXPECT_EQ(samples, sampler.totals().samples);
}

// Only the first waits of a thread that waits very often have a stack; one that waits rarely has all of them.
TEST(SamplerTest, StacksOfWaitsAreLimited) {
  if (!load_wait_limit().program) GTEST_SKIP() << "the kernel does not permit it";
  std::optional<PerfEvents> events;
  try {
    events.emplace(PerfEvents::for_process(getpid(), {.waits = Waits::Some}));
  } catch (const NotAvailable& error) {
    GTEST_SKIP() << error.what();
  }
  ASSERT_TRUE(events->has_waits());
  PerfSource source(std::move(*events));
  pid_t often = 0, rarely = 0;
  const uint64_t begin = base::monotonic_ns();
  constexpr int kOften = 5000, kRarely = 20;
  std::thread([&] {
    often = gettid();
    for (int i = 0; i < kOften; ++i) usleep(1);
  }).join();
  std::thread([&] {
    rarely = gettid();
    for (int i = 0; i < kRarely; ++i) usleep(1000);
  }).join();
  const double seconds = static_cast<double>(base::monotonic_ns() - begin) / 1e9;
  std::map<pid_t, int> stacks;
  source.read(true, [&](const Record& record) {
    if (record.kind == RecordKind::Sample && record.cause == Cause::Wait) ++stacks[static_cast<pid_t>(record.tid)];
  });
  const WaitLimit limit;
  EXPECT_GE(stacks[often], static_cast<int>(limit.of_thread));
  EXPECT_LE(stacks[often], limit.of_thread * (1 + seconds) + 2);
  EXPECT_GE(stacks[rarely], kRarely);
}

// One thread waits for another one, and the other way round.
TEST(SamplerTest, WakeUpsHaveBothThreads) {
  std::optional<PerfEvents> events;
  try {
    events.emplace(PerfEvents::for_process(getpid(), {.wake_ups = true}));
  } catch (const NotAvailable& error) {
    GTEST_SKIP() << error.what();
  }
  if (!events->why_no_wake_ups().empty()) GTEST_SKIP() << events->why_no_wake_ups();
  PerfSource source(std::move(*events));
  constexpr int kTimes = 10;
  int there[2], back[2];
  ASSERT_EQ(pipe(there) + pipe(back), 0);
  pid_t other = 0;
  std::thread answers([&] {
    other = gettid();
    char byte = 0;
    for (int i = 0; i < kTimes; ++i) {
      if (read(there[0], &byte, 1) != 1) return;
      usleep(1000);
      if (write(back[1], &byte, 1) != 1) return;
    }
  });
  char byte = 0;
  for (int i = 0; i < kTimes; ++i) {
    usleep(1000);
    ASSERT_EQ(write(there[1], &byte, 1), 1);
    ASSERT_EQ(read(back[0], &byte, 1), 1);
  }
  answers.join();
  for (const int file : {there[0], there[1], back[0], back[1]}) close(file);
  std::map<std::pair<uint32_t, uint32_t>, int> wake_ups;
  source.read(true, [&](const Record& record) {
    if (record.kind == RecordKind::Sample && record.cause == Cause::WakeUp) ++wake_ups[{record.tid, record.woken}];
  });
  const auto own = static_cast<uint32_t>(gettid()), answering = static_cast<uint32_t>(other);
  EXPECT_GE((wake_ups[{own, answering}]), kTimes - 1);  // it may not have waited yet
  EXPECT_GE((wake_ups[{answering, own}]), kTimes - 1);
  // The timer of usleep is not taken for the thread that it interrupts. Not every kernel records it on every processor:
  // then perf record -a does not see it either.
  for (const auto& [threads, count] : wake_ups)
    EXPECT_TRUE(threads.second != own || threads.first == 0 || threads.first == answering) << threads.first;
}

// A thread waits 1000 ns until a timer or another thread wakes it, or the other one ends, and returns to a processor
// 200 ns later.
class WakeUpSource : public RecordSource {
 public:
  enum class By { Thread, End, Timer };
  explicit WakeUpSource(By by) : by_(by) {}
  void wait(int) override {}
  void wake() override {}
  void read(bool is_last, const Handle& handle) override {
    if (!is_last) return;
    Record record;
    record.time = base::monotonic_ns() - 1'000'000;
    record.pid = record.tid = static_cast<uint32_t>(getpid());
    record.kind = RecordKind::Sample;
    record.instruction = 0x1000;
    handle(record);
    Record other = record;
    other.tid = 7;
    if (by_ == By::End) handle(other);
    if (by_ == By::Timer) other.pid = other.tid = 0;
    record.kind = RecordKind::SwitchOut;
    handle(record);
    other.kind = by_ == By::End ? RecordKind::Exit : RecordKind::Sample;
    other.cause = Cause::WakeUp;
    other.time += 1000;
    other.woken = record.tid;
    handle(other);
    record.time += 1200;
    record.kind = RecordKind::SwitchIn;
    handle(record);
  }
  std::optional<Counts> counts() const override { return std::nullopt; }
  bool is_complete() const override { return true; }

 private:
  const By by_;
};

// The values of the waits and wake-ups of a process.
std::vector<std::vector<uint64_t>> waits_of(std::unique_ptr<RecordSource> source, uint64_t count) {
  const trace::testing::TemporaryFolder folder;
  trace::Writer file(folder / "a.kymo", trace::Writer::Mode::Create);
  Sampler sampler(std::move(source), {1000, "session", {}});
  sampler.stop();
  sampler.write(file);
  file.close();
  EXPECT_EQ(sampler.totals().all_waits, count);
  const trace::Reader reader(folder / "a.kymo");
  const trace::WriterInfo& process = reader.writers().begin()->second;
  std::vector<std::vector<uint64_t>> found;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    reader.read(chunk, batch);
    trace::ValueCursor values(batch.points.values);
    for (const uint32_t id : batch.points.class_id) {
      const trace::EventClass& one = process.classes.at(id);
      const auto& row = values.next(&one);
      if (one.name == "off CPU" || one.name == "wake-up") found.push_back({row[0].bits, row[1].bits});
    }
  }
  return found;
}

TEST(SamplerTest, ThreadIsReadyFromItsWakeUpOn) {
  const std::vector<std::vector<uint64_t>> wanted = {{1000, 0}, {static_cast<uint64_t>(getpid()), 7}, {200, 1}};
  EXPECT_EQ(waits_of(std::make_unique<WakeUpSource>(WakeUpSource::By::Thread), 1), wanted);
  const std::vector<std::vector<uint64_t>> by_nobody = {{1000, 0}, {200, 1}};
  EXPECT_EQ(waits_of(std::make_unique<WakeUpSource>(WakeUpSource::By::Timer), 1), by_nobody);
}

// How long it was ready is not known.
TEST(SamplerTest, WaitThatEndsAfterAnotherThreadNamesThisThread) {
  const std::vector<std::vector<uint64_t>> wanted = {{1000, 0}, {static_cast<uint64_t>(getpid()), 7}, {200, 0}};
  EXPECT_EQ(waits_of(std::make_unique<WakeUpSource>(WakeUpSource::By::End), 1), wanted);
}

// A new thread is ready for 1000 ns, and runs. Of the kernel, it is the thread of the test.
class NewThreadSource : public RecordSource {
 public:
  void wait(int) override {}
  void wake() override {}
  void read(bool is_last, const Handle& handle) override {
    if (!is_last) return;
    Record record;
    record.time = base::monotonic_ns() - 1'000'000;
    record.pid = record.parent_pid = record.tid = static_cast<uint32_t>(getpid());
    record.kind = RecordKind::Sample;
    handle(record);
    record.kind = RecordKind::Fork;
    handle(record);
    record.time += 1000;
    record.kind = RecordKind::SwitchIn;
    handle(record);
  }
  std::optional<Counts> counts() const override { return std::nullopt; }
  bool is_complete() const override { return true; }
};

TEST(SamplerTest, WithoutWakeUpsReadyTimeIsThatOfTheKernel) {
  const auto ready_of_kernel = [] {
    std::ifstream file("/proc/self/schedstat");
    uint64_t on_ns = 0, ready_ns = 0;
    file >> on_ns >> ready_ns;
    return ready_ns;
  };
  for (const char* const wake_ups : {"not recorded: the kernel lets only root record them", "recorded"}) {
    const trace::testing::TemporaryFolder folder;
    trace::Writer file(folder / "a.kymo", trace::Writer::Mode::Create);
    const uint64_t before = ready_of_kernel();
    Sampler sampler(std::make_unique<NewThreadSource>(),
                    {.session = "session", .command_line = {}, .wake_ups = wake_ups});
    sampler.stop();
    const uint64_t after = ready_of_kernel();
    sampler.write(file);
    file.close();
    const trace::Reader reader(folder / "a.kymo");
    const trace::WriterInfo& process = reader.writers().begin()->second;
    uint64_t placed = 0, unplaced = 0;
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      reader.read(chunk, batch);
      trace::ValueCursor values(batch.points.values);
      for (const uint32_t id : batch.points.class_id) {
        const trace::EventClass& one = process.classes.at(id);
        const auto& row = values.next(&one);
        if (one.name == "off CPU") placed += row[0].bits;
        if (one.name == "ready") unplaced += row[0].bits;
      }
    }
    EXPECT_EQ(placed, 1000u);
    if (wake_ups == std::string("recorded")) {
      EXPECT_EQ(unplaced, 0u);
    } else {
      EXPECT_GE(placed + unplaced, before);
      EXPECT_LE(placed + unplaced, std::max<uint64_t>(after, placed));
    }
  }
}

TEST(SamplerTest, ProcessThatDoesNotExistIsAnError) {
  EXPECT_THROW(PerfEvents::for_process(2'000'000'000, {}), NotAvailable);
}

// Has another sample of the same instruction each time it is read.
class SameSampleSource : public RecordSource {
 public:
  void wait(int) override {
    now_ = base::monotonic_ns();
    usleep(1000);
  }
  void wake() override {}
  void read(bool, const Handle& handle) override {
    Record record;
    record.kind = RecordKind::Sample;
    record.time = now_;
    record.pid = record.tid = static_cast<uint32_t>(getpid());
    record.instruction = 0x1000;
    handle(record);
  }
  std::optional<Counts> counts() const override { return std::nullopt; }
  bool is_complete() const override { return true; }

 private:
  uint64_t now_ = 0;
};

struct SamplesOfFile {
  explicit SamplesOfFile(const std::string& path) {
    const trace::Reader reader(path);
    trace::EventBatch batch;
    std::set<uint64_t> nodes;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      reader.read(chunk, batch);
      trace::ValueCursor values(batch.points.values);
      for (const uint32_t id : batch.points.class_id) {
        const trace::EventClass& event_class = reader.writers().begin()->second.classes.at(id);
        const auto& row = values.next(&event_class);
        if (event_class.name == "stack node") nodes.insert(row[0].bits);
        if (event_class.name != "sample") continue;
        ++all;
        if (!nodes.contains(row[0].bits)) ++without_stack;
      }
    }
  }
  uint64_t all = 0, without_stack = 0;
};

TEST(SamplerTest, SamplesAfterANewFileHaveTheirStacksInIt) {
  const trace::testing::TemporaryFolder folder;
  trace::Writer first(folder / "first.kymo", trace::Writer::Mode::Create);
  trace::Writer second(folder / "second.kymo", trace::Writer::Mode::Create);
  constexpr uint64_t kPiece = 50'000'000;
  Sampler sampler(std::make_unique<SameSampleSource>(), {1000, "session", {}, "", kPiece});
  const uint64_t empty = first.bytes_written();
  base::wait_until("the first samples, and their stack", [&] {
    sampler.write(first);
    return first.bytes_written() != empty;
  });
  const auto wait_for_samples = [&sampler] {  // they are not written yet, because more may come
    constexpr uint64_t kMore = 10;
    const uint64_t taken = sampler.totals().samples;
    base::wait_until("more samples", [&] { return sampler.totals().samples >= taken + kMore; });
  };
  wait_for_samples();
  sampler.end_file(first);
  wait_for_samples();
  sampler.stop();
  sampler.write(second);
  first.close();
  second.close();
  const SamplesOfFile before(folder / "first.kymo"), after(folder / "second.kymo");
  EXPECT_EQ(before.without_stack, 0u);
  EXPECT_EQ(after.without_stack, 0u);
  EXPECT_GT(after.all, 0u);
  EXPECT_EQ(before.all + after.all, sampler.totals().samples);
}

TEST(SamplerTest, RatesAsText) {
  EXPECT_EQ(rate_text(1000), "1 kHz");
  EXPECT_EQ(rate_text(10'000), "10 kHz");
  EXPECT_EQ(rate_text(250), "250 Hz");
  EXPECT_EQ(rate_text(1500), "1500 Hz");
}

// Threads of any length have as many samples as their CPU time deserves, if they are as long as the shortest period.
TEST(FirstSamplesTest, ExpectedNumberIsTheCpuTimeDividedByThePeriod) {
  constexpr uint64_t kPeriod = 1'000'000;
  for (const uint64_t length : {200'000, 500'000, 900'000, 1'500'000, 5'300'000}) {
    FirstSamples first(kPeriod);
    constexpr uint32_t kThreads = 20'000;
    uint64_t counted = 0;
    for (uint32_t thread = 1; thread <= kThreads; ++thread) {
      const uint64_t period = first.next_period_ns();
      ASSERT_GE(period, kPeriod / 8);
      ASSERT_LE(period, kPeriod);
      for (uint64_t at = period; at <= length; at += period) counted += first.is_due(thread, period) ? 1 : 0;
      first.ended(thread);
    }
    EXPECT_NEAR(static_cast<double>(counted) / kThreads, static_cast<double>(length) / kPeriod, 0.07) << length;
  }
}

TEST(FirstSamplesTest, WholePeriodsAlwaysCount) {
  FirstSamples first(1000);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(first.is_due(1, 1000));
}

TEST(FirstSamplesTest, PeriodsVaryWhileManyThreadsStart) {
  FirstSamples first(1'000'000);
  uint64_t now = base::monotonic_ns();
  EXPECT_FALSE(first.should_vary(now));
  for (int i = 0; i < 30; ++i) first.started();
  EXPECT_TRUE(first.should_vary(now += 50'000'000));
  EXPECT_FALSE(first.should_vary(now += 1'000'000'000)) << "none has started for a second";
}

// The kernel counts records of all kinds.
class LossySource : public SameSampleSource {
 public:
  void read(bool is_last, const Handle& handle) override {
    SameSampleSource::read(is_last, handle);
    if (!is_last) return;
    Record record;
    record.kind = RecordKind::Lost;
    record.lost = 1000;
    record.lost_samples = 3;
    handle(record);
  }
};

TEST(SamplerTest, OnlyLostSamplesCountAsSamples) {
  Sampler sampler(std::make_unique<LossySource>(), {1000, "session", {}});
  sampler.stop();
  EXPECT_EQ(sampler.totals().lost, 3u);
  EXPECT_EQ(sampler.totals().lost_others, 997u);
}

// A thread waits, and another one runs. Then records are lost, perhaps those of their ends.
class LostEndSource : public SameSampleSource {
 public:
  void read(bool is_last, const Handle& handle) override {
    if (!is_last) return;
    Record record;
    record.time = base::monotonic_ns() - 1'000'000;
    record.pid = record.tid = static_cast<uint32_t>(getpid());
    record.kind = RecordKind::Sample;
    record.instruction = 0x1000;
    handle(record);
    record.time += 100;
    record.kind = RecordKind::SwitchOut;
    handle(record);
    record.tid += 1;
    record.kind = RecordKind::SwitchIn;
    handle(record);
    Record lost;
    lost.kind = RecordKind::Lost;
    lost.lost = 1;
    handle(lost);
  }
};

TEST(SamplerTest, TimeAfterALossIsNotKnown) {
  Sampler sampler(std::make_unique<LostEndSource>(), {1000, "session", {}});
  sampler.stop();
  EXPECT_EQ(sampler.totals().on_ns, 100u);
  EXPECT_EQ(sampler.totals().off_ns, 0u);
}

// A thread waits from 100 to 900, and records are lost from 300 to 500.
class LossInAWaitSource : public SameSampleSource {
 public:
  void read(bool is_last, const Handle& handle) override {
    if (!is_last) return;
    const uint64_t begin = base::monotonic_ns() - 1'000'000;
    Record record;
    record.pid = record.tid = static_cast<uint32_t>(getpid());
    record.time = begin;
    record.instruction = 0x1000;
    for (const auto& [kind, time] : {std::pair(RecordKind::Sample, 0), std::pair(RecordKind::SwitchOut, 100),
                                     std::pair(RecordKind::Lost, 500), std::pair(RecordKind::SwitchIn, 900)}) {
      record.kind = kind;
      record.time = begin + static_cast<uint64_t>(time);
      record.lost = kind == RecordKind::Lost ? 7 : 0;
      record.lost_since = begin + 300;
      handle(record);
    }
  }
};

TEST(SamplerTest, ThreadThatWaitsIsNotKnownToWaitWhileRecordsAreLost) {
  Sampler sampler(std::make_unique<LossInAWaitSource>(), {1000, "session", {}});
  sampler.stop();
  EXPECT_EQ(sampler.totals().off_ns, 600u);
}

}  // namespace
}  // namespace kymo::sample
