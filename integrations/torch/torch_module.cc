#include "torch_module.h"

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "call_ranges.h"
#include "inputs.h"
#include "kymo/error.h"

namespace kymo::edge {

namespace {

using c10::DebugInfoKind;
using c10::ThreadLocalDebugInfo;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// ---- Spare memory --------------------------------------------------------------------------------------------------

// Memory for objects of one small size that are created and destroyed with operations, innermost first. There are as
// many at a time as open operations. A thread keeps a few pieces, so that it does not need malloc again.

constexpr uint32_t kMaxSpares = 64;

struct Spare {
  Spare* next;
};

// Without a destructor, so that access is fast; SpareKeeper cleans up.
struct Spares {
  Spare* first;
  uint32_t count;
  uint32_t most;  // max count; 0 before the first piece and after the thread's end: then none is kept
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Spares spares{};

struct SpareKeeper {
  SpareKeeper() { spares.most = kMaxSpares; }
  ~SpareKeeper() {
    spares.most = 0;
    while (Spare* const spare = spares.first) {
      spares.first = spare->next;
      ::operator delete(spare);
    }
    spares.count = 0;
  }
};

void* take_new(size_t size) {
  thread_local SpareKeeper keeper;
  static_cast<void>(keeper);
  return ::operator new(size);
}

// `size` is the same for all. Throws std::bad_alloc.
void* take_spare(size_t size) {
  Spare* const spare = spares.first;
  if (spare == nullptr) return take_new(size);
  spares.first = spare->next;
  --spares.count;
  return spare;
}

// On any thread.
void keep_spare(void* memory, size_t) noexcept {
  if (spares.count >= spares.most) return ::operator delete(memory);  // clang has no sized one by default
  spares.first = new (memory) Spare{spares.first};
  ++spares.count;
}

// ---- The receiver of operations and memory of libtorch -------------------------------------------------------------

// The state that this thread created. It is used even if a program has put its own state into libtorch's slot.
[[gnu::tls_model("initial-exec")]] constinit thread_local TorchProfilerState* own_state = nullptr;

MemoryFacts memory_facts(const void* address, int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                         c10::Device device) {
  return {.address = address,
          .bytes = bytes,
          .total_allocated = static_cast<uint64_t>(std::max<int64_t>(total_allocated, 0)),
          .total_reserved = static_cast<uint64_t>(std::max<int64_t>(total_reserved, 0)),
          .device = {.type = static_cast<int32_t>(device.type()), .index = device.index()}};
}

}  // namespace

// libtorch has a slot on each thread for the state of a profiler, and reports memory to the state in that slot. When it
// moves work to another thread, it takes the state and the callbacks along. Such work may outlive the profiler. So a
// TorchProfilerState lives as long as there are references to it, and its log records nothing after the profiler's end.
//
// Derived from libtorch's own state, because libtorch assumes that any object in the slot is one.
class TorchProfilerState final : public torch::profiler::impl::ProfilerStateBase {
 public:
  // Becomes the state of the calling thread.
  // The state is not "disabled", so that libtorch refuses its own profilers while this one is active.
  TorchProfilerState(Log& log, Wanted wanted, std::shared_ptr<CallReader> reader)
      : ProfilerStateBase(ProfilerConfig(ProfilerState::CPU, wanted.inputs, wanted.memory)),
        log_(&log),
        wanted_(wanted),
        reader_(std::move(reader)) {
    own_state = this;
  }

  // The active state that receives the work of the calling thread; null: none.
  static TorchProfilerState* current() noexcept {
    c10::DebugInfoBase* const info = ThreadLocalDebugInfo::get(DebugInfoKind::PROFILER_STATE);
    if (info == nullptr || typeid(*info) != typeid(TorchProfilerState)) return own_state;
    auto* const state = static_cast<TorchProfilerState*>(info);
    return state->on() ? state : own_state;
  }

  void stop() noexcept {  // on the thread that made it
    own_state = nullptr;
    on_.store(false, std::memory_order_relaxed);
  }
  bool on() const noexcept { return on_.load(std::memory_order_relaxed); }
  bool is_own() const noexcept { return own_state == this; }  // whether the calling thread made it

  Log& log() const noexcept { return *log_.get(); }
  bool wants_inputs() const noexcept { return wanted_.inputs; }
  CallReader& reader() const noexcept { return *reader_; }

  torch::profiler::impl::ActiveProfilerType profilerType() override {
    return torch::profiler::impl::ActiveProfilerType::NONE;
  }

 private:
  void reportMemoryUsage(void* address, int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                         c10::Device device) override {
    memory(log(), memory_facts(address, bytes, total_allocated, total_reserved, device));
  }
  void reportOutOfMemory(int64_t bytes, int64_t total_allocated, int64_t total_reserved, c10::Device device) override {
    out_of_memory(log(), memory_facts(nullptr, bytes, total_allocated, total_reserved, device));
  }

  const KeptLog log_;
  const Wanted wanted_;
  const std::shared_ptr<CallReader> reader_;
  std::atomic<bool> on_ = true;
};

// ---- Callbacks -----------------------------------------------------------------------------------------------------

namespace {

// The context that libtorch keeps between begin and end of an operation.
class CallContext final : public at::ObserverContext {
 public:
  explicit CallContext(Log& in) noexcept : log(in) {}

  static void* operator new(size_t size) { return take_spare(size); }
  static void operator delete(void* memory, size_t size) noexcept { keep_spare(memory, size); }

