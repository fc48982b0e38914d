#include "hearing.h"

#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <typeinfo>
#include <utility>

namespace kymo::edge {

namespace {

using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// The one that this thread made. It is heard also where a program has put something of its own into libtorch's place.
[[gnu::tls_model("initial-exec")]] constinit thread_local Hearing* own_hearing = nullptr;

MemoryFacts memory_facts(const void* address, int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                         c10::Device device) {
  return {.address = address,
          .bytes = bytes,
          .total_allocated = static_cast<uint64_t>(std::max<int64_t>(total_allocated, 0)),
          .total_reserved = static_cast<uint64_t>(std::max<int64_t>(total_reserved, 0)),
          .device = {.type = static_cast<int32_t>(device.type()), .index = device.index()}};
}

}  // namespace

// In a state that is not "disabled", so that libtorch refuses its own profilers meanwhile.
Hearing::Hearing(Log& log, Wanted wanted, std::shared_ptr<CallReader> reader)
    : ProfilerStateBase(ProfilerConfig(ProfilerState::CPU, wanted.inputs, wanted.memory)),
      log_(&log),
      wanted_(wanted),
      reader_(std::move(reader)) {
  own_hearing = this;
}

Hearing::~Hearing() = default;

Hearing* Hearing::current() noexcept {
  c10::DebugInfoBase* const info = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  if (info == nullptr || typeid(*info) != typeid(Hearing)) return own_hearing;
  auto* const hearing = static_cast<Hearing*>(info);
  return hearing->on() ? hearing : own_hearing;
}

void Hearing::stop() noexcept {
  own_hearing = nullptr;
  on_.store(false, std::memory_order_relaxed);
}

bool Hearing::is_own() const noexcept { return own_hearing == this; }

void Hearing::reportMemoryUsage(void* address, int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                                c10::Device device) {
  memory(log(), memory_facts(address, bytes, total_allocated, total_reserved, device));
}

void Hearing::reportOutOfMemory(int64_t bytes, int64_t total_allocated, int64_t total_reserved, c10::Device device) {
  out_of_memory(log(), memory_facts(nullptr, bytes, total_allocated, total_reserved, device));
}

}  // namespace kymo::edge
