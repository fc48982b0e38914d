#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "counters/events.h"
#include "edge/build.h"
#include "edge/device_watcher.h"
#include "edge/log.h"
#include "edge/output.h"
#include "kymo/device.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"

namespace kymo {

// ---- The overhead of counting ---------------------------------------------------------------------------------------

namespace edge {
namespace {

constexpr uint32_t kRounds = 8, kInside = 16;

// An operation with kInside empty ones. Nobody else receives them.
void record_round(Log& log) {
  const OperationFacts facts{.name = "overhead", .already_recorded = true};
  OpenOperation* const outer = begin(log, facts, nullptr);
  for (uint32_t i = 0; i < kInside; ++i) end(log, begin(log, facts, nullptr));
  end(log, outer);
}

// The least of all rounds: more than that was caused by something else.
CountOverhead least_of(const ThreadLog& log, size_t events) {
  CountOverhead overhead;
  if (log.counts.size() != kRounds * (kInside + 1)) return overhead;  // not counted
  for (size_t event = 0; event < events; ++event) {
    const auto counted = [&](uint32_t at) {
      return counters::difference(log.counts[at].begin, log.counts[at].end, event);
    };
    double own = counted(1).value, least_outer = counted(0).value;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const uint32_t outer = round * (kInside + 1);
      double inside = 0;
      for (uint32_t at = outer; at <= outer + kInside; ++at) {
        const counters::Count count = counted(at);
        if (!count.known || count.scaled) return {};
        if (at == outer) continue;
        own = std::min(own, count.value);
        inside += count.value;
      }
      const double rest = counted(outer).value - inside;
      least_outer = std::min(least_outer, rest);
    }
    overhead.own[event] = own;
    overhead.around[event] = std::max(0.0, (least_outer - own) / kInside);
  }
  return overhead;
}

}  // namespace

CountOverhead measure_overhead(const LogOptions& options) {
  if (options.events.empty()) return {};
  Log* const log =
      Log::make({.wanted = {}, .stacks = options.stacks, .events = options.events, .overhead = {}}, nullptr);
  record_round(*log);  // opens the counters, and reads the code into the caches
  for (uint32_t round = 1; round < kRounds; ++round) record_round(*log);
  log->stop();
  const LogContents contents = log->contents();
  const CountOverhead overhead =
      contents.threads.empty() ? CountOverhead{} : least_of(*contents.threads[0], options.events.size());
  log->release();
  return overhead;
}

}  // namespace edge

// ---- The profiler ---------------------------------------------------------------------------------------------------

namespace {

using edge::this_thread;

bool is_on(const edge::Log* log) noexcept { return log != nullptr && log->on(); }

void check_nobody_records() {
  if (is_on(this_thread.own))
    throw Error("an EdgeProfiler already records on this thread: end it, or call its disable_profiler(), first");
  if (is_on(this_thread.current))
    throw Error(
        "the EdgeProfiler of another thread already records this thread: profile on that thread, or wait until it "
        "ends");
}

void check_devices(const EdgeOptions& options) {
  if (!options.with_device) return;
  for (const device::BackendReport& backend : device::list_devices())
    if (!backend.devices.empty()) return;
  throw NotAvailable("with_device: no device found; `kymo devices` says why");
}

}  // namespace

