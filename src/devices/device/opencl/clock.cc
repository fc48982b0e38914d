#include "device/opencl/clock.h"

#include <span>

#include "device/opencl/api.h"
#include "device/opencl/build.h"
#include "device/ptx/ptx.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

constexpr int kDecidingSamples = 6;
constexpr int kReadings = 8;
constexpr size_t kScratchBytes = 64;
constexpr uint64_t kTimerGrain = 2000;  // ns: how far a command's time may be outside two readings of the same timer

// A moment of the device between two moments of the host.
base::ClockPair reading_between(uint64_t ticks, uint64_t before, uint64_t after) {
  base::ClockPair reading;
  reading.ticks = ticks;
  reading.monotonic_ns = before + (after - before) / 2;
  reading.error_ns = (after - before) / 2 + 1;
  return reading;
}

void keep_better(base::ClockPair& best, const base::ClockPair& other) {
  if (best.error_ns == 0 || other.error_ns < best.error_ns) best = other;
}

// Adds the wall clock at the moment of a reading, from the current offset between the two host clocks.
void add_wall_clock(base::ClockPair& reading) {
  reading.realtime_ns = reading.monotonic_ns + base::realtime_offset().ns;
}

}  // namespace

DeviceClock::~DeviceClock() {
  if (scratch_ != nullptr) context_.cl.clSVMFree(context_.handle.get(), scratch_);
}

DeviceClock::Sample DeviceClock::run_command(clockid_t clock) {
  const Api& cl = context_.cl;
  if (!queue_) queue_ = context_.make_queue(true);
  if (scratch_ == nullptr) scratch_ = cl.clSVMAlloc(context_.handle.get(), CL_MEM_READ_WRITE, kScratchBytes, 0);
  if (scratch_ == nullptr) fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
  Sample sample;
  cl_event event = nullptr;
  const cl_uint pattern = 0;
  sample.before = base::clock_ns(clock);
  // A fill, not a marker: only a command that runs on the device has times of the device.
  check(cl.clEnqueueSVMMemFill(queue_.get(), scratch_, &pattern, sizeof pattern, sizeof pattern, 0, nullptr, &event),
        "clEnqueueSVMMemFill");
  const Event owned(event, cl.clReleaseEvent);
  check(cl.clWaitForEvents(1, &event), "clWaitForEvents");
  sample.after = base::clock_ns(clock);
  check(cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof sample.start, &sample.start, nullptr),
        "clGetEventProfilingInfo");
  check(cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof sample.end, &sample.end, nullptr),
        "clGetEventProfilingInfo");
  return sample;
}

bool DeviceClock::is_host_clock(clockid_t clock, int samples) {
  for (int i = 0; i < samples; ++i) {
    const Sample sample = run_command(clock);
    if (sample.start < sample.before || sample.end > sample.after || sample.start > sample.end) return false;
  }
  return true;
}

std::optional<uint64_t> DeviceClock::device_timer() const {
  cl_ulong device = 0, host = 0;
  if (context_.cl.clGetDeviceAndHostTimer == nullptr ||
      context_.cl.clGetDeviceAndHostTimer(context_.device.id, &device, &host) != CL_SUCCESS || device == 0)
    return std::nullopt;
  return device;
}

bool DeviceClock::device_timer_fits() {
  for (int i = 0; i < kDecidingSamples; ++i) {
    const auto before = device_timer();
    if (!before) return false;
    const Sample sample = run_command(CLOCK_MONOTONIC);
    const auto after = device_timer();
    if (!after || *after < *before) return false;
    if (sample.start + kTimerGrain < *before || sample.end > *after + kTimerGrain) return false;
  }
  return true;
}

void DeviceClock::decide() {
  run_command(CLOCK_MONOTONIC);  // the first command is slow
  if (context_.device.is_cpu) {
    for (const clockid_t clock : {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME}) {
      if (!is_host_clock(clock, kDecidingSamples)) continue;
      host_clock_ = clock;
      method_ = Method::HostClock;
      return;
    }
  }
  method_ = device_timer_fits() ? Method::DeviceTimer : Method::Bracket;
}

base::ClockPair DeviceClock::read_host_clock() const {
  base::ClockPair best;
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t before = base::monotonic_ns(), ticks = base::clock_ns(host_clock_), after = base::monotonic_ns();
    keep_better(best, reading_between(ticks, before, after));
  }
  return best;
}

std::optional<base::ClockPair> DeviceClock::read_device_timer() const {
  base::ClockPair best;
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t before = base::monotonic_ns();
    const auto ticks = device_timer();
    const uint64_t after = base::monotonic_ns();
    if (!ticks) return std::nullopt;
    keep_better(best, reading_between(*ticks, before, after));
  }
  return best;
}

base::ClockPair DeviceClock::read_bracket() {
  base::ClockPair best;
  for (int i = 0; i < kReadings; ++i) {
    const Sample sample = run_command(CLOCK_MONOTONIC);
    keep_better(best, reading_between(sample.start + (sample.end - sample.start) / 2, sample.before, sample.after));
  }
  return best;
}

base::ClockPair DeviceClock::read() {
  const std::lock_guard lock(mutex_);
  if (method_ == Method::HostClock && !is_host_clock(host_clock_, 1)) method_ = Method::Undecided;
  if (method_ == Method::Undecided) decide();
  std::optional<base::ClockPair> reading;
  if (method_ == Method::HostClock) reading = read_host_clock();
  if (method_ == Method::DeviceTimer) reading = read_device_timer();
  if (!reading) reading = read_bracket();
  add_wall_clock(*reading);
  return *reading;
}

void DeviceClock::forget() {
  const std::lock_guard lock(mutex_);
  queue_ = {};
  scratch_ = nullptr;
  method_ = Method::Undecided;
}

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
