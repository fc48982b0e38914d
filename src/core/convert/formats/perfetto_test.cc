#include "convert/formats/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "convert/formats/test_perfetto_decoder.h"
#include "convert/perfetto_fields.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using namespace perfetto;
using testing::PerfettoDecoder;
using trace::FieldType;
using trace::PointKind;
using trace::testing::kMonotonicZero;
using trace::testing::kRealtimeZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class PerfettoTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_thread(2, 102, "worker");
    recorder.add_class(1, "outer", "app");
    recorder.add_class({2, "inner", "app", 0xFF336699, {{"rows", FieldType::Int}, {"note", FieldType::String}}});
    recorder.add_class(3, "step {}", "train", {{"", FieldType::Int}});
    recorder.add_class(4, "heap", "", {{"", FieldType::ByteCount}});
    recorder.add_class(5, "load", "", {{"", FieldType::Double}});
    recorder.add_class(6, "request", "net");
    return recorder;
  }
  PerfettoDecoder decode() {
    StringStream sink;
    write_perfetto(trace::Reader(path), sink);
    return PerfettoDecoder(sink.text());
  }

  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(PerfettoTest, SlicesNestForAnyTimes) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 1);
  recorder.begin(1, 10, 3, {int64_t{1}});
  recorder.begin(1, 10, 2, {int64_t{1}, "x"});
  recorder.end(1, 10);
  recorder.end(1, 20);
  recorder.begin(1, 20, 3, {int64_t{2}});
  recorder.end(1, 20);
  recorder.end(1, 20);
  recorder.begin(1, 20, 1);
  recorder.end(1, 20);
  recorder.close();
  EXPECT_EQ(decode().log_of("main"), "(outer@10 (step 1@10 (inner@10 @10) @20) (step 2@20 @20) @20) (outer@20 @20) ");
}

TEST_F(PerfettoTest, RangeThatSpansChunksBeginsAtItsTrueTime) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 1);
  recorder.begin(1, 11, 3, {int64_t{1}});
  recorder.cut(1);
  recorder.end(1, 20);
  recorder.cut(1);
  recorder.end(1, 30);
  recorder.close();
  EXPECT_EQ(decode().log_of("main"), "(outer@10 (step 1@11 @20) @30) ");
}

TEST_F(PerfettoTest, UnfinishedRangesStayOpen) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 1);
  recorder.begin(1, 15, 2, {int64_t{1}, "x"});
  recorder.end(1, 20);
  recorder.close();
  const PerfettoDecoder decoder = decode();
  EXPECT_EQ(decoder.log_of("main"), "(outer@10 (inner@15 @20) ");
  EXPECT_EQ(decoder.find("main")->open.size(), 1u);
}

TEST_F(PerfettoTest, AnnotationsHaveTheirTypes) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 2, {int64_t{-7}, "a\xffz"});
  recorder.end(1, 11);
  recorder.point(1, 12, PointKind::Allocation, 6, 0xbeef);
  recorder.close();
  EXPECT_EQ(decode().annotations,
            (std::vector<std::string>{"rows int -7", "note string a\uFFFDz", "colour string #336699",
                                      "kymo string allocation 0xbeef", "address pointer beef", "bytes int 0",
                                      "bytes_in_use uint 0"}));
}

TEST_F(PerfettoTest, LanesThreadsAndProcessesFormATree) {
  TestRecorder recorder = make();
  recorder.complete(1, 10, 30, 1);
  recorder.complete(1, 25, 26, 1, 1, 1);
  recorder.complete(1, 20, 40, 1, 0, 1);
  recorder.close();
  const PerfettoDecoder decoder = decode();
  EXPECT_EQ(decoder.log_of("main"), "(outer@10 @30) ");
  EXPECT_EQ(decoder.log_of("main (lane 1)"), "(outer@20 (outer@25 @26) @40) ");
  const uint64_t thread = decoder.find("main (lane 1)")->parent;
  EXPECT_EQ(decoder.tracks.at(thread).thread_name, "main");
  EXPECT_EQ(decoder.tracks.at(decoder.tracks.at(thread).parent).process_name, "train");
}

TEST_F(PerfettoTest, CountersHaveTracksOfTheirProcess) {
  TestRecorder recorder = make();
  recorder.point(1, 10, PointKind::Counter, 4, 0, {int64_t{4096}});
  recorder.point(2, 20, PointKind::Counter, 4, 0, {int64_t{8192}});
  recorder.point(1, 30, PointKind::Counter, 5, 0, {0.5});
  recorder.close();
  const PerfettoDecoder decoder = decode();
  EXPECT_EQ(decoder.log_of("heap"), "=4096@10 =8192@20 ");
  EXPECT_EQ(decoder.find("heap")->unit, counter::kBytes);
  EXPECT_EQ(decoder.log_of("load"), "=0.5@30 ");
}

