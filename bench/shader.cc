// Metal kernels compared with the same kernels written by hand in the backend's own language, with the same math flags:
// a reduction in group memory, a tiled matrix product, a product of simdgroup matrices, a softmax with simdgroups. Also
// the cost of the translation.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "kymo/device.h"
#include "kymo/translate.h"
#include "measure.h"
#include "report.h"
#include "shader_kernels.h"

namespace {

using bench::kCuda;
using bench::kMetal;
using bench::kOpenCl;
using bench::median;
using bench::text;
using namespace kymo::device;
using Clock = std::chrono::steady_clock;

constexpr int64_t kColumns = 1024;  // of a row of the softmax

class ShaderBench {
 public:
  ShaderBench(const std::string& name, const char* by_hand, bool is_gpu)
      : name_(name), is_gpu_(is_gpu), metal_(compile_shader(kMetal)), by_hand_(compile_shader(by_hand)) {}

  void reduce() {
    const int64_t count = int64_t{1} << (is_gpu_ ? 26 : 20);
    const Tensor in = full({count}, 1), ours = zeros({count / 256}), theirs = zeros({count / 256});
    compare("reduce", "a reduction in group memory", true, ours, theirs,
            [&](const ShaderLibrary& library, const Tensor& out) {
              library["reduce"].threads(static_cast<uint64_t>(count)).group(256)(out, in);
            });
  }

  void product() {
    const int64_t n = is_gpu_ ? 2048 : 256;
    Tensor a = empty({n, n}), b = empty({n, n});
    uniform(a);
    uniform(b);
    const Tensor ours = zeros({n, n}), theirs = zeros({n, n});
    const auto size = static_cast<uint64_t>(n);
    compare("product", "a matrix product in tiles of 16 x 16", true, ours, theirs,
            [&](const ShaderLibrary& library, const Tensor& out) {
              library["product"].threads(size, size).group(16, 16)(out, a, b, static_cast<uint32_t>(n));
            });
  }

  void blocks() {
    const int64_t n = is_gpu_ ? 4096 : 256;  // of a GPU: many rounds of groups, so that the last one does not decide
    Tensor a = empty({n, n}), b = empty({n, n});
    uniform(a);
    uniform(b);
    const Tensor ours = zeros({n, n}), theirs = zeros({n, n});
    const auto size = static_cast<uint64_t>(n);
    compare("blocks", "a product of simdgroup matrices", is_cuda(), ours, theirs,
            [&](const ShaderLibrary& library, const Tensor& out) {
              library["blocks"].threads(size * 2, size / 64).group(128, 1)(out, a, b, static_cast<uint32_t>(n));
            });
  }

  void softmax() {
    const int64_t rows = is_gpu_ ? 65536 : 256;
    Tensor in = empty({rows, kColumns});
    uniform(in);
    const Tensor ours = zeros({rows, kColumns}), theirs = zeros({rows, kColumns});
    compare("softmax", "a softmax by simdgroups", is_cuda(), ours, theirs,
            [&](const ShaderLibrary& library, const Tensor& out) {
              library["softmax"]
                  .threads(static_cast<uint64_t>(rows) * 32)
                  .group(256)(out, in, static_cast<uint32_t>(kColumns));
            });
  }

 private:
  bool is_cuda() const { return is_gpu_ && name_.starts_with("cuda"); }

  static double milliseconds(const auto& launch) {
    Event begin(true), end(true);
    begin.record();
    launch();
    end.record();
    return begin.elapsed_time(end);
  }

  void compare(const char* id, const std::string& what, bool is_judged, const Tensor& ours, const Tensor& theirs,
               const auto& launch) {
    std::vector<double> ratios, mine, hand;
    for (int round = 0; round < (is_gpu_ ? 60 : 40); ++round) {
      hand.push_back(milliseconds([&] { launch(by_hand_, theirs); }));
      mine.push_back(milliseconds([&] { launch(metal_, ours); }));
      ratios.push_back(mine.back() / hand.back());
    }
    const auto a = ours.to_host<float>(), b = theirs.to_host<float>();
    const bool same = a == b;
    const double ratio = median(ratios), most = is_cuda() ? 1.02 : 1.05;
    bench::row((std::string("shader_") + id + "_" + name_).c_str(),
               what + ", Metal to by hand, on " + name_ + (same ? "" : " (results differ in rounding)"),
               text("%.2f x (%.3f ms, by hand %.3f ms)", ratio, median(mine), median(hand)),
               is_judged ? text("<= %.2f x", most).c_str() : "", ratio <= most);
  }

