// The example for authors of engines: it runs, its results are correct, and the trace has what it reported.
#include "kymo/device.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EngineTest : public EndToEnd {
 protected:
  // A device that a plain program can use. Vulkan on a CPU may be a device that only a test program can use.
  static std::string some_device() {
    for (const auto& backend : device::list_devices())
      if (backend.backend != "vulkan" && !backend.devices.empty()) return backend.devices[0].name;
    return "";
  }
};

TEST_F(EngineTest, TheExampleProfilesItself) {
  const char* found = getenv("OCL_ICD_FILENAMES");
  const std::string drivers = found != nullptr ? found : "";  // ocl-icd truncates it in the environment
  const std::string device = some_device();
  if (!drivers.empty()) setenv("OCL_ICD_FILENAMES", drivers.c_str(), 1);
  if (device.empty()) GTEST_SKIP() << "no device here";
  const Ending ending = run({program("kymo_engine"), file("engine.json"), device});
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(ending.out,
              AllOf(HasSubstr("matmul"), HasSubstr("top(Perceptron)::<unknown>.layer1(Linear)::forward.matmul"),
                    HasSubstr("5 passes")));
  EXPECT_EQ(ending.err, "");
  const std::string trace = contents_of(file("engine.json"));
  EXPECT_THAT(trace, AllOf(HasSubstr("\"traceEvents\""), HasSubstr("\"kernel\""), HasSubstr("Memcpy DtoH"),
                           HasSubstr("[memory]"), HasSubstr("perceptron.model(1): matmul")));
}

}  // namespace
}  // namespace kymo::e2e
