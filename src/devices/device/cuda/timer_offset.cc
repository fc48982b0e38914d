#include "device/cuda/timer_offset.h"

#include <algorithm>

#include "device/cuda/program.h"
#include "device/ptx/timer_kernel.h"

namespace kymo::device::cuda {
namespace {

constexpr int kTrials = 16;

// The resources for the measurement, freed at its end.
struct Bench {
  explicit Bench(const Api& driver) : api(driver) {}
  ~Bench() {
    if (event != nullptr) api.event_destroy(event);
    if (stream != nullptr) api.stream_destroy(stream);
    if (module != nullptr) api.module_unload(module);
    if (memory != 0) api.memory_free(memory);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const Api& api;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
};

}  // namespace

std::optional<int64_t> TimerOffset::get() {
  const std::lock_guard lock(mutex_);
  if (!tried_) {
    tried_ = true;
    try {
      offset_ = measure();
    } catch (const Error&) {
      offset_.reset();  // kernels are timed by events then
    }
  }
  return offset_;
}

std::optional<int64_t> TimerOffset::measure() {
  const Api& api = context_.api;
  Bench bench(api);
  const std::vector<std::byte> code = assemble(context_, kTimerKernel, "timer");
  CUfunction kernel = nullptr;
  check(api, api.module_load(&bench.module, code.data()), "cuModuleLoadData");
  check(api, api.module_function(&kernel, bench.module, kTimerKernelName), "cuModuleGetFunction");
  check(api, api.stream_create(&bench.stream, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreateWithPriority");
  check(api, api.memory_allocate(&bench.memory, sizeof(uint64_t)), "cuMemAlloc");
  check(api, api.event_create(&bench.event, CU_EVENT_DEFAULT), "cuEventCreate");
  void* parameters[] = {&bench.memory};
  std::optional<int64_t> offset;
  for (int i = 0; i < kTrials; ++i) {
    clock_.tend();
    check(api, api.launch(kernel, 1, 1, 1, 1, 1, 1, 0, bench.stream, parameters, nullptr), "cuLaunchKernel");
    check(api, api.event_record(bench.event, bench.stream), "cuEventRecord");
    check(api, api.stream_synchronize(bench.stream), "cuStreamSynchronize");
    uint64_t timer = 0;
    check(api, api.copy_to_host(&timer, bench.memory, sizeof timer, bench.stream), "cuMemcpyDtoHAsync");
    check(api, api.stream_synchronize(bench.stream), "cuStreamSynchronize");
    const auto ahead = static_cast<int64_t>(timer - clock_.ticks_of(bench.event));
    offset = std::max(offset.value_or(ahead), ahead);
  }
  return offset;
}

}  // namespace kymo::device::cuda
