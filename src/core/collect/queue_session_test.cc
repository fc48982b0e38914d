// Queues of this process, through sessions: their records are in the file, at the correct time, or counted.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/text.h"
#include "collect/collector.h"
#include "collect/folders.h"
#include "collect/options.h"
#include "kymo/queue_track.h"
#include "kymo/session.h"
#include "record/process.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo {
namespace {

constexpr uint64_t kNumerator = 40, kDenominator = 3;
constexpr uint64_t kMonotonic = 5'000'000'000'000, kRealtime = 1'700'000'000'000'000'000;
constexpr uint64_t kTicks = 375'000'000;  // the device's counter at that time

class QueueSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-queue-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string& name = "a.kymo") const { return folder + "/" + name; }

  static kymo_queue_info info(const char* name = "compute", uint64_t queue = 0) {
    return {name, "GPU-1", 3, queue, 1, kNumerator, kDenominator, 0, 0, "NPU 9"};
  }

  // What a file contains about its queues.
  struct Seen {
    std::map<std::string, trace::Track> tracks;        // by name
    std::map<std::string, trace::ClockDomain> clocks;  // by the name of the queue
    std::map<std::string, trace::Ranges> ranges;       // by the name of the queue
    std::map<trace::LossCause, trace::Loss> losses;    // of queues, or without a track
    std::map<std::string, uint64_t> points;            // on queues, by the name of the queue
  };
  static Seen look(const std::string& path) {
    Seen seen;
    const trace::Reader reader(path);
    EXPECT_TRUE(reader.problems().empty());
    for (const auto& [id, writer] : reader.writers()) {
      for (const auto& [track_id, track] : writer.tracks) {
        if (track.kind != trace::TrackKind::DeviceQueue) continue;
        EXPECT_FALSE(seen.tracks.contains(track.name)) << track.name << " is there twice";
        seen.tracks[track.name] = track;
        seen.clocks[track.name] = writer.clocks.at(track.clock);
      }
      for (const trace::Loss& loss : writer.losses)
        if (loss.track == 0 || writer.tracks.at(loss.track).kind == trace::TrackKind::DeviceQueue)
          seen.losses[loss.cause] = loss;
    }
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const trace::Track& track = reader.writers().at(chunk.writer).tracks.at(chunk.track);
      if (track.kind != trace::TrackKind::DeviceQueue) continue;
      reader.read(chunk, batch);
      trace::Ranges& all = seen.ranges[track.name];
      all.end.insert(all.end.end(), batch.ranges.end.begin(), batch.ranges.end.end());
      all.duration.insert(all.duration.end(), batch.ranges.duration.begin(), batch.ranges.duration.end());
      batch.ranges.correlation.resize(batch.ranges.size());
      all.correlation.insert(all.correlation.end(), batch.ranges.correlation.begin(), batch.ranges.correlation.end());
      seen.points[track.name] += batch.points.size();
    }
    return seen;
  }

  std::string folder;
};

TEST_F(QueueSessionTest, TimesAreConvertedWithTheStatedError) {
  Session session(file());
  QueueTrack queue(info());
  queue.clock_pair(kTicks, kMonotonic, kRealtime, 70);
  queue.span("kernel", kTicks + 300, kTicks + 375, 42);
  queue.clock_pair(kTicks + 75'000'000, kMonotonic + 1'000'000'000, kRealtime + 1'000'000'000, 90);
  session.close();
  const Seen seen = look(file());
  const trace::Track& track = seen.tracks.at("compute");
  EXPECT_EQ(track.device_uuid, "GPU-1");
  EXPECT_EQ(track.device_name, "NPU 9");
  EXPECT_EQ(track.context, 3u);
  const trace::ClockDomain& domain = seen.clocks.at("compute");
  EXPECT_EQ(domain.kind, trace::ClockKind::Device);
  EXPECT_EQ(domain.pairs.size(), 2u);
  const trace::ClockMap clock = trace::clock_map(domain);
  ASSERT_TRUE(clock.usable());
  EXPECT_EQ(clock.error_ns(), 90u);
  const trace::Ranges& ranges = seen.ranges.at("compute");
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges.end[0], kTicks + 375);
  EXPECT_EQ(ranges.correlation[0], 42u);
  EXPECT_EQ(clock.to_monotonic_ns(ranges.end[0]), static_cast<int64_t>(kMonotonic + 5000));
  EXPECT_EQ(clock.duration_ns(ranges.duration[0]), 1000u);
}

