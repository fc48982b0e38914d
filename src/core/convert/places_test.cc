#include "convert/places.h"

#include <gtest/gtest.h>

#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class PlacesTest : public ::testing::Test {
 protected:
  const Place& place(const Places& places, uint8_t writer, uint32_t track) {
    trace::WriterId id;
    id.bytes.fill(writer);
    return *places.find(id, track);
  }
  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(PlacesTest, ThreadsKeepTheirSystemIds) {
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "main");
  recorder.add_thread(2, 102, "");
  recorder.close();
  trace::Reader reader(path);
  Places places(reader);
  EXPECT_EQ(place(places, 1, 1).group->pid, 100u);
  EXPECT_EQ(place(places, 1, 1).group->name, "train");
  EXPECT_EQ(place(places, 1, 1).tid, 101u);
  EXPECT_EQ(place(places, 1, 1).name, "main");
  EXPECT_EQ(place(places, 1, 2).name, "thread 102");
  EXPECT_EQ(places.find(trace::WriterId{}, 1), nullptr);
}

TEST_F(PlacesTest, DuplicateThreadIdGetsItsOwnRow) {
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "first");
  recorder.add_thread(2, 101, "second");
  recorder.close();
  trace::Reader reader(path);
  Places places(reader);
  EXPECT_EQ(place(places, 1, 1).tid, 101u);
  EXPECT_NE(place(places, 1, 2).tid, 101u);
}

TEST_F(PlacesTest, ThreadIsTheSameBeforeAndAfterExec) {
  for (uint8_t writer : {1, 2}) {
    TestRecorder recorder(path, writer, 100, writer == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append);
    recorder.add_thread(1, 101, "main");
    recorder.close();
  }
  trace::Reader reader(path);
  Places places(reader);
  EXPECT_EQ(places.groups().size(), 1u);
  EXPECT_EQ(place(places, 1, 1).tid, place(places, 2, 1).tid);
}

TEST_F(PlacesTest, QueuesOfTwoProcessesShareTheirDevice) {
  for (uint8_t writer : {1, 2}) {
    TestRecorder recorder(path, writer, 100u + writer,
                          writer == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append);
    recorder.add_queue(1, "GPU-a", "", 7);
    recorder.close();
  }
  trace::Reader reader(path);
  Places places(reader);
  const Place &first = place(places, 1, 1), &second = place(places, 2, 1);
  EXPECT_EQ(first.group, second.group);
  EXPECT_EQ(first.group->label, "GPU 0");
  EXPECT_EQ(first.group->pid, 0u);
  EXPECT_EQ(first.tid, 7u);
  EXPECT_NE(second.tid, 7u);
}

TEST_F(PlacesTest, DeviceDoesNotTakeTheNumberOfAProcess) {
  TestRecorder recorder(path, 1, 0);
  recorder.add_thread(1, 1, "init");
  recorder.add_queue(2, "GPU-a", "");
  recorder.close();
  trace::Reader reader(path);
  Places places(reader);
  EXPECT_EQ(place(places, 1, 1).group->pid, 0u);
  EXPECT_NE(place(places, 1, 2).group->pid, 0u);
}

TEST_F(PlacesTest, LanesHaveTheirOwnRows) {
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "main");
  recorder.close();
  trace::Reader reader(path);
  Places places(reader);
  const Place& main = place(places, 1, 1);
  EXPECT_EQ(places.lane_tid(main, 0), 101u);
  const uint64_t first = places.lane_tid(main, 1), second = places.lane_tid(main, 2);
  EXPECT_NE(first, 101u);
  EXPECT_NE(first, second);
  EXPECT_EQ(places.lane_tid(main, 1), first);
  EXPECT_EQ(lane_name(main, 2), "main (lane 2)");
}

}  // namespace
}  // namespace kymo::convert