TEST_F(PerfettoTest, CounterOfSeveralNumberTypesIsOneTrackOfDoubles) {
  TestRecorder recorder = make();
  recorder.add_class(7, "depth", "app", {{"", FieldType::Int}});
  recorder.add_class(8, "depth", "app", {{"", FieldType::UInt}});
  recorder.add_class(9, "depth", "app", {{"", FieldType::Double}});
  recorder.add_class(10, "depth", "other", {{"", FieldType::Int}});
  recorder.point(1, 10, PointKind::Counter, 7, 0, {int64_t{-3}});
  recorder.point(1, 20, PointKind::Counter, 8, 0, {int64_t{-1}});  // UINT64_MAX
  recorder.point(2, 30, PointKind::Counter, 9, 0, {1.5});
  recorder.point(2, 40, PointKind::Counter, 10, 0, {int64_t{7}});
  recorder.close();
  const PerfettoDecoder decoder = decode();
  EXPECT_EQ(decoder.log_of("depth"), base::format("={}@10 ={}@20 ={}@30 ", -3.0, 0x1p64, 1.5));
  EXPECT_EQ(decoder.log_of("depth (2)"), "=7@40 ") << "another category is another counter";
}

TEST_F(PerfettoTest, CounterAboveTheLargestSignedNumberIsADouble) {
  TestRecorder recorder = make();
  recorder.point(1, 10, PointKind::Counter, 4, 0, {int64_t{5}});
  recorder.point(1, 20, PointKind::Counter, 4, 0, {int64_t{-1}});  // UINT64_MAX bytes
  recorder.close();
  EXPECT_EQ(decode().log_of("heap"), base::format("=5@10 ={}@20 ", 0x1p64));
}

TEST_F(PerfettoTest, QueuesOfOneNameStaySeparate) {
  TestRecorder recorder = make();
  for (uint32_t id = 3; id <= 4; ++id) recorder.add_queue(id, "GPU-a", "compute", id);
  recorder.complete(3, 10, 40, 1);
  recorder.complete(4, 20, 30, 6);
  recorder.close();
  const PerfettoDecoder decoder = decode();
  EXPECT_EQ(decoder.log_of("compute"), "(outer@10 @40) ");
  EXPECT_EQ(decoder.log_of("compute (2)"), "(request@20 @30) ");
}

TEST_F(PerfettoTest, OverlappingAsyncRangesDoNotShareATrack) {
  TestRecorder recorder = make();
  recorder.point(1, 10, PointKind::AsyncBegin, 6, 1);
  recorder.point(1, 20, PointKind::AsyncBegin, 6, 2);
  recorder.point(1, 30, PointKind::AsyncEnd, 6, 1);
  recorder.point(1, 30, PointKind::AsyncBegin, 6, 3);
  recorder.point(1, 40, PointKind::AsyncEnd, 6, 2);
  recorder.point(1, 50, PointKind::AsyncEnd, 6, 3);
  recorder.point(1, 60, PointKind::AsyncBegin, 6, 4);
  recorder.close();
  const PerfettoDecoder decoder = decode();
  std::multiset<std::string> logs;
  for (const auto& [uuid, track] : decoder.tracks) {
    if (track.name.starts_with("request")) logs.insert(track.log);
  }
  EXPECT_EQ(logs, (std::multiset<std::string>{"(request@10 @30) (request@30 @50) (request@60 ", "(request@20 @40) "}));
}

TEST_F(PerfettoTest, FlowsAreCompleteAndAtTheirOwnTimes) {
  TestRecorder recorder = make();
  recorder.begin(2, 5, 1);  // the receiver has been running since before the send
  recorder.begin(1, 10, 1);
  recorder.point(1, 12, PointKind::FlowBegin, 6, 7);
  recorder.point(1, 13, PointKind::FlowBegin, 6, 8);
  recorder.end(1, 14);
  recorder.point(2, 20, PointKind::FlowEnd, 6, 7);
  recorder.end(2, 30);
  recorder.close();
  const PerfettoDecoder decoder = decode();
  ASSERT_EQ(decoder.flows.size(), 1u);
  EXPECT_EQ(decoder.flows.begin()->second, "be");
  EXPECT_EQ(decoder.log_of("worker"), "(outer@5 .request@20 @30) ");
}

