#include "profiler/scope.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "base/clock.h"
#include "device/watcher.h"
#include "device/work_capture.h"
#include "kymo/annotate.h"
#include "kymo/profiler.h"
#include "profiler/profiler.h"

namespace kymo::profiler {
namespace {

thread_local constinit Scope* innermost_scope = nullptr;

void let_go(Scope* scope) noexcept {
  while (scope != nullptr && scope->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Scope* parent = scope->parent;
    scope->owner->finish(*scope);
    delete scope;
    scope = parent;
  }
}

}  // namespace

void push_scope(Scope& scope) noexcept {
  scope.parent = current_scope();
  if (scope.parent != nullptr) scope.parent->references.fetch_add(1, std::memory_order_relaxed);
  innermost_scope = &scope;
}

// A scope that was closed on another thread, or before a scope inside it, is still on its thread's stack. It is removed
// here.
Scope* current_scope() noexcept {
  while (innermost_scope != nullptr && innermost_scope->closed.load(std::memory_order_acquire)) {
    Scope* over = innermost_scope;
    innermost_scope = over->parent;
    let_go(over);
  }
  return innermost_scope;
}

void close_scope(Scope& scope) noexcept {
  scope.closed.store(true, std::memory_order_release);
  current_scope();
}

void forget_scopes() noexcept { innermost_scope = nullptr; }

void enter_scope(Scope& scope, const device::StreamState& stream) noexcept {
  scope.references.fetch_add(1, std::memory_order_relaxed);
  for (Scope* at = &scope; at != nullptr; at = at->parent)
    if (at->stream == nullptr) at->stream = &stream;
}

void leave_scope(Scope& scope, const device::StreamState& stream, const device::OperationTimes* times) noexcept {
  for (Scope* at = &scope; at != nullptr; at = at->parent) {
    if (at->stream != &stream) continue;
    if (times == nullptr) {
      ++at->lost;
      continue;
    }
    at->start_ns = at->completed == 0 ? times->start_ns : std::min(at->start_ns, times->start_ns);
    at->end_ns = std::max(at->end_ns, times->end_ns);
    at->call_ns += times->call_ns;
    ++at->completed;
  }
  let_go(&scope);
}

// ---- Named operations and host fallbacks of kymo/profiler.h ---------------------------------------------------------

namespace {

// The scopes hold its address if there is something to do at their end: a range in the trace, and the watched
// operation.
struct OpenOperation {
  explicit OpenOperation(std::string_view name) : range(Label(name, "operation")) {}
  Range range;
  Scope* scope = nullptr;
};

struct OpenFallback {
  explicit OpenFallback(std::string_view name) : range(Label(name, "host fallback")) {}
  Range range;
  Profiler* profiler = nullptr;  // null: it is not watched
  Entry* entry = nullptr;
  uint64_t run = 0, bytes = 0;
  ReportOptions report;
  std::string key;
};

// A forked child does not watch the operations of its parent.
bool is_this_process(const Profiler* profiler) { return profiler != nullptr && profiler == the_profiler_or_null(); }

bool is_unwatched(Subject subject) {
  const Profiler* profiler = the_profiler_or_null();
  return kymo::detail::receiver_bits() == 0 && (profiler == nullptr || !profiler->wanted().watches(subject));
}

void watch(OpenFallback& fallback, Profiler& profiler, std::string_view name,
           std::initializer_list<const device::Tensor*> tensors) {
  const Wanted wanted = profiler.wanted();
  if (!wanted.watches(Subject::Fallbacks)) return;
  const auto list = std::span<const device::Tensor* const>(tensors.begin(), tensors.size());
  fallback.entry = &profiler.entries().named(EntryKind::Fallback, name);
  fallback.run = fallback.entry->next_run();
  fallback.bytes = bytes_of(list);
  profiler.entries().note_tensors(*fallback.entry, fallback.bytes, [&] { return scope_key(name, list, false); });
  fallback.report = ReportOptions::of(wanted, Subject::Fallbacks);
  if (fallback.report.has_text()) fallback.key = scope_key(name, list, wanted.buffers());
  report_begin({fallback.entry, fallback.run, fallback.bytes, fallback.key}, fallback.report);
  fallback.profiler = &profiler;
}

void finish_fallback(const OpenFallback& fallback, uint64_t began_ns, uint64_t ended_ns) noexcept {
  Entry& entry = *fallback.entry;
  const uint64_t took = ended_ns - began_ns;
  entry.runs.fetch_add(1, std::memory_order_relaxed);
  entry.bytes.fetch_add(fallback.bytes, std::memory_order_relaxed);
  entry.call_ns.fetch_add(took, std::memory_order_relaxed);
  const ExecutionTimes times{began_ns, ended_ns, 0, took};
  if (fallback.report.at_end())
    report_end({&entry, fallback.run, fallback.bytes, fallback.key}, fallback.report, &times);
}

}  // namespace

// If there is no memory to watch a scope, it continues unwatched.

Operation::Operation(std::string_view name, std::initializer_list<const device::Tensor*> tensors, double flops) {
  if (device::WorkCapture* capture = device::work_capture()) capture->begin_operation(name, flops);
  if (is_unwatched(Subject::Operations)) return;
  try {
    auto open = std::make_unique<OpenOperation>(name);
    if (Profiler* profiler = the_profiler_or_null()) open->scope = profiler->open_scope(name, tensors, flops);
    id_ = reinterpret_cast<uintptr_t>(open.release());
  } catch (const std::exception&) {
  }
}

Operation::~Operation() {
  if (device::WorkCapture* capture = device::work_capture()) capture->end_operation();
  const std::unique_ptr<OpenOperation> open(reinterpret_cast<OpenOperation*>(id_));
  if (open != nullptr && open->scope != nullptr && is_this_process(open->scope->owner)) close_scope(*open->scope);
}

HostFallback::HostFallback(std::string_view name, std::initializer_list<const device::Tensor*> tensors) {
  if (is_unwatched(Subject::Fallbacks)) return;
  try {
    auto open = std::make_unique<OpenFallback>(name);
    if (Profiler* profiler = the_profiler_or_null()) watch(*open, *profiler, name, tensors);
    id_ = reinterpret_cast<uintptr_t>(open.release());
    began_ns_ = base::monotonic_ns();
  } catch (const std::exception&) {
  }
}

HostFallback::~HostFallback() {
  const std::unique_ptr<OpenFallback> open(reinterpret_cast<OpenFallback*>(id_));
  if (open != nullptr && is_this_process(open->profiler)) finish_fallback(*open, began_ns_, base::monotonic_ns());
}

}  // namespace kymo::profiler
