// Records the CUDA work of a program through CUPTI while a recording runs.
//
//   the program's thread ──(a call: callback)──▶ kymo_span: the call, on its thread, with CUPTI's correlation
//   the device ──▶ CUPTI's buffer ──(completed)──▶ Queues ──▶ kymo_queue_span: the work, on its stream
//
// CUPTI allows one tool at a time. If another one has it, nothing of CUDA is recorded, and the user is told once. A
// profiler of the program shares it with us: shared_cupti.h.
//
// The CUDA driver loads libkymo_inject.so as the library that CUDA_INJECTION64_PATH names.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "base/environment.h"
#include "base/print.h"
#include "inject/adapter.h"
#include "inject/cuda/calls.h"
#include "inject/cuda/cupti.h"
#include "inject/cuda/deliveries.h"
#include "inject/cuda/graphs.h"
#include "inject/cuda/queues.h"
#include "inject/cuda/shared_cupti.h"
#include "inject/cuda/stalls.h"
#include "inject/python_stack.h"
#include "inject/resource_names.h"
#include "inject/torch/operators.h"
#include "kymo/export.h"
#include "kymo/queue.h"
#include "record/interfaces.h"
#include "record/slots.h"

namespace kymo::inject::cuda {
namespace {

constexpr uint32_t kComplete = 0, kForced = 1;  // which buffers a flush delivers: those that are complete, or all

constexpr Kind kKinds[] = {Kind::Kernel, Kind::Copy, Kind::PeerCopy, Kind::Fill, Kind::Overhead};

enum class State : uint8_t {
  Off,
  On,
  Leaving,  // recording has ended; the next call of the program that returns detaches CUPTI
  Refused   // another tool has CUPTI, or there is none
};

void ask_for_complete();

// CUPTI's callbacks have no object. The recorder is never destroyed, because they may run until the process ends.
struct Recorder {
  std::mutex control;  // start and stop
  std::atomic<State> state{State::Off};
  const Cupti* cupti = nullptr;
  SharedCupti* shared = nullptr;
  pid_t pid = 0;
  bool flushes_at_end = false;

  OwnWork own;
  Deliveries deliveries{ask_for_complete};

