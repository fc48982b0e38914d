#include "convert/copy.h"

#include <gtest/gtest.h>

#include <fstream>

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
  trace::Reader copy_of(const trace::Reader& reader) {
    trace::Writer writer(folder / "copy.kymo", trace::Writer::Mode::Create);
    copy_trace(reader, writer);
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

}  // namespace
}  // namespace kymo::convert