TEST_F(PerfettoTest, EachEndOfAReusedFlowHasItsOwnArrow) {
  TestRecorder recorder = make();
  recorder.begin(1, 1, 1);
  recorder.begin(2, 1, 1);
  recorder.point(1, 10, PointKind::FlowBegin, 6, 7);
  recorder.point(1, 20, PointKind::FlowBegin, 6, 7);  // before the first one has ended
  recorder.point(2, 30, PointKind::FlowEnd, 6, 7);
  recorder.point(2, 40, PointKind::FlowEnd, 6, 7);
  recorder.point(2, 50, PointKind::FlowEnd, 6, 7);  // a second receiver
  recorder.point(1, 60, PointKind::FlowBegin, 6, 7);
  recorder.point(2, 60, PointKind::FlowEnd, 6, 7);  // the clock does not show which was first
  recorder.end(1, 100);
  recorder.end(2, 100);
  recorder.close();
  const PerfettoDecoder decoder = decode();
  EXPECT_EQ(decoder.flows.size(), 4u);
  for (const auto& [id, points] : decoder.flows) EXPECT_EQ(points, "be") << id;
}

TEST_F(PerfettoTest, LaunchIsConnectedToItsWork) {
  TestRecorder recorder = make();
  recorder.add_queue(3, "GPU-a", "compute");
  recorder.begin(1, 10, 1, {}, 42);
  recorder.cut(1);
  recorder.end(1, 20);
  recorder.complete(3, 30, 40, 6, 0, 0, 42);
  recorder.close();
  const PerfettoDecoder decoder = decode();
  ASSERT_EQ(decoder.flows.size(), 1u);
  EXPECT_EQ(decoder.flows.begin()->second, "be");
  EXPECT_EQ(decoder.tracks.at(decoder.find("compute")->parent).name, "GPU 0 (GPU-a)");
}

TEST_F(PerfettoTest, OneHostUsesMonotonicTimeAndSeveralUseTheWallClock) {
  {
    TestRecorder recorder = make();
    recorder.begin(1, 10, 1);
    recorder.end(1, 20);
    recorder.close();
  }
  const PerfettoDecoder one = decode();
  EXPECT_EQ(one.primary_clock, clock::kMonotonic);
  EXPECT_EQ(one.clocks.at(clock::kMonotonic), kMonotonicZero);
  EXPECT_EQ(one.clocks.at(clock::kRealtime), kRealtimeZero);
  EXPECT_EQ(one.clocks.at(clock::kBoottime), kMonotonicZero) << "the host was never suspended";

  {
    TestRecorder recorder(path, 2, 200, trace::Writer::Mode::Append);
    trace::WriterId elsewhere;
    elsewhere.bytes.fill(3);
    trace::Origin origin;
    origin.pid = 300;
    origin.boot_id = "another";
    recorder.file().origin(elsewhere, origin);
    recorder.close();
  }
  const PerfettoDecoder two = decode();
  EXPECT_EQ(two.primary_clock, clock::kRealtime);
  EXPECT_EQ(two.log_of("main"), "(outer@10 @20) ");
  EXPECT_TRUE(two.clocks.contains(clock::kBoottime));
}

TEST_F(PerfettoTest, BoottimeIncludesTheTimeThatTheHostWasSuspended) {
  {
    trace::Writer file(path, trace::Writer::Mode::Create);
    trace::WriterId id;
    id.bytes.fill(1);
    trace::Origin origin;
    origin.pid = 7;
    file.origin(id, origin);
    trace::ClockDomain clock;
    clock.id = 1;
    clock.pairs = {{0, kMonotonicZero, kRealtimeZero, 20, 3'600'000'000'000}};
    file.clock(id, clock);
    file.close();
  }
  const PerfettoDecoder decoder = decode();
  EXPECT_EQ(decoder.clocks.at(clock::kMonotonic), kMonotonicZero);
  EXPECT_EQ(decoder.clocks.at(clock::kBoottime), kMonotonicZero + 3'600'000'000'000);
}

TEST_F(PerfettoTest, ARepeatedLongTextIsWrittenOncePerThread) {
  const std::string stack = "memcpy < load_batch < train_one_epoch < main", shorter = "a text of less than 40 bytes";
  TestRecorder recorder = make();
  for (uint64_t i = 0; i < 10; ++i) {
    for (const uint32_t track : {1u, 2u}) {
      recorder.begin(track, 10 * i, 2, {int64_t{1}, i < 5 ? stack : shorter});
      recorder.end(track, 10 * i + 5);
    }
  }
  recorder.close();
  StringStream sink;
  write_perfetto(trace::Reader(path), sink);
  const auto occurrences = [&](const std::string& text) {
    size_t count = 0;
    for (size_t at = sink.text().find(text); at != std::string::npos; at = sink.text().find(text, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(occurrences(stack), 2u);
  EXPECT_EQ(occurrences(shorter), 10u);
  const PerfettoDecoder decoder(sink.text());
  EXPECT_EQ(std::ranges::count(decoder.annotations, "note string " + stack), 10);
}

}  // namespace
}  // namespace kymo::convert