  std::mutex writing;
  Queues* queues = nullptr;
  Graphs* graphs = nullptr;  // before it has queues
  Stalls* stalls = nullptr;  // null: not wanted
  uint64_t counted = 0, counted_lost = 0;
};

Recorder& recorder() {
  static Recorder& made = *new Recorder;
  return made;
}

bool is_forked_child() noexcept { return recorder().pid != getpid(); }

// ---- Calls

void leave() noexcept;

// The name of the device on which the context is, for allocations.
std::string device_of(void* context) {
  Recorder& self = recorder();
  uint32_t device = 0;
  if (context == nullptr || self.cupti->device_of(context, &device) != 0) device = 0;
  const std::lock_guard lock(self.writing);
  return self.queues->device_name(device);
}

// What did not fit is recorded as allocated for a moment: so the peak of memory is that moment, with all that was alive
// then, and its last holder is the request that failed.
void record_out_of_memory(const kymo_arg (&args)[2]) noexcept {
  static constexpr Label kMark("out of memory: {bytes} more on {device}", "memory"), kLabel("out of memory", "cuda");
  static constinit std::atomic<uint64_t> address{~uint64_t{0}};  // where no memory can be
  const uint64_t nowhere = address.fetch_sub(1, std::memory_order_relaxed);
  kymo_record(KYMO_INSTANT, &kMark, args, 2, 0);
  kymo_allocation(&kLabel, args, 2, nowhere);
  kymo_free(&kLabel, &args[1], 1, nowhere);
}

void record_memory(const Call& call, const CallData& data) noexcept {
  static constexpr Label kLabel("cuda");
  Memory memory{};
  const bool is_out_of_memory = data.site == kExit && failed_to_allocate(call, data, memory);
  if (!is_out_of_memory && (data.site == kEnter ? !freed_by(call, data, memory) : !allocated_by(call, data, memory)))
    return;
  try {
    const std::string device = device_of(data.context);
    const kymo_arg args[] = {kymo::bytes("bytes", memory.bytes), kymo::arg("device", device)};
    if (is_out_of_memory) return record_out_of_memory(args);
    if (data.site == kEnter)
      kymo_free(&kLabel, &args[1], 1, memory.address);
    else
      kymo_allocation(&kLabel, args, 2, memory.address);
  } catch (...) {  // no memory: this allocation is missing
    record::add_interface(record::Interface::Cuda, 0, 1, 0);
  }
}

// CUPTI gives the default stream of a context a number, which differs from program to program.
void note_context(const CallData& data) noexcept {
  static constinit std::atomic<uint64_t> noted{0};  // one bit per context; programs have few
  const uint64_t bit = uint64_t{1} << (data.context_id % 64);
  if ((noted.load(std::memory_order_relaxed) & bit) != 0 || data.context == nullptr) return;
  if ((noted.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  Recorder& self = recorder();
  uint32_t stream = 0;
  if (self.cupti->stream_of(data.context, nullptr, 0, &stream) != 0) return;
  const std::lock_guard lock(self.writing);
  try {
    self.queues->note_default_stream(data.context_id, stream);
  } catch (...) {  // no memory: it is shown with its number
  }
}

// The name that the program gave to the stream of a call. The stream exists during the call, so CUPTI may be asked
// then. A thread looks once for each stream that it uses in turn, and again after a name was given.
void note_stream(const Call& call, const CallData& data) noexcept {
  void* const kPseudoStreams = reinterpret_cast<void*>(2);  // the default streams have small numbers as handles
  struct Looked {
    void* stream;
    uint32_t version;
  };
  static constinit thread_local Looked last{nullptr, 0};
  const uint32_t version = resource_names_version();
  if (version == 0 || call.stream == StreamPlace::None) return;
  void* const stream = stream_of(call, data);
  if (stream <= kPseudoStreams || data.context == nullptr || (last.stream == stream && last.version == version)) return;
  last = {stream, version};
  char name[128];
  const auto handle = reinterpret_cast<uint64_t>(stream);
  if (get_resource_name(Resource::CudaStream, handle, name, sizeof name) == 0 &&
      get_resource_name(Resource::CudaRuntimeStream, handle, name, sizeof name) == 0)
    return;
  Recorder& self = recorder();
  uint32_t id = 0;
  if (self.cupti->stream_of(data.context, stream, 0, &id) != 0) return;
  const std::lock_guard lock(self.writing);
  try {
    self.queues->note_stream_name(data.context_id, id, name);
  } catch (...) {  // no memory: it is shown with its number
  }
}

// The call of the program on this thread that does work; 0: none.
thread_local constinit uint64_t current_call __attribute__((tls_model("initial-exec"))) = 0;

void on_resource(uint32_t event, const ResourceData& data) noexcept {
  Recorder& self = recorder();
  if (event == kContextCreated || event == kContextEnds || event == kModuleLoaded) {
    if (self.stalls == nullptr) return;
    if (event == kContextCreated) self.stalls->context_created(data.context);
    if (event == kContextEnds) self.stalls->context_ends(data.context);
    if (event == kModuleLoaded && data.module != nullptr) self.stalls->module_loaded(data.context, *data.module);
  } else if (data.graph != nullptr && record::recording()) {
    self.graphs->note(event, *data.graph, current_call);
  }
}

void on_call(void*, int domain, uint32_t id, const void* untyped) {
  if (domain == kResourceDomain) return on_resource(id, *static_cast<const ResourceData*>(untyped));
  const auto& data = *static_cast<const CallData*>(untyped);
  Call* const call = domain == kDriverDomain ? call_of(id) : nullptr;
  if (call == nullptr || data.memory == nullptr) return;
  if (data.site == kEnter) {
    if (is_own_call()) {
      *data.memory = 0;
      recorder().own.remember(data.correlation);
      return;
    }
    recorder().own.forget(data.correlation);
    if (call->effect != Effect::None && !torch::is_in_operator()) state_python_stack(true);
    *data.memory = record::recording() ? kymo_ticks() : 0;
    if (call->effect == Effect::Work) current_call = *data.memory != 0 ? correlation_of(data.correlation) : 0;
    if (*data.memory != 0 && call->effect == Effect::Free) record_memory(*call, data);
    return;
  }
  current_call = 0;
  note_context(data);
  note_stream(*call, data);
  if (const uint64_t began = *data.memory; began != 0) {
    kymo_span_at(&call->site, nullptr, 0, began, correlation_of(data.correlation));
    if (record::Slot* const slot = record::own_slot()) record::count_delivered(*slot, record::Interface::Cuda);
    if (call->effect == Effect::Work && data.result != nullptr && *data.result == 0)
      recorder().deliveries.started();
    else
      record_memory(*call, data);
  }
  if (recorder().state.load(std::memory_order_relaxed) == State::Leaving) leave();
}

// ---- Buffers

bool wants_graph_nodes() noexcept { return base::environment("KYMO_CUDA_GRAPH_NODES") != nullptr; }

uint64_t read_records(Recorder& self, uint8_t* buffer, size_t valid) {
  uint64_t overhead_ns = 0, operations = 0;
  const RecordClock clock = self.shared->record_clock();
  void* record = nullptr;
  while (self.cupti->next_record(buffer, valid, &record) == 0 && record != nullptr) {
    const auto* const at = static_cast<const uint8_t*>(record);
    if (at < buffer || at >= buffer + valid) break;
    const size_t left = static_cast<size_t>(buffer + valid - at);
    const Kind kind = left >= sizeof(Kind) ? *reinterpret_cast<const Kind*>(at) : Kind{};
    if (kind == Kind::Overhead && left >= sizeof(Overhead)) {
      const auto& overhead = *reinterpret_cast<const Overhead*>(at);
      if (overhead.end > overhead.start) overhead_ns += overhead.end - overhead.start;
    } else if (auto work = work_from(at, left); work && !self.own.contains(work->correlation)) {
      work->start = clock.to_monotonic(work->start);
      work->end = clock.to_monotonic(work->end);
      self.queues->write(*work);
      ++operations;
    }
  }
  // The kernels of a graph do not tell how many launches they were. So its launches stay pending.
  if (!wants_graph_nodes()) self.deliveries.delivered(operations);
  return overhead_ns;
}

// Runs on a thread of CUPTI, or on one that flushes.
void read_buffer(uint8_t* buffer, size_t valid) {
  Recorder& self = recorder();
  const std::lock_guard lock(self.writing);
  try {
    const uint64_t overhead_ns = read_records(self, buffer, valid);
    record::add_interface(record::Interface::Cuda, self.queues->written() - self.counted,
                          self.queues->lost() - self.counted_lost, overhead_ns);
  } catch (...) {  // no memory for a queue: what is left of the buffer is missing
    record::add_interface(record::Interface::Cuda, 0, 1, 0);
  }
  self.counted = self.queues->written();
  self.counted_lost = self.queues->lost();
}

// ---- Start and end

// CUPTI must not be asked from inside its callbacks, so dropped records are counted before recording ends.
void deliver_all(Recorder& self) noexcept {
  self.deliveries.finish([&] {
    self.cupti->flush(kForced);
    size_t dropped = 0;
    if (self.cupti->dropped(nullptr, 0, &dropped) == 0 && dropped != 0)
      record::add_interface(record::Interface::Cuda, 0, dropped, 0);
  });
}

void flush(void*) {
  Recorder& self = recorder();
  const State state = self.state.load(std::memory_order_acquire);
  if (is_forked_child() || (state != State::On && state != State::Leaving)) return;
  if (self.stalls != nullptr) self.stalls->finish();
  deliver_all(self);
}

// CUPTI must not be used while it is attached or detached. Then this is done the next time.
void ask_for_complete() {
  Recorder& self = recorder();
  const std::unique_lock lock(self.control, std::try_to_lock);
  if (lock && self.state.load(std::memory_order_relaxed) == State::On && !is_forked_child() && !self.shared->is_lent())
    self.cupti->flush(kComplete);
}

void refuse(Recorder& self, std::string_view why, std::string_view untrusted) {
  self.state.store(State::Refused, std::memory_order_release);
  base::say_to_user(why, untrusted);
}

void set_calls(Recorder& self, bool enable) noexcept {
  for (const Call& call : recorded_calls()) self.shared->record_call(kDriverDomain, call.id, enable);
  if (!self.cupti->has_graphs()) return;
  for (const uint32_t what : {kNodeCreated, kNodeCloned, kGraphMadeExecutable})
    self.shared->record_call(kResourceDomain, what, enable);
}

void set_kinds(Recorder& self, bool enable) noexcept {
  for (const Kind kind : kKinds) self.shared->record_kind(kind, enable);
  // With this kind a graph is one piece of work. Its kernels are not recorded one by one.
  if (!wants_graph_nodes()) self.shared->record_kind(Kind::Graph, enable);
}

// False: there is no CUPTI; `why` says so.
bool prepare(Recorder& self, std::string& why) {
  if (self.cupti == nullptr) self.cupti = load_cupti(why);
  if (self.cupti == nullptr) return false;
  if (self.shared == nullptr) self.shared = new SharedCupti(*self.cupti, {on_call, read_buffer});
  return true;
}

// A copy of libkineto that is not linked with CUPTI, but contains one, would find CUPTI taken, and report no more than
// a hint about privileges.
void warn_pytorch() {
  static bool warned = false;
  void* const torch = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (torch == nullptr) return;
  dlclose(torch);
  if (std::exchange(warned, true)) return;
  base::say_to_user("Kymo records CUDA here, so torch.profiler gets no GPU records; --without cuda leaves them to it",
                    "");
}

void attach(Recorder& self) {
  std::string why;
  if (!prepare(self, why)) return refuse(self, "CUDA work is not recorded: ", why);
  if (self.graphs == nullptr) self.graphs = new Graphs(*self.cupti);
  if (self.queues == nullptr) self.queues = new Queues(*self.graphs);
  const bool shares_with_program = lead_calls_here();
  std::string other;
  if (const Result result = self.shared->attach(shares_with_program, other); result != 0) {
    if (result == kOtherSubscriber)
      return refuse(self,
                    "CUDA work is not recorded, because another tool has CUPTI: ", other.empty() ? "unknown" : other);
    return refuse(self, "CUDA work is not recorded: CUPTI cannot be used, error ", std::to_string(result));
  }
  self.pid = getpid();
  set_kinds(self, true);
  set_calls(self, true);
  if (base::environment("KYMO_GPU_STALLS") != nullptr) {
    if (self.stalls == nullptr) self.stalls = new Stalls(self.cupti->library);
    for (const uint32_t event : {kContextCreated, kContextEnds, kModuleLoaded})
      self.shared->record_call(kResourceDomain, event, true);
  }
  if (!self.flushes_at_end) self.flushes_at_end = kymo_on_flush(flush, nullptr) != 0;
  self.state.store(State::On, std::memory_order_release);
  if (!shares_with_program) warn_pytorch();
}

// On a thread of the program, when its call returns: the only place where CUPTI may be detached. Afterwards calls cost
// the same as without a tool.
void leave() noexcept {
  Recorder& self = recorder();
  const std::unique_lock lock(self.control, std::try_to_lock);
  if (!lock || self.state.load(std::memory_order_relaxed) != State::Leaving) return;
  set_calls(self, false);
  self.shared->detach();
  self.state.store(State::Off, std::memory_order_release);
}

// Any thread may call these two, any number of times. Neither fails.
void start_recording() noexcept {
  Recorder& self = recorder();
  const std::lock_guard lock(self.control);
  const State state = self.state.load(std::memory_order_relaxed);
  if (state == State::On || state == State::Refused) return;
  try {
    if (state == State::Leaving) {  // still attached
      set_kinds(self, true);
      self.state.store(State::On, std::memory_order_release);
    } else {
      attach(self);
    }
  } catch (...) {
    self.state.store(State::Refused, std::memory_order_release);
  }
}

void stop_recording() noexcept {
  Recorder& self = recorder();
  const std::lock_guard lock(self.control);
  if (self.state.load(std::memory_order_relaxed) != State::On || is_forked_child()) return;
  deliver_all(self);
  set_kinds(self, false);
  self.state.store(State::Leaving, std::memory_order_release);
}

constexpr Adapter kAdapter{record::Interface::Cuda, start_recording, stop_recording};

// A profiler of the program may start before the first recording.
void share_cupti() noexcept {
  Recorder& self = recorder();
  const std::lock_guard lock(self.control);
  std::string why;
  if (is_cupti_loaded() && prepare(self, why)) lead_calls_here();
}

}  // namespace
}  // namespace kymo::inject::cuda

// The driver calls it once, in cuInit. It expects 1.
extern "C" KYMO_API int InitializeInjection() {
  using namespace kymo::inject;
  torch::start_if_loaded();
  if (is_wanted(kymo::record::Interface::Cuda)) {
    cuda::share_cupti();
    start(cuda::kAdapter);
  }
  return 1;
}