TEST_F(QueueSessionTest, QueuesOfADeviceShareAClock) {
  Session session(file());
  QueueTrack first(info("one", 1)), second(info("two", 2));
  first.clock_pair(kTicks, kMonotonic, kRealtime, 70);
  second.clock_pair(kTicks + 75, kMonotonic + 1000, kRealtime + 1000, 70);
  first.span("kernel", kTicks, kTicks + 1, 0);
  second.span("kernel", kTicks, kTicks + 1, 0);
  session.close();
  const Seen seen = look(file());
  EXPECT_EQ(seen.tracks.at("one").clock, seen.tracks.at("two").clock);
  EXPECT_EQ(seen.clocks.at("one").pairs.size(), 2u);
}

TEST_F(QueueSessionTest, AQueueDescribesItselfInEachSession) {
  QueueTrack queue(info()), idle(info("idle", 1));
  queue.clock_pair(kTicks, kMonotonic, kRealtime, 70);
  idle.clock_pair(kTicks, kMonotonic, kRealtime, 70);
  for (uint64_t round = 0; round < 3; ++round) {
    Session session(file());
    queue.span("kernel", kTicks + round, kTicks + round + 1, round + 1);
    session.close();
    queue.span("between", kTicks, kTicks + 1, 99);
    const Seen seen = look(file());
    EXPECT_EQ(seen.tracks.size(), 1u) << "one that did nothing is not there";
    EXPECT_EQ(seen.ranges.at("compute").correlation, (std::vector<uint64_t>{round + 1}));
    EXPECT_EQ(seen.clocks.at("compute").pairs.size(), 1u);
  }
}

TEST_F(QueueSessionTest, ASlotIsUsedByQueuesAndThreadsInTurn) {
  Session session(file());
  for (uint64_t i = 0; i < 200; ++i) {
    QueueTrack queue(info(("queue " + std::to_string(i)).c_str(), i));
    queue.clock_pair(kTicks, kMonotonic, kRealtime, 70);
    queue.span("kernel", kTicks + i, kTicks + i + 1, i + 1);
  }
  session.close();
  const Seen seen = look(file());
  EXPECT_EQ(seen.tracks.size(), 200u);
  EXPECT_EQ(seen.ranges.at("queue 117").correlation, (std::vector<uint64_t>{118}));
  EXPECT_TRUE(seen.losses.empty());
}

TEST_F(QueueSessionTest, RangesByHandleBelongToTheirSession) {
  QueueTrack queue(info());
  const Label label("batch");
  const uint64_t before = kymo_next_handle();
  Session session(file());
  queue.clock_pair(kTicks, kMonotonic, kRealtime, 70);
  const uint64_t handle = kymo_next_handle();
  kymo_queue_range_end(queue.get(), kTicks, before);
  kymo_queue_range_begin(queue.get(), &label, nullptr, 0, kTicks, handle);
  kymo_queue_range_end(queue.get(), kTicks + 10, handle);
  session.close();
  const Seen seen = look(file());
  EXPECT_EQ(seen.points.at("compute"), 2u);
  EXPECT_TRUE(seen.losses.empty());
}

TEST_F(QueueSessionTest, LossesAreCountedAtADeviceTime) {
  Session session(file());
  QueueTrack queue(info());
  queue.clock_pair(kTicks, kMonotonic, kRealtime, 70);
  queue.span("kernel", kTicks + 10, kTicks + 20, 0);
  queue.lost(5);
  queue.span("backwards", kTicks + 90, kTicks + 80, 0);
  session.close();
  const Seen seen = look(file());
  ASSERT_TRUE(seen.losses.contains(trace::LossCause::Clock));
  const trace::Loss& loss = seen.losses.at(trace::LossCause::Clock);
  EXPECT_EQ(loss.count, 6u);
  EXPECT_EQ(loss.track, seen.tracks.at("compute").id);
  EXPECT_EQ(loss.first, kTicks + 20);
  EXPECT_EQ(loss.last, kTicks + 20);
  EXPECT_EQ(seen.ranges.at("compute").size(), 1u);
}

TEST_F(QueueSessionTest, AQueueWithOnlyALossHasATrack) {
  Session session(file());
  QueueTrack queue(info());
  queue.lost(5);
  session.close();
  EXPECT_EQ(look(file()).losses.at(trace::LossCause::Clock).track, look(file()).tracks.at("compute").id);
}

