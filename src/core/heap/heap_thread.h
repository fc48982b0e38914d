// What a thread needs to record its allocations: the bounds of its stack, its stack tree, its sampler, and a guard
// against recursion.
#pragma once

#include <cstdint>

#include "heap/sampler.h"
#include "record/layout.h"
#include "record/process.h"
#include "unwind/quick_stack.h"

namespace kymo::heap {

struct HeapThread {
  unwind::QuickStack stack;
  unwind::ThreadStacks stacks;
  Sampler sampler;
  const record::Process* process = nullptr;
  record::Slot* slot = nullptr;  // the slot whose readers got the stack's nodes
  uint64_t described_until = 0;  // for a flight recorder: from this head on, the nodes may have been overwritten
  uint32_t epoch = 0;            // the recording that got them
  uint32_t code_changes = 0;     // how many files had been unloaded by then
  uint32_t partings = 0;         // how often the thread's exit hook has run
};

// The state of the calling thread.
enum class HeapGuard : uint8_t {
  Out,      // in the program's code
  Storing,  // recording: only a signal handler can interrupt; it may record without a stack
  OwnWork,  // inside Kymo's own setup: its allocations are not recorded
  Gone,     // its exit hook has run for the last time
};
extern thread_local constinit HeapGuard heap_guard __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern thread_local constinit HeapThread* heap_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Creates it. Returns null if there is no memory. Call it under HeapGuard::OwnWork.
HeapThread* make_heap_thread() noexcept;

}  // namespace kymo::heap
