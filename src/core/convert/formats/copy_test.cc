#include "convert/copy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "convert/export_stream.h"
#include "convert/formats/csv.h"
#include "convert/trace_times.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using trace::PointKind;
using trace::Window;
using trace::testing::kMonotonicZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

std::string csv_of(const trace::Reader& reader) {
  StringStream csv;
  write_csv(reader, csv);
  return csv.text();
}

class CopyTest : public ::testing::Test {
 protected:
  CopyTest() {
    recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_class(2, "load", "", {{"value", trace::FieldType::Double}});
    recorder.add_class(3, "request");
    recorder.add_thread(1, 10, "main");
    recorder.begin(1, 50, 1, {int64_t{-1}});
    for (int64_t i = 0; i < 10; ++i) {
      recorder.begin(1, static_cast<uint64_t>(100 * i + 100), 1, {i});
      recorder.point(1, static_cast<uint64_t>(100 * i + 120), PointKind::Counter, 2, 0, {double(i)});
      recorder.point(1, static_cast<uint64_t>(100 * i + 130), PointKind::AsyncBegin, 3, static_cast<uint64_t>(i + 1));
      recorder.end(1, static_cast<uint64_t>(100 * i + 190));
      if (i % 3 == 0) recorder.cut(1);
    }
    for (uint64_t i = 0; i < 8; ++i) recorder.point(1, 1100 + i, PointKind::AsyncEnd, 3, i + 1);
    recorder.cut(1);
    const trace::Loss loss{trace::LossCause::RingFull, 1, 5, 400, 420, ""};
    recorder.file().losses(recorder.id(), {&loss, 1});
    recorder.file().ending(recorder.id(), {2000});
    recorder.close();
  }

  // Makes a copy of what `reader` shows.
  trace::Reader copy_of(const trace::Reader& reader, const std::vector<std::string>& tracks = {}) {
    trace::Writer writer(folder / "copy.kymo", trace::Writer::Mode::Create);
    copy_trace(reader, TrackChoice(reader, tracks), writer);
    writer.close();
    return trace::Reader(folder / "copy.kymo");
  }

  TemporaryFolder folder;
  TestRecorder recorder{folder / "whole.kymo"};
};

TEST_F(CopyTest, CopyOfAWholeTraceIsEqual) {
  const trace::Reader whole(folder / "whole.kymo");
  EXPECT_EQ(csv_of(copy_of(whole)), csv_of(whole));
}

TEST_F(CopyTest, NamesOfCodeAreKeptWithoutTheirWriter) {
  TestRecorder other(folder / "whole.kymo", 2, 101, trace::Writer::Mode::Append);
  other.add_thread(1, 11, "other");
  const trace::Module module{1, "a.so", "01", 0, 0};
  const trace::Frame frame{1, 1, 5, "f", "f.cc", 2};
  other.file().stacks(other.id(), {&module, 1}, {&frame, 1}, {});
  other.close();
  const trace::Reader copy = copy_of(trace::Reader(folder / "whole.kymo"), {"main"});
  EXPECT_FALSE(copy.writers().contains(other.id()));
  const auto& writer = copy.writers().at(recorder.id());
  ASSERT_EQ(writer.frames.size(), 1u);
  EXPECT_EQ(writer.frames.at(1), frame);
  EXPECT_EQ(writer.modules.at(1), module);
}

TEST_F(CopyTest, CopyContainsExactlyWhatTheWindowShows) {
  for (const auto& [from, to] : {std::pair<uint64_t, uint64_t>{250, 640}, {0, 300}, {900, 5000}, {130, 130}}) {
    trace::Reader reader(folder / "whole.kymo");
    reader.narrow({{recorder.id(), {kMonotonicZero + from, kMonotonicZero + to}}});
    const trace::Reader copy = copy_of(reader);
    EXPECT_EQ(csv_of(copy), csv_of(reader)) << from << " to " << to;
    const auto& before = reader.writers().at(recorder.id());
    const auto& after = copy.writers().at(recorder.id());
    EXPECT_EQ(after.losses, before.losses);
    EXPECT_EQ(after.ending, before.ending);
    EXPECT_EQ(after.origin, before.origin);
    EXPECT_FALSE(after.window);
  }
}

TEST_F(CopyTest, UnreadableChunkIsALossInTheCopy) {
  const std::string path = folder / "whole.kymo";
  const trace::EventChunk damaged = trace::Reader(path).event_chunks()[1];
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(damaged.offset + damaged.length - 8));
  file.write("damaged!", 8);
  file.close();
  const trace::Reader copy = copy_of(trace::Reader(path));
  EXPECT_TRUE(copy.problems().empty());
  const auto& losses = copy.writers().at(recorder.id()).losses;
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[1].cause, trace::LossCause::DamagedRecord);
  EXPECT_EQ(losses[1].count, 1u);
}

