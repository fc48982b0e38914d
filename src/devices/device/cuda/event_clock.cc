#include "device/cuda/event_clock.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cuda/program.h"
#include "device/ptx/ptx.h"

namespace kymo::device::cuda {
namespace {

constexpr int64_t kBaseEveryNs = 100'000'000;
constexpr double kNearNs = 130e6;    // up to this distance from a base, the step of the float is 8 ns
constexpr size_t kMaxBases = 2048;   // three minutes of use: later times are less exact
constexpr double kFirstTicks = 1e9;  // so that an event just before the first base also has a time
constexpr int kReadings = 24;
constexpr double kTimerStepNs = 32;
constexpr int64_t kTimeoutNs = 300'000;
constexpr uint64_t kDriftOneIn = 20'000;  // 50 ppm: more than the drift between two quartz clocks

int64_t host_ns() { return static_cast<int64_t>(base::monotonic_ns()); }

}  // namespace

int64_t coarse_monotonic_ns() { return static_cast<int64_t>(base::clock_ns(CLOCK_MONOTONIC_COARSE)); }

EventClock::EventClock(const Context& context, CoarseClock coarse_clock)
    : context_(context), coarse_clock_(coarse_clock) {
  const Api& api = context_.api;
  int lowest = 0, highest = 0;
  check(api, api.stream_priorities(&lowest, &highest), "cuCtxGetStreamPriorityRange");
  check(api, api.stream_create(&stream_, CU_STREAM_NON_BLOCKING, highest), "cuStreamCreateWithPriority");
  check(api, api.event_create(&probe_, CU_EVENT_DEFAULT), "cuEventCreate");
  CUevent first = nullptr;
  check(api, api.event_create(&first, CU_EVENT_DEFAULT), "cuEventCreate");
  const int64_t before = host_ns();
  check(api, api.event_record(first, stream_), "cuEventRecord");
  check(api, api.event_synchronize(first), "cuEventSynchronize");
  const int64_t after = host_ns(), middle = before + (after - before) / 2;
  bases_.push_back({first, kFirstTicks});
  placed_ns_ = coarse_clock_();
  last_ = {static_cast<uint64_t>(kFirstTicks), static_cast<uint64_t>(middle),
           static_cast<uint64_t>(middle + static_cast<int64_t>(base::realtime_offset().ns)),
           static_cast<uint64_t>(after - before)};
}

EventClock::~EventClock() {
  const Api& api = context_.api;
  for (const Base& base : bases_) api.event_destroy(base.event);
  if (pending_ != nullptr) api.event_destroy(pending_);
  if (probe_ != nullptr) api.event_destroy(probe_);
  if (stream_ != nullptr) api.stream_destroy(stream_);
}

double EventClock::elapsed(CUevent from, CUevent to) const {
  float milliseconds = 0;
  check(context_.api, context_.api.event_elapsed(&milliseconds, from, to), "cuEventElapsedTime");
  return double{milliseconds} * 1e6;
}

void EventClock::adopt_pending() {
  if (pending_ == nullptr) return;
  const CUresult result = context_.api.event_query(pending_);
  if (result == CUDA_ERROR_NOT_READY) return;
  check(context_.api, result, "cuEventQuery");
  // Whole nanoseconds: the fraction is noise from the resolution of the float, and the noise would add up.
  bases_.push_back({pending_, bases_.back().ticks + std::round(elapsed(bases_.back().event, pending_))});
  pending_ = nullptr;
}

// A new event, or the event of the oldest base if there are enough bases.
CUevent EventClock::unused_event() {
  CUevent event = nullptr;
  if (bases_.size() < kMaxBases) {
    check(context_.api, context_.api.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  } else {
    event = bases_.front().event;
    bases_.pop_front();
  }
  return event;
}

void EventClock::place(int64_t now_ns) {
  pending_ = unused_event();
  check(context_.api, context_.api.event_record(pending_, stream_), "cuEventRecord");
  placed_ns_ = now_ns;
}

void EventClock::tend() {
  const int64_t now_ns = coarse_clock_();
  const std::lock_guard lock(mutex_);
  if (now_ns - placed_ns_ < kBaseEveryNs) return;
  adopt_pending();
  if (pending_ == nullptr) place(now_ns);
}

double EventClock::ticks_from_nearest(CUevent event) const {
  const double ticks = bases_.back().ticks + elapsed(bases_.back().event, event);
  if (std::abs(ticks - bases_.back().ticks) < kNearNs) return ticks;
  auto nearest =
      std::lower_bound(bases_.begin(), bases_.end(), ticks, [](const Base& base, double t) { return base.ticks < t; });
  if (nearest == bases_.end() || (nearest != bases_.begin() && ticks - (nearest - 1)->ticks < nearest->ticks - ticks))
    --nearest;
  return nearest->ticks + elapsed(nearest->event, event);
}

uint64_t EventClock::ticks_of(CUevent event) {
  const std::lock_guard lock(mutex_);
  adopt_pending();
  return static_cast<uint64_t>(std::llround(std::max(0.0, ticks_from_nearest(event))));
}

// Records the probe and waits for it a short time. False: the stream is delayed.
bool EventClock::probe(int64_t& before, int64_t& after) {
  const Api& api = context_.api;
  before = host_ns();
  const bool stale = probe_outstanding_;  // from an earlier reading that was abandoned
  if (!stale) check(api, api.event_record(probe_, stream_), "cuEventRecord");
  probe_outstanding_ = true;
  CUresult result;
  do {
    result = api.event_query(probe_);
    after = host_ns();
  } while (result == CUDA_ERROR_NOT_READY && !stale && after - before < kTimeoutNs);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(api, result, "cuEventQuery");
  probe_outstanding_ = false;
  return stale ? probe(before, after) : true;
}

base::ClockPair EventClock::carried_on() const {
  const auto since = static_cast<uint64_t>(host_ns()) - last_.monotonic_ns;
  base::ClockPair reading = last_;
  reading.ticks += since;
  reading.monotonic_ns += since;
  reading.realtime_ns += since;
  reading.error_ns += since / kDriftOneIn;
  return reading;
}

base::ClockPair EventClock::read() {
  const std::lock_guard lock(mutex_);
  const int64_t origin = host_ns();  // small numbers keep doubles exact
  // Each reading shows that the host's clock is ahead of the device's by at least `low` and at most `high`. All bounds
  // hold together, because the clocks do not drift in this short time.
  double low = -std::numeric_limits<double>::infinity(), high = -low, ticks = 0;
  for (int i = 0; i < kReadings; ++i) {
    int64_t before = 0, after = 0;
    if (!probe(before, after)) {
      if (i == 0) return carried_on();
      break;
    }
    adopt_pending();
    ticks = ticks_from_nearest(probe_);
    low = std::max(low, static_cast<double>(before - origin) - ticks);
    high = std::min(high, static_cast<double>(after - origin) - ticks);
    if (std::abs(ticks - bases_.back().ticks) > kNearNs) {  // after a pause: the next readings are measured from here
      bases_.push_back({probe_, ticks});
      placed_ns_ = coarse_clock_();
      probe_ = unused_event();
    }
  }
  const double ahead = (low + high) / 2;
  last_.ticks = static_cast<uint64_t>(std::llround(ticks));
  last_.monotonic_ns = static_cast<uint64_t>(origin + std::llround(static_cast<double>(last_.ticks) + ahead));
  last_.realtime_ns = static_cast<uint64_t>(static_cast<int64_t>(last_.monotonic_ns) +
                                            static_cast<int64_t>(base::realtime_offset().ns));
  last_.error_ns = static_cast<uint64_t>(std::ceil(std::abs(high - low) / 2 + kTimerStepNs));
  return last_;
}

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
