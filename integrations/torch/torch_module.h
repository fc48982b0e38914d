// The common part of libtorch's modules: how the operations of a thread get from libtorch into an edge::Log.
//
// libtorch calls back at both ends of each operation. Kinds of modules differ in which operations these are (scopes),
// and in how a call is read.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "kymo/edge_engine.h"
#include "kymo/edge_module.h"

namespace kymo::edge {

class TorchProfilerState;

// Reads the arguments of libtorch's callbacks, on any thread. Work that libtorch moved to other threads may use it
// after the profiler's end, so it must not refer to the module.
class CallReader {
 public:
  virtual ~CallReader() = default;
  // Interpreters pass their whole stack. The arguments of an operator are the last values of the stack, as many as it
  // takes.
  virtual c10::ArrayRef<const c10::IValue> arguments(const at::RecordFunction& call) const noexcept;
  virtual int64_t debug_handle(const at::RecordFunction& call) noexcept { return call.debugHandle(); }
};

class TorchModule : public Module {
 public:
  using Scopes = std::unordered_set<at::RecordScope>;

  explicit TorchModule(Scopes scopes) : scopes_(std::move(scopes)) {}

  // Throws kymo::Error if libtorch's slot for a profiler is already used on this thread.
  void begin(Log& log, Wanted wanted) final;
  void end() noexcept final;

 protected:
  virtual std::shared_ptr<CallReader> reader(Wanted wanted) = 0;  // called when recording begins

 private:
  Scopes scopes_;
  std::shared_ptr<TorchProfilerState> torch_state_;
  at::CallbackHandle callback_ = 0;
};

// libtorch has its own numbers for threads; a trace has the system's numbers. A backward function names the thread of
// its forward function by libtorch's number.

// Remembers the calling thread with both numbers. After the first call this costs a thread-local load.
void note_new_thread() noexcept;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool thread_is_noted;
inline void note_forward_thread() noexcept {
  if (!thread_is_noted) note_new_thread();
}

// The system's number of a thread that was noted; for other threads, libtorch's own number.
uint64_t forward_thread(uint64_t torch_thread) noexcept;

}  // namespace kymo::edge