// A session whose collector reads nothing before its end.
class HeldSession {
 public:
  HeldSession(const std::string& path, const SessionOptions& options) {
    const collect::SessionId id = collect::new_session_id();
    auto output = std::make_unique<collect::Output>(path, trace::Writer::Mode::Create, collect::flight_options(options),
                                                    base::hex(id.bytes));
    shared_.options = collect::segment_options(options, id);
    if (const record::Outcome made = record::ensure_segment(shared_); !made) throw Error(made.why());
    record::SegmentHeader& header = *shared_.segment.load();
    header.policy = static_cast<uint32_t>(shared_.options.policy);
    collector_ = std::make_unique<collect::Collector>(std::move(output));
    collector_->add(std::make_unique<collect::Source>(header, collect::origin_of(header), collect::Source::From::Now));
    record::start_recording(shared_);
  }
  void close() {
    record::stop_recording(shared_);
    collector_->start();
    collector_->stop();
  }

 private:
  record::Process& shared_ = *record::process();
  std::unique_ptr<collect::Collector> collector_;
};

// More than fits into a ring.
constexpr uint64_t kMany = 400'000;

void flood(QueueTrack& queue) {
  queue.clock_pair(kTicks, kMonotonic, kRealtime, 70);
  for (uint64_t i = 0; i < kMany; ++i) queue.span("kernel", kTicks + 10 * i, kTicks + 10 * i + 5, i + 1);
}

TEST_F(QueueSessionTest, PolicyDropCountsDroppedRecords) {
  SessionOptions options;
  options.policy = Policy::Drop;
  options.ring_bytes = 64 << 10;
  HeldSession session(file(), options);
  QueueTrack queue(info());
  flood(queue);
  session.close();
  const Seen seen = look(file());
  const uint64_t kept = seen.ranges.at("compute").size();
  const auto loss = seen.losses.find(trace::LossCause::RingFull);
  ASSERT_NE(loss, seen.losses.end());
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(kept + loss->second.count, kMany);
  EXPECT_GE(loss->second.first, kTicks);
  EXPECT_LE(loss->second.last, kTicks + 10 * kMany);
}

TEST_F(QueueSessionTest, PolicyBlockLosesNothing) {
  SessionOptions options;
  options.ring_bytes = 64 << 10;
  Session session(file(), options);
  QueueTrack queue(info());
  flood(queue);
  session.close();
  const Seen seen = look(file());
  EXPECT_EQ(seen.ranges.at("compute").size(), kMany) << "and no wait among them";
  EXPECT_TRUE(seen.losses.empty());
  EXPECT_TRUE(std::is_sorted(seen.ranges.at("compute").end.begin(), seen.ranges.at("compute").end.end()));
}

TEST_F(QueueSessionTest, PolicyOverwriteKnowsTheQueueOfTheLastRecords) {
  SessionOptions options;
  options.policy = Policy::Overwrite;
  options.ring_bytes = 64 << 10;
  HeldSession session(file(), options);
  QueueTrack queue(info());
  flood(queue);
  session.close();
  const Seen seen = look(file());
  ASSERT_TRUE(seen.tracks.contains("compute"));
  EXPECT_EQ(seen.ranges.at("compute").correlation.back(), kMany);
  EXPECT_TRUE(trace::clock_map(seen.clocks.at("compute")).usable());
  const auto loss = seen.losses.find(trace::LossCause::Overwritten);
  ASSERT_NE(loss, seen.losses.end());
  EXPECT_EQ(loss->second.track, seen.tracks.at("compute").id);
}

struct Harvest {
  QueueTrack queue;
  int calls = 0;
};

TEST_F(QueueSessionTest, RecordsOfTheFlushCallbackAreInTheSession) {
  Harvest harvest{QueueTrack(info())};
  const auto flush = [](void* context) {
    auto& mine = *static_cast<Harvest*>(context);
    mine.queue.clock_pair(kTicks, kMonotonic, kRealtime, 70);
    mine.queue.span("harvested", kTicks, kTicks + 75, 7);
    KYMO_RANGE("flush");
    ++mine.calls;
  };
  ASSERT_TRUE(kymo_on_flush(flush, &harvest));
  {
    Session session(file());
    session.close();
  }
  EXPECT_EQ(harvest.calls, 1);
  EXPECT_EQ(look(file()).ranges.at("compute").correlation, (std::vector<uint64_t>{7}));
  kymo_remove_flush(flush, &harvest);
  Session session(file());
  session.close();
  EXPECT_EQ(harvest.calls, 1);
}

}  // namespace
}  // namespace kymo
