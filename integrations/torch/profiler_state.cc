#include "profiler_state.h"

#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <typeinfo>
#include <utility>

namespace kymo::edge {

namespace {

using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

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

// The state is not "disabled", so that libtorch refuses its own profilers while this one is active.
TorchProfilerState::TorchProfilerState(Log& log, Wanted wanted, std::shared_ptr<CallReader> reader)
    : ProfilerStateBase(ProfilerConfig(ProfilerState::CPU, wanted.inputs, wanted.memory)),
      log_(&log),
      wanted_(wanted),
      reader_(std::move(reader)) {
  own_state = this;
}

TorchProfilerState::~TorchProfilerState() = default;

TorchProfilerState* TorchProfilerState::current() noexcept {
  c10::DebugInfoBase* const info = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  if (info == nullptr || typeid(*info) != typeid(TorchProfilerState)) return own_state;
  auto* const state = static_cast<TorchProfilerState*>(info);
  return state->on() ? state : own_state;
}

void TorchProfilerState::stop() noexcept {
  own_state = nullptr;
  on_.store(false, std::memory_order_relaxed);
}

bool TorchProfilerState::is_own() const noexcept { return own_state == this; }

void TorchProfilerState::reportMemoryUsage(void* address, int64_t bytes, int64_t total_allocated,
                                           int64_t total_reserved, c10::Device device) {
  memory(log(), memory_facts(address, bytes, total_allocated, total_reserved, device));
}

void TorchProfilerState::reportOutOfMemory(int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                                           c10::Device device) {
  out_of_memory(log(), memory_facts(nullptr, bytes, total_allocated, total_reserved, device));
}

}  // namespace kymo::edge
