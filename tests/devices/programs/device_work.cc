// Work on a real device (KYMO_DEVICE): 40 kernels, 3 fills, 2 copies up, 1 down, on the default stream and another, two
// device ranges, 5 allocations. Prints host times around it. With "child", a forked child tries to use the device too.
// With "sessions FILE FILE", two sessions record half each.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kymo/device.h"
#include "kymo/session.h"

namespace {

using namespace kymo::device;

const char* source() {
  const std::string name = Device::current().name();
  if (name.starts_with("cuda"))
    return R"(extern "C" __global__ void scale(float* x, float f) { x[blockIdx.x * blockDim.x + threadIdx.x] *= f; })";
  if (name.starts_with("opencl"))
    return "__kernel void scale(__global float* x, float f) { x[get_global_id(0)] *= f; }";
  return R"(#version 450
#pragma kernel scale
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer X { float x[]; };
layout(push_constant) uniform P { float f; };
void scale() { x[gl_GlobalInvocationID.x] *= f; })";
}

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

constexpr int64_t kElements = 1 << 18;  // 1 MiB

void work(const Kernel& scale, const std::vector<float>& ones, int kernels) {
  const Tensor x = from_host(ones), y = zeros({kElements}), z = full({kElements}, 2);
  const auto outer = kymo::device_range_start("outer");
  for (int i = 0; i < kernels / 2; ++i) scale(x, 1.5);
  const auto inner = kymo::device_range_start("inner");
  kymo::device_range_end(outer);
  kymo::device_range_end(inner);

  const Stream side;
  const StreamGuard guard(side);
  const Tensor here = from_host(ones), filled = full({kElements}, 3);
  for (int i = 0; i < kernels / 2; ++i) scale(here, 0.5);
  here.to_host<float>();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<float> ones(kElements, 1.0f);
  const Kernel scale = compile_shader(source())["scale"];
  scale(from_host(std::vector<float>{1}), 1);  // so that the work of the driver at the first use is done
  synchronize();
  if (argc == 4 && strcmp(argv[1], "sessions") == 0) {
    for (int i = 2; i < 4; ++i) {
      kymo::Session session(argv[i]);
      work(scale, ones, 20);
      session.close();  // without a synchronize: pending work must be in the session
    }
    return 0;
  }
  const uint64_t begin = now();
  work(scale, ones, 40);
  synchronize();
  std::printf("%" PRIu64 " %" PRIu64 "\n", begin, now());
  if (argc == 2 && strcmp(argv[1], "child") == 0) {
    if (fork() == 0) {
      kymo::mark("in the child");
      try {
        scale(zeros({4}), 1);
      } catch (const kymo::Error&) {
        _exit(7);
      }
      _exit(0);
    }
    int status = 0;
    wait(&status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  return 0;
} catch (const kymo::NotAvailable& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 77;
}