TEST_F(CopyTest, TimesCountFromTheFirstEvent) {
  const trace::Reader reader(folder / "whole.kymo");
  const TraceTimes times(reader);
  EXPECT_EQ(times.length_ns(), 1107u - 50);
  EXPECT_EQ(times.between(0, 100).at(recorder.id()), (Window{kMonotonicZero + 50, kMonotonicZero + 150}));
  EXPECT_EQ(times.between(10, std::nullopt).at(recorder.id()), (Window{kMonotonicZero + 60, 0}));
}

class CopyTracksTest : public CopyTest {
 protected:
  CopyTracksTest() {
    TestRecorder more(path, 2, 200);
    more.add_class(1, "step");
    more.add_class(2, "request");
    more.add_class(3, "stack", "kymo.stack", {{"node", trace::FieldType::UInt}});
    more.add_thread(1, 21, "main");
    more.add_thread(2, 22, "worker");
    more.add_thread(3, 23, "idle");
    for (const uint32_t track : {1u, 2u}) more.complete(track, 100 * track, 100 * track + 50, 1);
    more.point(1, 110, PointKind::AsyncBegin, 2, 7);
    more.point(2, 210, PointKind::AsyncEnd, 2, 7);
    more.point(2, 220, PointKind::AsyncBegin, 2, 8);
    more.point(1, 230, PointKind::AsyncEnd, 2, 8);
    more.point(1, 235, PointKind::Allocation, 1, 0x70);
    more.point(2, 240, PointKind::Instant, 3, 0, {int64_t{16}});
    more.point(2, 245, PointKind::Instant, 1);
    more.complete(3, 400, 410, 1);
    for (auto track : {1u, 2u, 3u}) more.cut(track);
    for (const uint32_t track : {0u, 1u, 2u}) {
      const trace::Loss loss{trace::LossCause::RingFull, track, 5, 400, 420, ""};
      more.file().losses(more.id(), {&loss, 1});
      const trace::Cost cost{.track = track, .events = 10, .picoseconds_per_event = 1'000};
      more.file().costs(more.id(), {&cost, 1});
    }
    id = more.id();
    more.close();
  }

  std::string path = folder / "tracks.kymo";
  trace::WriterId id;
};

TEST_F(CopyTracksTest, OnlyTheChosenTracksAreCopied) {
  const trace::Reader copy = copy_of(trace::Reader(path), {"idle"});
  const trace::WriterInfo& writer = copy.writers().at(id);
  ASSERT_EQ(writer.tracks.size(), 1u);
  EXPECT_EQ(writer.tracks.begin()->second.name, "idle");
  ASSERT_EQ(copy.event_chunks().size(), 1u);
  EXPECT_EQ(copy.event_chunks()[0].range_count, 1u);
  ASSERT_EQ(writer.losses.size(), 1u);  // of the whole process
  EXPECT_EQ(writer.losses[0].track, 0u);
  EXPECT_EQ(writer.costs.size(), 1u);
}

TEST_F(CopyTracksTest, RangeAcrossThreadsKeepsItsEndAndStacksKeepTheirDescriptions) {
  const trace::Reader copy = copy_of(trace::Reader(path), {"main"});
  EXPECT_EQ(copy.writers().at(id).tracks.size(), 2u);
  std::string kinds;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : copy.event_chunks()) {
    copy.read(chunk, batch);
    EXPECT_EQ(batch.ranges.size(), chunk.track == 1 ? 1u : 0u);
    for (size_t i = 0; i < batch.points.size(); ++i)
      kinds += base::format("{}:{}:{} ", chunk.track, static_cast<int>(batch.points.kind[i]), batch.points.id[i]);
    if (chunk.track == 2) {
      EXPECT_EQ(batch.points.values.ints, std::vector<uint64_t>{16});
    }
  }
  EXPECT_EQ(kinds, "1:3:7 1:4:8 1:8:112 2:4:7 2:1:0 ");
}

TEST_F(CopyTracksTest, ProcessWithoutAChosenTrackIsNotCopied) {
  {
    TestRecorder other(path, 3, 300, trace::Writer::Mode::Append);
    other.add_class(1, "step");
    other.add_thread(1, 31, "elsewhere");
    other.complete(1, 0, 10, 1);
    other.close();
  }
  const trace::Reader copy = copy_of(trace::Reader(path), {"elsewhere"});
  EXPECT_EQ(copy.writers().size(), 1u);
  EXPECT_EQ(copy.writers().begin()->second.origin.pid, 300u);
}

TEST_F(CopyTracksTest, AllTracksByPatternAreTheWholeTrace) {
  const trace::Reader whole(path);
  EXPECT_EQ(csv_of(copy_of(whole, {"*"})), csv_of(whole));
}

}  // namespace
}  // namespace kymo::convert
