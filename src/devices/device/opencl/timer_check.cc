#include "device/opencl/timer_check.h"

#include <span>

#include "device/opencl/build.h"
#include "device/opencl/error.h"
#include "device/ptx/timer_kernel.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

constexpr int kTrials = 8;
constexpr uint64_t kGrain = 2000;  // ns: steps of the timer on some devices, with room

// Memory for one time, freed at the end of the check.
class Place {
 public:
  explicit Place(const Context& context)
      : context_(context),
        address_(context.cl.clSVMAlloc(context.handle.get(), CL_MEM_READ_WRITE, sizeof(uint64_t), 0)) {
    if (address_ == nullptr) fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
  }
  ~Place() { context_.cl.clSVMFree(context_.handle.get(), address_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void* address() const { return address_; }

 private:
  const Context& context_;
  void* address_;
};

}  // namespace

bool TimerCheck::passes() {
  const std::lock_guard lock(mutex_);
  if (!passes_) {
    try {
      passes_ = run();
    } catch (const Error&) {
      passes_ = false;  // kernels are timed by the driver's events then
    }
  }
  return *passes_;
}

bool TimerCheck::run() const {
  const Api& cl = context_.cl;
  const BuiltProgram program = build_binary(context_, std::as_bytes(std::span(kTimerKernel)), "");
  if (!program) return false;
  cl_int code = CL_SUCCESS;
  const Handle<cl_kernel> kernel(cl.clCreateKernel(program.get(), kTimerKernelName, &code), cl.clReleaseKernel);
  check(code, "clCreateKernel");
  const Place place(context_);
  const CommandQueue queue = context_.make_queue(true);
  const auto address = reinterpret_cast<uint64_t>(place.address());
  check(cl.clSetKernelArg(kernel.get(), 0, sizeof address, &address), "clSetKernelArg");
  for (int i = 0; i < kTrials; ++i) {
    const uint64_t never = 0;
    check(cl.clEnqueueSVMMemFill(queue.get(), place.address(), &never, sizeof never, sizeof never, 0, nullptr, nullptr),
          "clEnqueueSVMMemFill");
    cl_event raw = nullptr;
    const size_t one = 1;
    check(cl.clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &one, &one, 0, nullptr, &raw),
          "clEnqueueNDRangeKernel");
    const Event event(raw, cl.clReleaseEvent);
    uint64_t timer = 0, start = 0, end = 0;
    check(cl.clEnqueueSVMMemcpy(queue.get(), CL_TRUE, &timer, place.address(), sizeof timer, 0, nullptr, nullptr),
          "clEnqueueSVMMemcpy");
    check(cl.clGetEventProfilingInfo(raw, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr),
          "clGetEventProfilingInfo");
    check(cl.clGetEventProfilingInfo(raw, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr),
          "clGetEventProfilingInfo");
    if (timer + kGrain < start || timer > end + kGrain) return false;
  }
  return true;
}

void TimerCheck::forget() {
  const std::lock_guard lock(mutex_);
  passes_.reset();
}

}  // namespace kymo::device::opencl
