#include "torch_module.h"

#include <c10/util/ThreadLocalDebugInfo.h>

#include <optional>
#include <utility>
#include <vector>

#include "call_ranges.h"
#include "forward_threads.h"
#include "inputs.h"
#include "kymo/error.h"
#include "profiler_state.h"
#include "spare_memory.h"

namespace kymo::edge {

namespace {

using c10::DebugInfoKind;
using c10::ThreadLocalDebugInfo;

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
