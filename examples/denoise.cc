// Removes noise from a picture on the available accelerator, and prints the quality before and after.
//
// The host makes the picture and the device makes its noise. Thirty steps of diffusion that keeps edges (Perona and
// Malik) remove the noise. Every kernel, copy and allocation is in the trace without any code for it. The ranges are
// this program's own. Record it with
//   kymo record -o denoise.kymo -- kymo_denoise
// or, with KYMO_CAPTURE_ENABLED=1, capture its device work for `kymo replay 0000-denoise.kycap`.
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "kymo/annotate.h"
#include "kymo/device.h"
#include "kymo/profiler.h"

namespace {

using namespace kymo::device;

constexpr int64_t kWidth = 640, kHeight = 480;
constexpr int kSteps = 30;

// One step: each point moves towards its neighbours. The larger the difference, the less it moves.
const char* const kDiffuse = R"(#include <metal_stdlib>
using namespace metal;

kernel void diffuse(device const float* from, device float* to, constant int& width, constant int& height,
                    constant float& rate, constant float& edge, uint2 i [[thread_position_in_grid]]) {
  const int x = int(i.x), y = int(i.y);
  const auto at = [=](int u, int v) { return from[clamp(v, 0, height - 1) * width + clamp(u, 0, width - 1)]; };
  const float here = at(x, y);
  const auto pull = [=](float there) { return (there - here) / (1 + (there - here) * (there - here) / edge); };
  const float change = pull(at(x - 1, y)) + pull(at(x + 1, y)) + pull(at(x, y - 1)) + pull(at(x, y + 1));
  to[y * width + x] = here + rate * change;
}
)";

// Discs and squares, with values between 0 and 1.
std::vector<float> draw() {
  KYMO_RANGE("draw the picture");
  std::vector<float> picture(kWidth * kHeight);
  for (int64_t y = 0; y < kHeight; ++y)
    for (int64_t x = 0; x < kWidth; ++x) {
      const double disc = std::hypot(static_cast<double>(x % 160) - 80, static_cast<double>(y % 160) - 80);
      picture[static_cast<size_t>(y * kWidth + x)] = disc < 50 ? 0.9f : (x / 40 + y / 40) % 2 == 0 ? 0.4f : 0.1f;
    }
  return picture;
}

// In decibels. A higher value has less noise.
double quality(const std::vector<float>& picture, const std::vector<float>& ideal) {
  KYMO_RANGE("measure quality");
  double squares = 0;
  for (size_t i = 0; i < picture.size(); ++i) squares += std::pow(picture[i] - ideal[i], 2);
  return -10 * std::log10(squares / static_cast<double>(picture.size()));
}

}  // namespace

int main() try {
  kymo::set_thread_name("main");
  const std::vector<float> ideal = draw();
  std::optional<kymo::profiler::Capture> capture;
  if (kymo::profiler::is_capture_enabled()) capture.emplace("denoise");

  Tensor noise = empty({kHeight, kWidth}), picture = from_host(ideal, {kHeight, kWidth}),
         next = empty({kHeight, kWidth});
  manual_seed(7);
  normal(noise, 0, 0.1);
  std::vector<float> noisy = noise.to_host<float>();
  for (size_t i = 0; i < noisy.size(); ++i) noisy[i] += ideal[i];
  picture.copy_from<float>(noisy);

  const Kernel diffuse = compile_shader(kDiffuse)["diffuse"];
  const auto whole = kymo::device_range_start("denoise");
  for (int step = 0; step < kSteps; ++step) {
    KYMO_RANGE("step {}", step);
    diffuse.threads(kWidth, kHeight).group(16, 16)(picture, next, kWidth, kHeight, 0.2, 0.02);
    std::swap(picture, next);
  }
  kymo::device_range_end(whole);

  const std::vector<float> cleaned = picture.to_host<float>();
  if (capture) capture->close();
  std::printf("%s: %d steps on %lld x %lld points, from %.1f dB to %.1f dB\n", Device::current().description().c_str(),
              kSteps, static_cast<long long>(kWidth), static_cast<long long>(kHeight), quality(noisy, ideal),
              quality(cleaned, ideal));
  return 0;
} catch (const kymo::Error& error) {
  std::fprintf(stderr, "denoise: %s\n", error.what());
  return 1;
}
