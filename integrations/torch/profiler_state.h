// Where operations and memory of libtorch go.
//
// libtorch has a place on each thread for the state of a profiler, reports memory to what lies there, and takes it
// along, as it does callbacks, when it moves work to another thread. Such work may outlast the profiler: a
// TorchProfilerState lives as long as anybody holds it, and its log takes nothing after the profiler's end.
#pragma once

#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "kymo/edge_engine.h"
#include "torch_module.h"

namespace kymo::edge {

// Derived from libtorch's own state, because libtorch takes whatever lies in that place for one.
class TorchProfilerState final : public torch::profiler::impl::ProfilerStateBase {
 public:
  // Of the calling thread.
  TorchProfilerState(Log& log, Wanted wanted, std::shared_ptr<CallReader> reader);
  ~TorchProfilerState() override;

  // The one that the calling thread's work goes to, and that is on; null: none.
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
