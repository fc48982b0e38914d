// Samples a real process, if the system permits it.
#include "sample/sampler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/test_wait.h"
#include "kymo/error.h"
#include "sample/perf_events.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::sample {
namespace {

// Writes what is ready, again and again, as a collector does.
class TestWriter {
 public:
  TestWriter(Sampler& sampler, const std::string& path)
      : sampler_(sampler), file_(path, trace::Writer::Mode::Create), thread_([this] { run(); }) {}
  void restate() { restate_ = true; }
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
      if (restate_.exchange(false)) sampler_.restate();
      usleep(1000);
    }
  }

  Sampler& sampler_;
  trace::Writer file_;
  std::atomic<bool> stopping_{false}, restate_{false};
  std::thread thread_;
};

void use_cpu(uint64_t ns) {
  static volatile uint64_t sum = 0;
  const uint64_t end = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (base::clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) sum = sum * 31 + 1;
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
  writer.restate();
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
  std::optional<uint64_t> page_faults() const override { return std::nullopt; }
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

}  // namespace
}  // namespace kymo::sample