  Log& log;
  OpenOperation* operation = nullptr;
  std::optional<AdoptedLog> adopted;
};

Scope scope_of(at::RecordScope scope) {
  switch (scope) {
    case at::RecordScope::USER_SCOPE:
      return Scope::User;
    case at::RecordScope::BACKWARD_FUNCTION:
      return Scope::Backward;
    case at::RecordScope::TORCHSCRIPT_FUNCTION:
      return Scope::Function;
    default:
      return Scope::Operator;
  }
}

// Whether it ends on the thread that began it: a TorchScript function that waits may continue on another thread, and
// any thread may end a user's scope.
bool stays_on_thread(at::RecordScope scope) {
  return scope == at::RecordScope::FUNCTION || scope == at::RecordScope::LITE_INTERPRETER ||
         scope == at::RecordScope::BACKWARD_FUNCTION;
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& call) {
  TorchProfilerState* const state = TorchProfilerState::current();
  if (state == nullptr) return nullptr;
  Log& log = state->log();
  const at::RecordScope scope = call.scope();
  OperationFacts facts{.name = call.name(),
                       .scope = scope_of(scope),
                       .debug_handle = state->reader().debug_handle(call),
                       .sequence = call.seqNr(),
                       .engine_id = call.handle(),
                       .already_recorded = libtorch::calls_are_recorded()};
  note_forward_thread();
  if (scope == at::RecordScope::BACKWARD_FUNCTION) facts.forward_thread = forward_thread(call.forwardThreadId());

  auto call_context = std::make_unique<CallContext>(log);
  if (!state->is_own() && stays_on_thread(scope) && current_log() != &log) call_context->adopted.emplace(&log);
  if (state->wants_inputs()) {
    Inputs inputs;
    put_inputs(state->reader().arguments(call), inputs);
    call_context->operation = edge::begin(log, facts, &inputs);
  } else {
    call_context->operation = edge::begin(log, facts, nullptr);
  }
  if (call_context->operation == nullptr) return nullptr;
  return call_context;
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (auto* const call_context = static_cast<CallContext*>(context)) {
    edge::end(call_context->log, call_context->operation);
    call_context->adopted.reset();
  }
}

// This thread may still have the callback of a profiler that has ended, and would receive everything twice.
void remove_old_callbacks() {
  std::vector<at::CallbackHandle> old;
  for (const at::RecordFunctionCallbacksEntry& entry : at::get_record_function_tls_().sorted_tls_callbacks_)
    if (entry.callback_.start() == on_begin) old.push_back(entry.handle_);
  for (const at::CallbackHandle callback : old) at::removeCallback(callback);
}

}  // namespace

// ---- Threads -------------------------------------------------------------------------------------------------------

namespace {

struct ForwardThreads {
  std::mutex mutex;
  std::unordered_map<uint64_t, uint64_t> by_torch;
};

ForwardThreads& forward_threads() {
  static auto* const threads = new ForwardThreads;  // never destroyed, because threads may use it until they end
  return *threads;
}

}  // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_is_noted = false;

void note_new_thread() noexcept {
  thread_is_noted = true;
  try {
    const std::lock_guard lock(forward_threads().mutex);
    forward_threads().by_torch[at::RecordFunction::currentThreadId()] = static_cast<uint64_t>(gettid());
  } catch (...) {  // no memory: libtorch's own number is used
  }
}

uint64_t forward_thread(uint64_t torch_thread) noexcept {
  const std::lock_guard lock(forward_threads().mutex);
  const auto found = forward_threads().by_torch.find(torch_thread);
  return found == forward_threads().by_torch.end() ? torch_thread : found->second;
}

// ---- Modules -------------------------------------------------------------------------------------------------------

c10::ArrayRef<const c10::IValue> CallReader::arguments(const at::RecordFunction& call) const noexcept {
  const c10::ArrayRef<const c10::IValue> stack = call.inputs();
  const size_t taken = call.num_inputs();  // also 0 for calls that are not operators
  return taken == 0 || taken >= stack.size() ? stack : stack.slice(stack.size() - taken);
}

void TorchModule::begin(Log& log, Wanted wanted) {
  if (c10::DebugInfoBase* const info = ThreadLocalDebugInfo::get(DebugInfoKind::PROFILER_STATE)) {
    const auto* const other = dynamic_cast<TorchProfilerState*>(info);
    if (other == nullptr)
      throw Error("libtorch's own profiler runs on this thread, and libtorch allows only one: disable it first");
    if (other->on())
      throw Error(
          "this thread works for another thread, whose EdgeProfiler already records it: profile on that thread, or "
          "wait until that profiler has stopped");
  }
  remove_old_callbacks();
  auto state = std::make_shared<TorchProfilerState>(log, wanted, reader(wanted));
  try {
    callback_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(on_begin, on_end).scopes(scopes_).needsInputs(wanted.inputs).needsIds(true));
    ThreadLocalDebugInfo::_push(DebugInfoKind::PROFILER_STATE, state);
  } catch (...) {
    state->stop();
    if (callback_ != 0) at::removeCallback(std::exchange(callback_, 0));
    throw;
  }
  torch_state_ = std::move(state);
}

void TorchModule::end() noexcept {
  if (torch_state_ == nullptr) return;
  torch_state_->stop();
  try {
    at::removeCallback(std::exchange(callback_, 0));
    if (ThreadLocalDebugInfo::_peek(DebugInfoKind::PROFILER_STATE) == torch_state_)
      ThreadLocalDebugInfo::_pop(DebugInfoKind::PROFILER_STATE);
  } catch (const std::exception&) {  // other code put a state on top of it: it stays below and records nothing
  }
  torch_state_.reset();
}

}  // namespace kymo::edge
