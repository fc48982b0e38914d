// The receiver of operations and memory of libtorch.
//
// libtorch has a slot on each thread for the state of a profiler, and reports memory to the state in that slot. When it
// moves work to another thread, it takes the state and the callbacks along. Such work may outlive the profiler. So a
// TorchProfilerState lives as long as there are references to it, and its log records nothing after the profiler's end.
#pragma once

#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "kymo/edge_engine.h"
#include "torch_module.h"

namespace kymo::edge {

// Derived from libtorch's own state, because libtorch assumes that any object in the slot is one.
class TorchProfilerState final : public torch::profiler::impl::ProfilerStateBase {
 public:
  // Becomes the state of the calling thread.
  TorchProfilerState(Log& log, Wanted wanted, std::shared_ptr<CallReader> reader);
  ~TorchProfilerState() override;

  // The active state that receives the work of the calling thread; null: none.
  static TorchProfilerState* current() noexcept;

  void stop() noexcept;  // on the thread that made it
  bool on() const noexcept { return on_.load(std::memory_order_relaxed); }
  bool is_own() const noexcept;  // whether the calling thread made it

  Log& log() const noexcept { return *log_.get(); }
  bool wants_inputs() const noexcept { return wanted_.inputs; }
  CallReader& reader() const noexcept { return *reader_; }

  torch::profiler::impl::ActiveProfilerType profilerType() override {
    return torch::profiler::impl::ActiveProfilerType::NONE;
  }

 private:
  void reportMemoryUsage(void* address, int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                         c10::Device device) override;
  void reportOutOfMemory(int64_t bytes, int64_t total_allocated, int64_t total_reserved, c10::Device device) override;

  const KeptLog log_;
  const Wanted wanted_;
  const std::shared_ptr<CallReader> reader_;
  std::atomic<bool> on_ = true;
};

}  // namespace kymo::edge