  std::string name_;
  bool is_gpu_;
  ShaderLibrary metal_, by_hand_;
};

// A typical source file of 200 lines.
std::string long_source() {
  std::string source = "#include <metal_stdlib>\nusing namespace metal;\n";
  for (int i = 0; i < 11; ++i) {
    const std::string n = std::to_string(i);
    source += "struct Parameters" + n +
              " {\n  float4 scale;\n  uint count;\n  float bias;\n};\n"
              "template <typename T> T curve" +
              n +
              "(T x, T a) {\n  return clamp(x * a + T(0.5), T(0), T(1));\n}\n"
              "kernel void work" +
              n + "(device float4* out, device const float4* in, constant Parameters" + n +
              "& p,\n"
              "                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n"
              "  if (i >= p.count) return;\n  float4 v = in[i] * p.scale;\n  for (uint k = 0; k < 4; ++k) {\n"
              "    v[k] = curve" +
              n +
              "<float>(v[k], p.bias + float(k));\n  }\n  const float s = dot(v, v);\n"
              "  out[i] = normalize(v) * sqrt(s);\n}\n";
  }
  return source;
}

// About 3,000 lines with 400 instances of kernel templates, as libraries of operations have them.
std::string large_source() {
  std::string source = "#include <metal_stdlib>\nusing namespace metal;\n";
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    source += "struct Operation" + n +
              " {\n  template <typename T>\n  T operator()(T a, T b) const {\n    const T sum = a + b;\n"
              "    const T product = a * b;\n    if (sum > product) {\n      return sum - T(" +
              n +
              ");\n    }\n    return max(product, T(1));\n  }\n};\n"
              "template <typename T, typename F>\nkernel void apply" +
              n +
              "(device T* out, device const T* a, device const T* b, constant uint& count,\n"
              "                   uint i [[thread_position_in_grid]]) {\n  if (i >= count) {\n    return;\n  }\n"
              "  F f;\n  T value = a[i];\n  for (uint k = 0; k < 4; ++k) {\n    value = f(value, b[i]);\n  }\n"
              "  out[i] = value;\n}\n";
    for (const char* type : {"float", "int", "uint", "half"}) {
      const std::string t = type;
      source += "template [[host_name(\"apply" + n + "_" + t + "\")]] kernel void apply" + n + "<" + t + ", Operation" +
                n + ">(\n    device " + t + "*, device const " + t + "*, device const " + t +
                "*, constant uint&, uint);\n";
    }
  }
  return source;
}

void front_end(const std::string& source, const char* id, double max_ms) {
  for (const auto target : {kymo::shader::Target::OpenCl, kymo::shader::Target::Cuda, kymo::shader::Target::Glsl}) {
    std::vector<double> ms;
    kymo::shader::Options options;
    options.target = target;
    for (int round = 0; round < 20; ++round) {
      const auto began = Clock::now();
      const auto translation = kymo::shader::translate(source, options);
      ms.push_back(std::chrono::duration<double>(Clock::now() - began).count() * 1e3);
      if (!translation.ok()) {
        std::fprintf(stderr, "bench_shader: %s\n", translation.log.c_str());
        std::exit(1);
      }
    }
    const std::string name(kymo::shader::target_name(target));
    const double typical = median(ms);
    bench::row((id + name).c_str(),
               text("translating %ld lines of Metal to %s",
                    static_cast<long>(std::count(source.begin(), source.end(), '\n')), name.c_str()),
               text("%.1f ms", typical), text("<= %.0f ms", max_ms).c_str(), typical <= max_ms);
  }
}

// One kernel of the large source: what ShaderLibrary["name"] needs of the translator.
void one_kernel() {
  const std::string source = large_source();
  kymo::shader::Options options;
  options.kernels = {"apply50_float"};
  std::vector<double> ms;
  for (int round = 0; round < 20; ++round) {
    const auto began = Clock::now();
    const auto translation = kymo::shader::translate(source, options);
    ms.push_back(std::chrono::duration<double>(Clock::now() - began).count() * 1e3);
    if (translation.kernels.size() != 1) std::exit(1);
  }
  bench::row("translate_one", "translating one of 400 kernels", text("%.1f ms", median(ms)), "<= 15 ms",
             median(ms) <= 15);
}

