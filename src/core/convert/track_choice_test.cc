#include "convert/track_choice.h"

#include <gtest/gtest.h>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

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
