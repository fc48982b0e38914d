// What a thread keeps so that its allocations can be recorded: its stack's bounds and memory, its sampler, and a guard
// against its own work.
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
  record::Slot* slot = nullptr;  // whose readers heard of the stack's nodes
  uint64_t told_until = 0;       // a flight recorder's: the head from where they may have been overwritten
  uint32_t epoch = 0;            // the recording they heard of them in
  uint32_t code_changes = 0;     // files unloaded when they did
  uint32_t partings = 0;         // how often the thread's exit hook has run
};

// Where the calling thread stands.
enum class HeapGuard : uint8_t {
  Out,      // in the program
  Storing,  // recording: only a signal handler can come between, and it may record without a stack
  OwnWork,  // inside Kymo's own preparations: what these allocate is nobody's business
  Gone,     // its exit hook has run for the last time
};
extern thread_local constinit HeapGuard heap_guard __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern thread_local constinit HeapThread* heap_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Makes it. Null: there is no memory. Under HeapGuard::OwnWork.
HeapThread* make_heap_thread() noexcept;

}  // namespace kymo::heap
