// A named operation while it lasts: from its scope's begin until the last of what was queued in it is known to have
// run.
//
// Each thread has a stack of those whose scopes are open, and what it queues belongs to all of them. An operation lives
// as long as somebody refers to it: its place on the stack, an execution that is under way, an operation within.
// Whoever lets go last tells of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "profiler/telling.h"

namespace kymo::device {
class StreamState;
struct OperationTimes;
}  // namespace kymo::device

namespace kymo::profiler {

class Profiler;

struct Scope {
  Profiler* owner = nullptr;
  Scope* parent = nullptr;  // which this refers to
  Entry* entry = nullptr;
  uint64_t run = 0;
  double flops = 0;
  Telling telling;
  std::string key;

  std::atomic<uint32_t> references{1};
  std::atomic<bool> closed{false};

  // The stream it is on: where the first of it was queued. Set by its thread; the rest is under that stream's lock, and
  // whoever lets go last.
  const device::StreamState* stream = nullptr;
  uint64_t start_ns = 0, end_ns = 0, call_ns = 0;
  uint64_t told = 0, lost = 0;
};

// Onto this thread's stack: takes the caller's reference. Pushing refers to the one below.
void push_scope(Scope& scope) noexcept;
// The scope ends, on whatever thread.
void close_scope(Scope& scope) noexcept;
// The innermost that is open on this thread; null: none.
Scope* current_scope() noexcept;
// In a forked child: those of the parent are none of its.
void forget_scopes() noexcept;

// An execution begins in it, and is over. Without times: lost.
void enter_scope(Scope& scope, const device::StreamState& stream) noexcept;
void leave_scope(Scope& scope, const device::StreamState& stream, const device::OperationTimes* times) noexcept;

}  // namespace kymo::profiler
