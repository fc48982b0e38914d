// The cost of the device runtime on the first device of each backend: memory, launches, random numbers, copies, and a
// compilation whose result is on disk. The driver's own calls run in the same rounds for comparison.
#include "kymo/device.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "device/raw_launch.h"
#include "measure.h"
#include "report.h"

namespace {

using bench::median;
using bench::text;
using namespace kymo::device;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

const char* source_for(const std::string& device) {
  if (device.starts_with("cuda"))
    return R"(extern "C" __global__ void scale(float* x, float f) { x[blockIdx.x * blockDim.x + threadIdx.x] *= f; })";
  if (device.starts_with("opencl"))
    return "__kernel void scale(__global float* x, float f) { x[get_global_id(0)] *= f; }";
  return R"(#version 450
#pragma kernel scale
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer X { float x[]; };
layout(push_constant) uniform P { float f; };
void scale() { x[gl_GlobalInvocationID.x] *= f; })";
}

// The rows of one device; their ids contain its name.
class DeviceBench {
 public:
  explicit DeviceBench(const std::string& name) : name_(name), on_(" on " + name) { set_device(Device(name)); }

  void memory() {
    constexpr int kBatch = 1000;
    for (const int64_t bytes : {int64_t{512}, int64_t{1} << 20, int64_t{64} << 20}) {
      { const Tensor warm = empty({bytes}, DType::U8); }
      std::vector<double> ns;
      for (int round = 0; round < 200; ++round) {
        const auto began = Clock::now();
        for (int i = 0; i < kBatch; ++i) empty({bytes}, DType::U8);
        ns.push_back(seconds_since(began) / kBatch * 1e9);
      }
      row("tensor_" + std::to_string(bytes),
          text("a tensor of %lld KiB, made and gone", static_cast<long long>(bytes >> 10)), text("%.0f ns", median(ns)),
          "", true);
    }
    empty_cache();
  }

  void launches(bench::RawLaunch* raw, double most) {
    constexpr int kBatch = 100;
    const ShaderLibrary library = compile_shader(source_for(name_));
    const Tensor x = zeros({16});
    const auto ours = [&] { library["scale"](x, 1.0f); };
    std::vector<double> ratios, our_ns, raw_ns;
    const auto time = [&](auto&& call, auto&& wait) {
      const auto began = Clock::now();
      for (int i = 0; i < kBatch; ++i) call();
      const double ns = seconds_since(began) / kBatch * 1e9;
      wait();
      return ns;
    };
    for (int round = 0; round < 300; ++round) {
      const double mine = time(ours, [] { synchronize(); });
      our_ns.push_back(mine);
      if (raw == nullptr) continue;
      const double theirs = time([&] { raw->launch(); }, [&] { raw->synchronize(); });
      raw_ns.push_back(theirs);
      ratios.push_back(mine / theirs);
    }
    if (raw == nullptr) return row("launch", "a launch of a small kernel", text("%.0f ns", median(our_ns)), "", true);
    const double ratio = median(ratios);
    row("launch", "a launch of a small kernel, to the driver's own call",
        text("%.2f x (%.0f ns, driver %.0f ns)", ratio, median(our_ns), median(raw_ns)), text("<= %.2f x", most),
        ratio <= most);
  }

  void random(int64_t count, double least_uniform, double least_normal) {
    Tensor x = empty({count});
    const auto rate = [&](auto&& fill) {
      double best = 0;
      for (int i = 0; i < 7; ++i) {
        Event begin(true), end(true);
        begin.record();
        fill();
        end.record();
        best = std::max(best, static_cast<double>(x.bytes()) / begin.elapsed_time(end) / 1e6);
      }
      return best;
    };
    const double plain = rate([&] { x.fill(1); });
    const double flat = rate([&] { uniform(x); });
    const double bell = rate([&] { normal(x); });
    const std::string numbers = text("2^%d", 63 - __builtin_clzll(static_cast<unsigned long long>(count)));
    row("fill", numbers + " float32, plain fill", text("%.4g GB/s", plain), "", true);
    row("uniform", numbers + " float32, uniform", text("%.4g GB/s", flat), goal(least_uniform), flat >= least_uniform);
    row("normal", numbers + " float32, normal", text("%.4g GB/s", bell), goal(least_normal), bell >= least_normal);
  }

