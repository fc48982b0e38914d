// The cost of watching a device: a loop of small launches with and without the profiler, and with a trace in addition.
// On GPUs also of larger launches. In rounds, one after the other, on every available device.
#include "kymo/profiler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kymo/device.h"
#include "kymo/session.h"
#include "measure.h"
#include "report.h"

namespace {

using bench::median;
using bench::text;
using namespace kymo::device;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 25, kLaunches = 800;  // fewer than the max number of pending launches of a driver
constexpr int kLargeLaunches = 100;

double loop(const Kernel& kernel, const Tensor& x, const Stream& stream, int launches) {
  const auto began = Clock::now();
  for (int i = 0; i < launches; ++i) kernel(x);
  stream.synchronize();
  return std::chrono::duration<double, std::nano>(Clock::now() - began).count() / launches;
}

struct Compared {
  double plain, watched, ratio;
};

// Alternately, because machines are shared.
Compared compare(const std::function<double()>& once, const std::function<void()>& on,
                 const std::function<void()>& off) {
  std::vector<double> plain, watched, ratios;
  for (int i = 0; i < kRounds; ++i) {
    plain.push_back(once());
    on();
    watched.push_back(once());
    off();
    ratios.push_back(watched.back() / plain.back());
  }
  return {median(plain), median(watched), median(ratios)};
}

void report(const std::string& id, const std::string& what, const Compared& cost, double target) {
  bench::row(id.c_str(), what, text("%.2f x (%.0f ns a launch, else %.0f ns)", cost.ratio, cost.watched, cost.plain),
             target > 0 ? text("<= %.2f x", target) : "", cost.ratio <= target);
}

const char* const kSource = R"(
kernel void step_up(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
)";

// The times of large launches are measured in other ways than those of small ones.
void measure_large(const std::string& device, const Kernel& kernel, const Stream& stream) {
  for (const int million : {1, 4, 8, 32}) {
    const Tensor x = zeros({int64_t{million} << 20});
    const auto once = [&] { return loop(kernel, x, stream, kLargeLaunches); };
    once();
    report("profiler_" + text("%dm_", million) + device, text("..., launches of %d x 2^20 threads", million),
           compare(
               once, [] { kymo::profiler::start("interval"); }, [] { kymo::profiler::stop(); }),
           0);
  }
}

void measure(const std::string& device, bool is_gpu) {
  const Tensor x = zeros({256});
  const ShaderLibrary library = compile_shader(kSource);
  const Kernel kernel = library["step_up"];
  const Stream stream = current_stream();
  const auto once = [&] { return loop(kernel, x, stream, kLaunches); };
  for (int i = 0; i < 5; ++i) once();

  const auto stop = [] { kymo::profiler::stop(); };
  const double target = is_gpu ? 1.10 : 1.15;
  report("profiler_" + device, "small launches with interval tracing, to without, on " + device,
         compare(
             once, [] { kymo::profiler::start("interval"); }, stop),
         target);
  report("profiler_wait_" + device, "..., each waited for",
         compare(
             once, [] { kymo::profiler::start("interval", true); }, stop),
         0);
  const std::string path = (std::filesystem::temp_directory_path() / "kymo-bench-profiler.kymo").string();
  {
    std::unique_ptr<kymo::Session> session;
    report("traced_" + device, "..., and into a trace",
           compare(
               once,
               [&] {
                 session = std::make_unique<kymo::Session>(path);
                 kymo::profiler::start("interval");
               },
               [&] {
                 kymo::profiler::stop();
                 session.reset();
               }),
           is_gpu ? 1.10 : 0);
  }
  std::filesystem::remove(path);
  if (is_gpu) measure_large(device, kernel, stream);
}

}  // namespace

int main() try {
  for (const BackendReport& backend : list_devices()) {
    if (backend.devices.empty()) continue;
    const auto& device = backend.devices.front();
    const bool is_gpu =
        std::find(device.capabilities.begin(), device.capabilities.end(), "processor") == device.capabilities.end();
    set_device(Device(device.name));
    measure(device.name, is_gpu);
  }
  return 0;
} catch (const kymo::Error& error) {
  std::fprintf(stderr, "bench_profiler: %s\n", error.what());
  return 1;
}
