// Captures of kymo/profiler.h: what starts one, what is refused, and what a program notices.
#include <sys/wait.h>

#include "base/text.h"
#include "capture/replay/reader.h"
#include "capture/replay/test_folder.h"
#include "device/test_device.h"
#include "kymo/device.h"
#include "kymo/profiler.h"

namespace kymo::capture::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class CaptureTest : public InFolder, public ::testing::Test {
 protected:
  CaptureTest() { setenv("KYMO_CAPTURE_ENABLED", "1", 1); }
  ~CaptureTest() override {
    unsetenv("KYMO_CAPTURE_ENABLED");
    unsetenv("MTL_CAPTURE_ENABLED");
  }
  static std::vector<std::string> folders() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(".")) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(CaptureTest, EitherVariableEnablesCaptures) {
  for (const char* name : {"KYMO_CAPTURE_ENABLED", "MTL_CAPTURE_ENABLED"}) {
    unsetenv("KYMO_CAPTURE_ENABLED");
    for (const char* no : {"", "0"}) {
      setenv(name, no, 1);
      EXPECT_FALSE(profiler::is_capture_enabled());
      EXPECT_FALSE(profiler::is_metal_capture_enabled());
    }
    setenv(name, "1", 1);
    EXPECT_TRUE(profiler::is_capture_enabled());
    unsetenv(name);
  }
  EXPECT_THAT(error_of([] { profiler::start_capture("a"); }),
              MatchesRegex("cannot capture into [0-9]+-a.kycap: capturing is not enabled.*KYMO_CAPTURE_ENABLED=1.*"));
  EXPECT_FALSE(profiler::is_capturing());
  EXPECT_TRUE(folders().empty());
}

TEST_F(CaptureTest, FailedCapturesAlsoUseAFolderNumber) {
  const auto number = [] { return std::stoi(folders().back()); };
  profiler::start_capture("a");
  profiler::stop_capture();
  const int first = number();
  EXPECT_EQ(folders().back().size(), std::string("0000-a.kycap").size());
  for (const char* bad : {"a/b", "", "a\nb"}) EXPECT_THROW(profiler::start_capture(bad), Error);
  EXPECT_THROW(profiler::start_capture(std::string(300, 'x')), Error);
  profiler::start_capture("b");
  profiler::stop_capture();
  EXPECT_EQ(number(), first + 5);
}

TEST_F(CaptureTest, NumbersOfExistingFoldersAreSkipped) {
  profiler::start_capture("a");
  profiler::stop_capture();
  const int first = std::stoi(profiler::capture_folder());
  const auto name = [&](int more) { return base::format("{:04}-a.kycap", first + more); };
  EXPECT_EQ(profiler::capture_folder(), name(0));
  fs::create_directory(name(1));
  write_file(name(2), "a file");
  fs::create_symlink("nowhere", name(3));
  profiler::start_capture("a");
  EXPECT_EQ(profiler::capture_folder(), name(4));
  profiler::stop_capture();
  EXPECT_EQ(CaptureFile(name(4)).manifest().calls, 0u);
  EXPECT_TRUE(fs::is_empty(name(1)));
  profiler::start_capture("a");
  EXPECT_EQ(profiler::capture_folder(), name(5));
  profiler::stop_capture();
}

TEST_F(CaptureTest, SecondCaptureAtTheSameTimeIsRefused) {
  profiler::Capture outer("outer");
  EXPECT_TRUE(profiler::is_capturing());
  EXPECT_TRUE(profiler::is_capturing_metal());
  EXPECT_THAT(error_of([] { profiler::Capture inner("inner"); }), HasSubstr("-outer.kycap"));
  EXPECT_TRUE(profiler::is_capturing());
  outer.close();
  EXPECT_FALSE(profiler::is_capturing());
  outer.close();
  profiler::stop_capture();
  const auto names = folders();
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(CaptureFile(names[0]).manifest().calls, 0u);
}

TEST_F(CaptureTest, GuardEndsTheCaptureOnAnException) {
  try {
    profiler::metal_capture capture("thrown");
    throw std::runtime_error("out of here");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(profiler::is_capturing());
  ASSERT_EQ(folders().size(), 1u);
  EXPECT_EQ(CaptureFile(folders()[0]).manifest().name, "thrown");
}

TEST_F(CaptureTest, ErrorNamesAFolderThatCannotBeCreated) {
  fs::create_directory("gone");
  fs::current_path("gone");
  fs::remove(folder_ / "gone");
  EXPECT_THAT(error_of([] { profiler::start_capture("a"); }), HasSubstr("-a.kycap: it cannot be made: No such file"));
  fs::current_path(folder_);
}

// A child of fork() does not capture, and does not disturb the capture of its parent.
TEST_F(CaptureTest, ForkedChildCapturesNothing) {
  profiler::start_capture("parent");
  const pid_t child = fork();
  if (child == 0) {
    const bool capturing = profiler::is_capturing();
    profiler::stop_capture();
    bool can_begin = true;
    try {
      profiler::start_capture("child");
      profiler::stop_capture();
    } catch (...) {
      can_begin = false;
    }
    _exit(capturing ? 1 : can_begin ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(profiler::is_capturing());
  profiler::stop_capture();
  EXPECT_EQ(CaptureFile(base::format("{}", folders().front())).manifest().name, "parent");
}

}  // namespace
}  // namespace kymo::capture::tests
