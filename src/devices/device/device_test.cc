// The current device, its memory and its seeds, on every device; and what happens if there is no device.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "device/devices.h"
#include "device/language.h"
#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DeviceTest : public OnEveryDevice {};
KYMO_ON_EVERY_DEVICE(DeviceTest);

TEST(DeviceNameTest, NameIsABackendAndANumber) {
  EXPECT_EQ(DeviceName::parse("cuda:3").backend, "cuda");
  EXPECT_EQ(DeviceName::parse("cuda:3").index, 3);
  EXPECT_EQ(DeviceName::parse("vulkan").index, 0);
  for (const char* bad : {"", "cuda:", "cuda:-1", "cuda:1x", "metal:0", ":1", "cuda:99999999999", "opencl 0"})
    EXPECT_THROW(DeviceName::parse(bad), InvalidArgument) << bad;
}

// Each backend that is not available reports the reason in one line. The test is skipped, so the log shows the reasons.
TEST(BackendTest, MissingBackendReportsTheReason) {
  std::string absent;
  for (const BackendReport& report : list_devices()) {
    if (!report.devices.empty()) continue;
    EXPECT_THAT(report.absent, Not(IsEmpty())) << report.backend;
    EXPECT_EQ(report.absent.find('\n'), std::string::npos) << report.absent;
    EXPECT_THROW(Device(report.backend), NotAvailable);
    absent += (absent.empty() ? "" : "; ") + report.absent;
  }
  if (!absent.empty()) GTEST_SKIP() << "not tested here: " << absent;
}

TEST(LanguageTest, LanguageIsDetectedFromTheSource) {
  EXPECT_EQ(detect_language("__kernel void f() {}"), Language::OpenClC);
  EXPECT_EQ(detect_language("kernel void f(global float* x) {}"), Language::OpenClC);
  EXPECT_EQ(detect_language("extern \"C\" __global__ void f() {}"), Language::CudaCpp);
  EXPECT_EQ(detect_language("#version 450\nvoid main() {}"), Language::Glsl);
  EXPECT_EQ(detect_language(std::string_view("\x03\x02\x23\x07....", 8)), Language::SpirV);
  EXPECT_EQ(detect_language("kernel void full(device float* out, constant float& val, uint idx "
                            "[[thread_position_in_grid]]) { out[idx] = val; }"),
            Language::Metal);
  EXPECT_EQ(detect_language("// __global__ in a comment\n__kernel void f() {}"), Language::OpenClC);
  EXPECT_EQ(detect_language("// made by hand\n.version 8.0\n.target sm_90"), Language::CudaCpp);
  EXPECT_EQ(detect_language("int x;"), std::nullopt);
}

TEST(LanguageTest, MetalComesFirstIfTheDeviceCompilesAnotherTextLanguage) {
  DeviceInfo device;
  device.languages = {Language::SpirV};
  add_metal(device);
  EXPECT_THAT(device.languages, ElementsAre(Language::SpirV));
  EXPECT_EQ(native_language(device), std::nullopt);
  EXPECT_THROW(choose_language("int x;", device), InvalidArgument);
  device.languages = {Language::Glsl, Language::SpirV};
  add_metal(device);
  add_metal(device);
  EXPECT_THAT(device.languages, ElementsAre(Language::Metal, Language::Glsl, Language::SpirV));
  EXPECT_EQ(native_language(device), Language::Glsl);
  EXPECT_EQ(choose_language("int x;", device), Language::Metal);
  EXPECT_EQ(choose_language("#version 450\nvoid main() {}", device), Language::Glsl);
}

TEST_P(DeviceTest, CurrentDeviceIsAvailable) {
  EXPECT_TRUE(is_available());
  EXPECT_GE(device_count(), 1);
  EXPECT_EQ(Device::current().name(), GetParam());
  EXPECT_THAT(Device::current().description(), Not(IsEmpty()));
  EXPECT_THROW(Device(GetParam().substr(0, GetParam().find(':')) + ":77"), NotAvailable);
}

TEST_P(DeviceTest, NothingIsAllocatedAfterEverythingIsFreed) {
  empty_cache();
  ASSERT_EQ(current_allocated_memory(), 0u);
  const uint64_t driver = driver_allocated_memory();
  {
    const Tensor x = zeros({8 << 20});
    EXPECT_GE(current_allocated_memory(), uint64_t{32} << 20);
    EXPECT_GT(driver_allocated_memory(), driver);
    EXPECT_LE(memory_statistics().reserved, 2 * x.bytes());
    EXPECT_GE(memory_statistics().peak, uint64_t{32} << 20);
  }
  EXPECT_EQ(current_allocated_memory(), 0u);
  EXPECT_GE(memory_statistics().cached, uint64_t{32} << 20);
  const uint64_t before = driver_allocated_memory();
  empty_cache();
  EXPECT_LT(driver_allocated_memory(), before);
  EXPECT_EQ(memory_statistics().reserved, 0u);
  reset_peak_memory();
  EXPECT_EQ(memory_statistics().peak, 0u);
}

