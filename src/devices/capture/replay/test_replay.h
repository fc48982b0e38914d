// Shared by the tests that capture real work and replay it: kernels, and a capture of a function on each device.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "capture/replay/replay.h"
#include "capture/replay/test_folder.h"
#include "device/test_device.h"
#include "kymo/device.h"
#include "kymo/profiler.h"

namespace kymo::capture::tests {

using namespace kymo::device;
using device::tests::device_names;
using device::tests::test_name;

inline constexpr const char* kMetal = R"(
#include <metal_stdlib>
using namespace metal;
kernel void add(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] += by; }
kernel void blend(device const float* a, device const float* b, device float* to, constant float& t,
                  uint i [[thread_position_in_grid]]) { to[i] = a[i] + t * (b[i] - a[i]); }
kernel void weigh(device float* x, constant float* weights, constant uint& count,
                  uint i [[thread_position_in_grid]]) { x[i] = x[i] * weights[i % count]; }
struct Rows { device float* row[3]; };
kernel void sum_rows(constant Rows& rows, device float* to, uint i [[thread_position_in_grid]]) {
  to[i] = rows.row[0][i] + rows.row[1][i] + rows.row[2][i];
}
kernel void ignore(device float* x, device const float* unused, uint i [[thread_position_in_grid]]) { x[i] = 5; }
kernel void total(device const float* x, device float* to, uint i [[thread_position_in_threadgroup]],
                  uint n [[threads_per_threadgroup]]) {
  threadgroup float part[64];
  part[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i == 0) { float all = 0; for (uint k = 0; k < n; ++k) all += part[k]; to[0] = all; }
}
)";

class CaptureReplayTest : public InFolder, public device::tests::OnEveryDevice {
 protected:
  CaptureReplayTest() { setenv("KYMO_CAPTURE_ENABLED", "1", 1); }

  template <class Work>
  std::string captured(Work&& work) {
    profiler::Capture capture("test");
    work();
    capture.close();
    std::string last;
    for (const auto& entry : fs::directory_iterator(".")) last = std::max(last, entry.path().filename().string());
    return last;
  }

  // Replays on each device of this machine. All results must be equal bit for bit.
  static void expect_the_same_everywhere(const std::string& folder) {
    const CaptureFile capture(folder);
    EXPECT_EQ(capture.manifest().problem, "");
    for (const std::string& name : device_names()) {
      ReplayOptions options;
      options.device = name;
      const ReplayReport report = replay(capture, options);
      EXPECT_TRUE(report.verified);
      EXPECT_GT(report.buffers_compared, 0u);
      EXPECT_EQ(report.buffers_unknown, 0u);
      for (const Mismatch& mismatch : report.mismatches) {
        ADD_FAILURE() << "on " << name << ": buffer " << mismatch.buffer << " element " << mismatch.element << " is "
                      << mismatch.now << " and was " << mismatch.then;
      }
    }
  }
};

inline std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = 0.25f * static_cast<float>(i);
  return values;
}

}  // namespace kymo::capture::tests
