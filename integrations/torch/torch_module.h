// What libtorch's modules have in common: how a thread's operations get from libtorch into an edge::Log.
//
// libtorch calls back at both ends of each operation. What differs between kinds of modules is which operations those
// are (scopes), and how a call is read.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "kymo/edge_engine.h"
#include "kymo/edge_module.h"

namespace kymo::edge {

class TorchProfilerState;

// Reads what libtorch calls back with, on any thread. It may be asked after the profiler's end, by work that libtorch
// moved to other threads, and so it holds on to nothing of the module.
class CallReader {
 public:
  virtual ~CallReader() = default;
  // Interpreters hand over their whole stack. The arguments of an operator are the last so many of it as it takes.
  virtual c10::ArrayRef<const c10::IValue> arguments(const at::RecordFunction& call) const noexcept;
  virtual int64_t debug_handle(const at::RecordFunction& call) noexcept { return call.debugHandle(); }
};

class TorchModule : public Module {
 public:
  using Scopes = std::unordered_set<at::RecordScope>;

  explicit TorchModule(Scopes scopes) : scopes_(std::move(scopes)) {}

  // Throws kymo::Error where libtorch's place for a profiler is taken on this thread.
  void begin(Log& log, Wanted wanted) final;
  void end() noexcept final;

 protected:
  virtual std::shared_ptr<CallReader> reader(Wanted wanted) = 0;  // as recording begins

 private:
  Scopes scopes_;
  std::shared_ptr<TorchProfilerState> hearing_;
  at::CallbackHandle callback_ = 0;
};

}  // namespace kymo::edge
