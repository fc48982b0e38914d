#include "convert/places.h"

#include <gtest/gtest.h>

#include "kymo/error.h"
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

TEST_F(PlacesTest, ProcessIsNamedByTheLastProgramThatItRan) {
  TestRecorder shell(path, 1, 100, trace::Writer::Mode::Create, 0, "/bin/bash");
  shell.add_thread(1, 100, "bash");
  shell.close();
  TestRecorder program(path, 9, 100, trace::Writer::Mode::Append, 0, "/usr/bin/train", {}, 1'000);
  program.add_thread(1, 100, "train");
  program.close();
  const trace::Reader reader(path);
  const Places places(reader);
  ASSERT_EQ(places.groups().size(), 1u);
  EXPECT_EQ(places.groups()[0].name, "train");
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

TEST(RowNumbersTest, SystemNumberIsKeptIfItIsFree) {
  RowNumbers numbers;
  EXPECT_EQ(numbers.claim(101), 101u);
  EXPECT_EQ(numbers.claim(0), 0u);
  EXPECT_EQ(numbers.claim(101), RowNumbers::kFirstInvented);
  EXPECT_EQ(numbers.claim(101), RowNumbers::kFirstInvented + 1);
}

TEST(RowNumbersTest, NumbersFitIntoSigned32Bits) {
  RowNumbers numbers;
  EXPECT_EQ(numbers.claim(RowNumbers::kLargest), 2'147'483'647u);
  EXPECT_EQ(numbers.claim(RowNumbers::kLargest + 1), RowNumbers::kFirstInvented);
  EXPECT_EQ(numbers.claim(UINT64_MAX), RowNumbers::kFirstInvented + 1);
}

TEST(RowNumbersTest, InventedNumbersSkipUsedOnes) {
  RowNumbers numbers;
  numbers.claim(RowNumbers::kFirstInvented);
  EXPECT_EQ(numbers.invent(), RowNumbers::kFirstInvented + 1);
}

TEST(RowNumbersTest, ClaimFromReturnsTheFirstFreeNumber) {
  RowNumbers numbers;
  numbers.claim(1);
  EXPECT_EQ(numbers.claim_from(0), 0u);
  EXPECT_EQ(numbers.claim_from(0), 2u);
}

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class TrackChoiceTest : public ::testing::Test {
 protected:
  TrackChoiceTest() {
    TestRecorder recorder(folder / "t.kymo");
    recorder.add_class(1, "load");
    recorder.add_thread(1, 10, "main");
    recorder.add_thread(2, 11, "worker 1");
    recorder.add_thread(3, 12, "");
    recorder.add_queue(4, "GPU-1", "compute");
    id = recorder.id();
    recorder.close();
  }
  std::vector<uint32_t> chosen(const std::vector<std::string>& patterns) {
    const TrackChoice choice(trace::Reader(folder / "t.kymo"), patterns);
    std::vector<uint32_t> tracks;
    for (uint32_t track = 1; track <= 4; ++track)
      if (choice.contains(id, track)) tracks.push_back(track);
    return tracks;
  }

  TemporaryFolder folder;
  trace::WriterId id;
};

using Tracks = std::vector<uint32_t>;

TEST_F(TrackChoiceTest, WithoutPatternsAllTracksAreChosen) { EXPECT_EQ(chosen({}), (Tracks{1, 2, 3, 4})); }

TEST_F(TrackChoiceTest, PatternDescribesTheNameOrTheNameWithItsProcess) {
  EXPECT_EQ(chosen({"main"}), Tracks{1});
  EXPECT_EQ(chosen({"w*"}), Tracks{2});
  EXPECT_EQ(chosen({"thread 12"}), Tracks{3});
  EXPECT_EQ(chosen({"train/*"}), (Tracks{1, 2, 3}));
  EXPECT_EQ(chosen({"train (100)/main"}), Tracks{1});
  EXPECT_EQ(chosen({"GPU 0*/compute"}), Tracks{4});
  EXPECT_EQ(chosen({"main", "compute"}), (Tracks{1, 4}));
}

TEST_F(TrackChoiceTest, PatternWithoutATrackIsAnErrorThatListsTheTracks) {
  try {
    chosen({"main", "mian"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(std::string(error.what()).find("is named")),
              "is named 'mian'; its tracks are 'GPU 0 (GPU-1)/compute', 'train/main', 'train/thread 12', "
              "'train/worker 1'");
  }
}

}  // namespace
}  // namespace kymo::convert