struct EdgeProfiler::Impl {
  Impl(edge::AdaptedModule adapted, EdgeOptions& options)
      : module(std::move(adapted)),
        outputs(options.trace_file, options.kymo_file),
        build{.stack = options.with_stack,
              .flops = options.with_flops,
              .modules = options.with_modules,
              .adjust_vulkan = options.adjust_vulkan_timestamps,
              .inputs = options.report_input_shapes} {}
  ~Impl() {
    watch.reset();
    if (log != nullptr) log->release();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void begin(EdgeProfiler* profiler, edge::LogOptions wanted, const EdgeOptions& options) {
    log = edge::Log::make(std::move(wanted), profiler);
    if (options.with_device)
      watch.emplace(*log, edge::DeviceWatch::Devices::All);
    else if (options.adjust_vulkan_timestamps)
      watch.emplace(*log, edge::DeviceWatch::Devices::Vulkan);
    try {
      module.module->begin(*log, log->options().wanted);
    } catch (...) {
      log->stop();
      throw;
    }
    if (this_thread.own != nullptr) this_thread.own->release();  // kept by a destructor on another thread (see there)
    this_thread.own = this_thread.current = log;
  }

  void leave_thread() noexcept {
    module.module->end();
    if (this_thread.current == log) this_thread.current = nullptr;
    if (this_thread.own == log) this_thread.own = nullptr;
  }

  void stop() {
    stopped = true;
    leave_thread();
    log->stop();
    if (watch) watch->finish();
    if (watch) build.losses = watch->deliver();
    result = EdgeResult(edge::build_result(log->contents(), *module.module, build));
  }

  void finish() {
    if (std::exchange(closed, true)) return;
    if (!stopped) stop();
    if (result.data() != nullptr) outputs.write(*result.data());
  }

  bool is_own_thread() const noexcept { return thread == edge::number_of_this_thread(); }
  void check_thread(const char* call) const {
    if (pid != getpid()) throw Error(std::string(call) + ": this EdgeProfiler belongs to the parent of this process");
    if (!is_own_thread())
      throw Error(std::string(call) + ": this EdgeProfiler belongs to another thread; call it there");
  }

  edge::AdaptedModule module;
  edge::Outputs outputs;
  edge::BuildOptions build;
  edge::Log* log = nullptr;
  std::optional<edge::DeviceWatch> watch;
  const uint64_t thread = edge::number_of_this_thread();
  const pid_t pid = getpid();
  bool stopped = false, closed = false;
  EdgeResult result;
};

EdgeProfiler::EdgeProfiler(edge::AdaptedModule module, EdgeOptions& options, std::nullptr_t) {
  if (!edge::is_on_this_stack(this))
    throw Error("an EdgeProfiler must not outlive its module: make it a local variable, on the stack");
  check_nobody_records();
  edge::LogOptions wanted;
  wanted.wanted = {.inputs = options.report_input_shapes || options.with_flops,
                   .memory = options.profile_memory,
                   .places = options.with_stack || options.with_modules};
  wanted.stacks = options.with_stack;
  if (!options.events.empty()) wanted.events = counters::find_events(options.events);
  check_devices(options);
  wanted.overhead = edge::measure_overhead(wanted);
  impl_ = std::make_unique<Impl>(std::move(module), options);
  impl_->begin(this, std::move(wanted), options);
}

EdgeProfiler::~EdgeProfiler() {
  if (impl_->pid != getpid()) {
    if (!impl_->stopped) impl_->leave_thread();
    static_cast<void>(impl_.release());  // it has threads and devices that the child does not have: it is not destroyed
    return;
  }
  // The stack continued on another thread (a coroutine): the original thread still points to the log, so it keeps the
  // log until it has another one.
  if (!impl_->stopped && !impl_->is_own_thread()) impl_->log->keep();
  try {
    impl_->finish();
  } catch (...) {  // callers that need the error call close()
  }
}

EdgeResult EdgeProfiler::disable_profiler() {
  impl_->check_thread("disable_profiler()");
  if (impl_->stopped)
    throw Error("disable_profiler(): this EdgeProfiler was stopped before; get_profiler_result() returns its result");
  impl_->stop();
  return impl_->result;
}

EdgeResult EdgeProfiler::get_profiler_result() const {
  if (!impl_->stopped)
    throw Error("get_profiler_result(): this EdgeProfiler still records; call disable_profiler() first");
  return impl_->result;
}

void EdgeProfiler::close() {
  if (!impl_->closed) impl_->check_thread("close()");
  impl_->finish();
}

void EdgeProfiler::record_backend_event(int64_t start_us, int64_t end_us, int64_t debug_handle,
                                        std::string_view event_name, std::string_view backend_name) noexcept {
  edge::backend_event(*impl_->log, {start_us, end_us, debug_handle, event_name, backend_name});
}

void EdgeProfiler::record_backend_memory_event(const void* pointer, int64_t alloc_size, size_t total_allocated,
                                               size_t total_reserved, edge::DeviceId device) noexcept {
  edge::memory(*impl_->log, {pointer, alloc_size, total_allocated, total_reserved, device});
}

EdgeProfiler* get_current_edge_profiler() noexcept {
  const edge::Log* const log = edge::current_log();
  return log == nullptr ? nullptr : log->profiler();
}

std::vector<std::string> edge::event_names() { return counters::countable_events(); }

}  // namespace kymo
