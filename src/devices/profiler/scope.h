// A named operation while it is active: from the begin of its scope until all work that was queued in it has run.
//
// Each thread has a stack of its open scopes, and the work that it queues belongs to all of them. An operation lives as
// long as something refers to it: its entry on the stack, a pending execution, a nested operation. The last one to
// release it reports it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "profiler/report.h"

namespace kymo::device {
class StreamState;
struct OperationTimes;
}  // namespace kymo::device

namespace kymo::profiler {

class Profiler;

struct Scope {
  Profiler* owner = nullptr;
  Scope* parent = nullptr;  // this holds a reference to it
  Entry* entry = nullptr;
  uint64_t run = 0;
  double flops = 0;
  ReportOptions report;
  std::string key;

  std::atomic<uint32_t> references{1};
  std::atomic<bool> closed{false};

  // The stream of the operation: the one where its first work was queued. Set by its thread. The other members are used
  // under that stream's lock, and by the last one to release the operation.
  const device::StreamState* stream = nullptr;
  uint64_t start_ns = 0, end_ns = 0, call_ns = 0;
  uint64_t completed = 0, lost = 0;
};

// Pushes onto this thread's stack: takes over the caller's reference. The new scope holds a reference to the one below.
void push_scope(Scope& scope) noexcept;
// The scope ends, on any thread.
void close_scope(Scope& scope) noexcept;
// The innermost open scope of this thread; null: none.
Scope* current_scope() noexcept;
// In a forked child: drops the scopes of the parent.
void forget_scopes() noexcept;

// An execution begins in the scope, and ends. Without times: it was lost.
void enter_scope(Scope& scope, const device::StreamState& stream) noexcept;
void leave_scope(Scope& scope, const device::StreamState& stream, const device::OperationTimes* times) noexcept;

}  // namespace kymo::profiler