  void upload(bench::RawLaunch* raw, size_t bytes) {
    HostBuffer host(bytes);
    std::memset(host.bytes().data(), 1, bytes);
    Tensor x = empty({static_cast<int64_t>(bytes)}, DType::U8);
    double best = 1e9;
    for (int i = 0; i < 7; ++i) {
      const auto began = Clock::now();
      x.copy_from_bytes(host.bytes());
      synchronize();
      best = std::min(best, seconds_since(began));
    }
    const double ours = static_cast<double>(bytes) / best / 1e9;
    const std::string what = text("host to device, page-locked, %zu MiB", bytes >> 20);
    if (raw == nullptr) return row("upload", what, text("%.1f GB/s", ours), "", true);
    const double theirs = static_cast<double>(bytes) / raw->upload_seconds(bytes) / 1e9;
    row("upload", what + ", to the driver's own",
        text("%.2f x (%.1f GB/s, driver %.1f GB/s)", ours / theirs, ours, theirs), ">= 0.98 x", ours / theirs >= 0.98);
  }

  // In separate processes: the first one compiles, the second one finds the result on disk. The time is taken in the
  // process, after the device is open.
  void compiling(const char* program) {
    char folder[] = "/tmp/kymo-bench-XXXXXX";
    if (mkdtemp(folder) == nullptr) return;
    const std::string command =
        "KYMO_CACHE_DIR=" + std::string(folder) + " KYMO_DEVICE=" + name_ + " '" + program + "' --compile-once";
    const auto run = [&] {
      double ms = -1;
      FILE* pipe = popen(command.c_str(), "r");
      if (pipe == nullptr || fscanf(pipe, "%lf", &ms) != 1) ms = -1;
      if (pipe != nullptr) pclose(pipe);
      return ms;
    };
    const double first = run();
    std::vector<double> later;
    for (int i = 0; i < 5; ++i) later.push_back(run());
    row("compile", "compile_shader, the first time and in a later process",
        text("%.1f ms, then %.2f ms", first, median(later)), "", true);
    std::filesystem::remove_all(folder);
  }

 private:
  static std::string goal(double least) { return least > 0 ? text(">= %.0f GB/s", least) : ""; }
  void row(const std::string& id, const std::string& what, const std::string& measured, const std::string& target,
           bool met) {
    bench::row((id + "_" + name_).c_str(), what + on_, measured, target, met);
  }
  std::string name_, on_;
};

void compile_once() {
  const std::string name = Device::current().name();
  synchronize();
  const auto began = Clock::now();
  compile_shader(source_for(name))["scale"];
  std::printf("%.4f\n", seconds_since(began) * 1e3);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::strcmp(argv[1], "--compile-once") == 0) return compile_once(), 0;
  for (const BackendReport& backend : list_devices()) {
    if (backend.devices.empty()) {
      bench::missing(backend.backend.c_str(), backend.absent.c_str());
      continue;
    }
    const auto& device = backend.devices.front();
    const bool is_gpu =
        std::find(device.capabilities.begin(), device.capabilities.end(), "processor") == device.capabilities.end();
    const bool is_cuda = backend.backend == "cuda";
    const auto raw = is_cuda ? bench::raw_cuda() : backend.backend == "opencl" ? bench::raw_opencl() : nullptr;
    DeviceBench bench(device.name);
    bench.memory();
    bench.launches(raw.get(), is_gpu ? 1.05 : 1.15);
    bench.random(int64_t{1} << (is_gpu ? 30 : 22), is_cuda ? 3800 : 0, is_cuda ? 3300 : 0);
    bench.upload(raw.get(), size_t{1} << (is_gpu ? 30 : 28));
    bench.compiling(argv[0]);
  }
  return 0;
} catch (const kymo::Error& error) {
  std::fprintf(stderr, "bench_device: %s\n", error.what());
  return 1;
}
