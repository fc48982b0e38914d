// Samples a real process, if the system permits it.
#include "sample/sampler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/clock.h"
#include "kymo/error.h"
#include "sample/perf_source.h"
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

TEST(SamplerTest, RatesAsText) {
  EXPECT_EQ(rate_text(1000), "1 kHz");
  EXPECT_EQ(rate_text(10'000), "10 kHz");
  EXPECT_EQ(rate_text(250), "250 Hz");
  EXPECT_EQ(rate_text(1500), "1500 Hz");
}

}  // namespace
}  // namespace kymo::sample
