// The device work of a complete program: captured, inspected and replayed by the command.
#include <filesystem>

#include "kymo/device.h"
#include "support.h"

namespace kymo::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Programs use the first device that they can use. This looks for one that is not Vulkan on a CPU, because that may be
// a device that only a test program can use.
std::string some_device() {
  const char* found = getenv("OCL_ICD_FILENAMES");
  const std::string drivers = found != nullptr ? found : "";  // ocl-icd truncates it in the environment
  std::string name;
  for (const auto& backend : device::list_devices())
    if (backend.backend != "vulkan" && !backend.devices.empty() && name.empty()) name = backend.devices[0].name;
  if (!drivers.empty()) setenv("OCL_ICD_FILENAMES", drivers.c_str(), 1);
  return name;
}

class CaptureCommandTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
    if (device_.empty()) GTEST_SKIP() << "no device here";
  }
  // In the test's folder.
  Ending run_here(const Words& words, Environment environment = {}) {
    Words line = {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder()};
    line.insert(line.end(), words.begin(), words.end());
    environment.emplace_back("KYMO_DEVICE", device_);
    return run(line, {.environment = std::move(environment)});
  }
  Ending capture_denoise() { return run_here({program("kymo_denoise")}, {{"KYMO_CAPTURE_ENABLED", "1"}}); }

  const std::string device_ = some_device();
};

TEST_F(CaptureCommandTest, TheWorkOfAProgramIsReplayedBitForBit) {
  const Ending captured = capture_denoise();
  ASSERT_EQ(captured.code, 0) << captured.err;
  ASSERT_TRUE(fs::exists(file("0000-denoise.kycap/manifest.json")));

  const Ending info = run_here({program("kymo"), "info", "0000-denoise.kycap"});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr(device_));
  EXPECT_THAT(info.out, HasSubstr("shaders/0000.metal"));
  EXPECT_THAT(info.out, HasSubstr("diffuse"));

  const Ending replayed = run_here({program("kymo"), "replay", "0000-denoise.kycap", "--repeat", "3"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("35 calls on " + device_));
  EXPECT_THAT(replayed.out, HasSubstr("device time of a run: "));
  EXPECT_THAT(replayed.out, HasSubstr("results are the same: "));
  EXPECT_EQ(replayed.err, "");

  const Ending one = run_here({program("kymo"), "replay", "0000-denoise.kycap", "--kernel", "diffuse", "--no-verify"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("results were not compared"));
  const Ending json = run_here({program("kymo"), "replay", "0000-denoise.kycap", "--json"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"mismatches\": []"));
}

TEST_F(CaptureCommandTest, ASecondRunCapturesIntoItsOwnFolder) {
  for (int i = 0; i < 2; ++i) {
    const Ending captured = capture_denoise();
    ASSERT_EQ(captured.code, 0) << captured.err;
    EXPECT_EQ(captured.err, "");
  }
  EXPECT_TRUE(fs::exists(file("0000-denoise.kycap/manifest.json")));
  EXPECT_TRUE(fs::exists(file("0001-denoise.kycap/manifest.json")));
}

TEST_F(CaptureCommandTest, WithoutPermissionThereIsNoCapture) {
  ASSERT_EQ(run_here({program("kymo_denoise")}, {{"KYMO_CAPTURE_ENABLED", "0"}}).code, 0);
  EXPECT_FALSE(fs::exists(file("0000-denoise.kycap")));
}

}  // namespace
}  // namespace kymo::e2e