// The first use of one kernel of the large source on a device. A library file with the same kernels is compiled whole.
void first_use(const std::string& device, kymo::shader::Target target) {
  const std::string source = large_source();
  const auto seconds = [](const auto& work) {
    const auto began = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - began).count();
  };
  const auto text_of = [&](const std::string& all) { return all + "// " + device + "\n"; };
  const double one = seconds([&] { (void)compile_shader(text_of(source))["apply50_float"]; });
  kymo::shader::Options options;
  options.target = target;
  auto translation = kymo::shader::translate(source, options);
  kymo::shader::KernelLibrary library;
  library.parts.push_back({target, std::move(translation.text), std::move(translation.kernels)});
  const std::string bytes = kymo::shader::encode_library(library);
  const double all = seconds([&] { (void)load_metallib(std::as_bytes(std::span(bytes))); });
  bench::row(("compile_one_" + device).c_str(), "compiling one of 400 kernels, from Metal, on " + device,
             text("%.2f s (all of them %.1f s)", one, all), "", true);
}

// What the first launch costs more than later ones, for kernels and group sizes that no cache has. A driver for a
// processor compiles a kernel for each group size. In processor time too, because the machine may be busy.
void new_group_sizes(const std::string& device) {
  const std::string unique = "run" + std::to_string(Clock::now().time_since_epoch().count()) + "_";
  std::string source = kMetal;
  const std::string_view head = "kernel void ";
  for (size_t at = source.find(head); at != std::string::npos; at = source.find(head, at + 1))
    source.insert(at + head.size(), unique);
  const ShaderLibrary library = compile_shader(source);
  struct Cost {
    double elapsed, processor;  // ms
  };
  const auto once = [](const auto& launch) -> Cost {
    const auto began = Clock::now();
    const std::clock_t used = std::clock();
    launch();
    synchronize();
    return {std::chrono::duration<double>(Clock::now() - began).count() * 1e3,
            static_cast<double>(std::clock() - used) * 1e3 / CLOCKS_PER_SEC};
  };
  const auto first_time = [&](const auto& launch) -> Cost {
    const Cost first = once(launch), second = once(launch);
    return {first.elapsed - second.elapsed, first.processor - second.processor};
  };
  constexpr int64_t kRows = 24, kSize = 64;
  const Tensor in = zeros({kRows, kColumns}), out = zeros({kRows, kColumns});
  std::vector<double> elapsed, processor;
  for (const uint64_t group : {64, 96, 128, 192, 256, 384}) {
    const Cost cost = first_time([&] {
      library[unique + "softmax"].threads(kRows * 32).group(group)(out, in, static_cast<uint32_t>(kColumns));
    });
    elapsed.push_back(cost.elapsed);
    processor.push_back(cost.processor);
  }
  const Cost blocks = first_time([&] {
    library[unique + "blocks"].threads(kSize * 2, kSize / 64).group(128, 1)(out, in, in, static_cast<uint32_t>(kSize));
  });
  bench::row(("new_group_size_" + device).c_str(), "a new group size of a softmax by simdgroups, on " + device,
             text("%.0f ms (%.0f ms of processor time)", median(elapsed), median(processor)), "", true);
  bench::row(("first_blocks_" + device).c_str(), "the first launch of a product of simdgroup matrices, on " + device,
             text("%.0f ms (%.0f ms of processor time)", blocks.elapsed, blocks.processor), "", true);
}

// The largest resident size since it was reset, in MB; 0 if the kernel does not say.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

void memory() {
  const std::string source = large_source();
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = peak_memory();
  const auto translation = kymo::shader::translate(source);
  const double used = peak_memory() - before;
  bench::row("translate_memory", "memory to translate 3,202 lines, 400 kernels", text("%.0f MB", used), "<= 100 MB",
             translation.ok() && used <= 100);
}

}  // namespace

int main() try {
  setenv("KYMO_CACHE_DIR", "", 1);  // everything is compiled
  memory();                         // first: later translations reuse the memory of earlier ones
  front_end(long_source(), "translate_", 3);
  front_end(large_source(), "translate_large_", 60);
  one_kernel();
  for (const BackendReport& backend : list_devices()) {
    if (backend.devices.empty() || backend.backend == "vulkan") continue;
    const auto& device = backend.devices.front();
    const bool is_gpu =
        std::find(device.capabilities.begin(), device.capabilities.end(), "processor") == device.capabilities.end();
    set_device(Device(device.name));
    first_use(device.name, backend.backend == "cuda" ? kymo::shader::Target::Cuda : kymo::shader::Target::OpenCl);
    if (!is_gpu) new_group_sizes(device.name);
    ShaderBench bench(device.name, backend.backend == "cuda" ? kCuda : kOpenCl, is_gpu);
    bench.reduce();
    bench.product();
    bench.blocks();
    bench.softmax();
  }
  return 0;
} catch (const kymo::Error& error) {
  std::fprintf(stderr, "bench_shader: %s\n", error.what());
  return 1;
}