TEST_P(DeviceTest, AllocationWorksAgainAfterTheLimitWasReached) {
  empty_cache();
  const double fraction = 64.0 * (1 << 20) / static_cast<double>(recommended_max_memory());
  set_per_process_memory_fraction(fraction);
  {
    const Tensor kept = empty({10 << 20}, DType::U8);
    try {
      empty({100 << 20}, DType::U8);
      FAIL() << "the limit was not kept";
    } catch (const OutOfMemory& error) {
      EXPECT_GE(error.asked(), uint64_t{100} << 20);
      EXPECT_GE(error.in_use(), uint64_t{10} << 20);
      EXPECT_GT(error.limit(), 0u);
      EXPECT_THAT(error.what(), HasSubstr("set_per_process_memory_fraction"));
    }
    EXPECT_THAT(full({100}, 1).to_host<float>(), Each(1.0f));
  }
  set_per_process_memory_fraction(0.0);
  EXPECT_EQ(empty({100 << 20}, DType::U8).elements(), 100 << 20);
  set_per_process_memory_fraction(1.0);
}

template <class T>
concept IsFraction = requires(T value) {
  set_per_process_memory_fraction(value);
};
static_assert(IsFraction<float> && IsFraction<double> && !IsFraction<int> && !IsFraction<bool>);

TEST_P(DeviceTest, InvalidFractionIsRefused) {
  for (const double bad : {-0.1, 2.1, std::nan(""), double{INFINITY}})
    EXPECT_THROW(set_per_process_memory_fraction(bad), InvalidArgument);
  EXPECT_GT(recommended_max_memory(), 0u);
}

TEST_P(DeviceTest, RestoredGeneratorStateRepeatsTheNumbers) {
  manual_seed(999);
  Tensor a = empty({5}), b = empty({5}), c = empty({5});
  normal(a);
  manual_seed(999);
  normal(b);
  EXPECT_EQ(a.to_host<float>(), b.to_host<float>());
  const auto state = get_rng_state();
  EXPECT_EQ(state.size(), 44u);
  normal(b);
  EXPECT_NE(a.to_host<float>(), b.to_host<float>());
  set_rng_state(state);
  normal(c);
  EXPECT_EQ(b.to_host<float>(), c.to_host<float>());
  EXPECT_THROW(set_rng_state(std::span(state).first(43)), InvalidArgument);
  EXPECT_THROW(set_rng_state({}), InvalidArgument);
}

TEST_P(DeviceTest, SeedComesFromTheSystem) {
  EXPECT_NE(seed(), seed());
  manual_seed(-1);
  manual_seed(~uint64_t{0});
}

TEST_P(DeviceTest, OffsetAdvancesByOneBlockForFourNumbers) {
  const auto offset = [] {
    const auto state = get_rng_state();
    uint64_t value;
    memcpy(&value, state.data() + 36, sizeof value);
    return value;
  };
  manual_seed(230);
  Tensor x = empty({5});
  normal(x);
  normal(x);
  EXPECT_EQ(offset(), 4u);
  Tensor y = empty({1000});
  uniform(y);
  EXPECT_EQ(offset(), 254u);
  Tensor z = empty({5}, DType::I64);
  randint(z, 0, 10);
  EXPECT_EQ(offset(), 257u);
  Tensor nothing = empty({0});
  uniform(nothing);
  EXPECT_EQ(offset(), 257u);
}

TEST_P(DeviceTest, FreedMemoryWaitsForItsStreamBeforeAnotherStreamUsesIt) {
  empty_cache();
  const Kernel scale = compile(kScale)["scale"];
  const Stream one, two;
  for (int i = 0; i < 20; ++i) {
    {
      const StreamGuard guard(one);
      const Tensor x = full({4 << 20}, 1);
      for (int repeat = 0; repeat < 3; ++repeat) scale(x, 2);
    }
    const StreamGuard guard(two);
    const Tensor y = full({4 << 20}, 7);
    scale(y, 2);
    ASSERT_THAT(y.slice(0, 0, 1000).to_host<float>(), Each(14.0f));
    ASSERT_THAT(y.slice(0, -1000, 4 << 20).to_host<float>(), Each(14.0f));
  }
}

TEST_P(DeviceTest, ForkedChildGetsAClearError) {
  const Device here = Device::current();
  const Tensor kept = zeros({4});
  const Kernel kernel = compile(kScale)["scale"];
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int refused = 0;
    const auto expect_error = [&](auto&& call) {
      try {
        call();
      } catch (const Error& error) {
        refused += std::string(error.what()).find("forked") != std::string::npos ? 1 : 0;
      }
    };
    expect_error([] { zeros({4}); });
    expect_error([] { synchronize(); });
    expect_error([] { Device::current(); });
    expect_error([] { Event event; });
    expect_error([&] { Event other(false, here); });
    expect_error([&] { kernel(kept, 2); });
    expect_error([&] { kept.to_host<float>(); });
    expect_error([&] { compile_shader("x", {}, here); });
    expect_error([&] { HostBuffer buffer(64, here); });
    expect_error([&] { reset(here); });
    if (is_available()) refused = 0;
    _exit(refused);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 10);
  EXPECT_THAT(full({4}, 1).to_host<float>(), Each(1.0f));  // the parent can still use the device
}

}  // namespace
}  // namespace kymo::device::tests
