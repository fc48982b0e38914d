// kymo/profiler.h: named operations, and host fallbacks.
#include <time.h>

#include <exception>
#include <memory>

#include "base/clock.h"
#include "device/work_capture.h"
#include "kymo/annotate.h"
#include "kymo/profiler.h"
#include "profiler/profiler.h"
#include "profiler/scope.h"
#include "profiler/text.h"

namespace kymo::profiler {
namespace {

using Tensors = std::initializer_list<const device::Tensor*>;

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

void watch(OpenFallback& fallback, Profiler& profiler, std::string_view name, Tensors tensors) {
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
}  // namespace kymo::profiler

namespace kymo::profiler {

// If there is no memory to watch a scope, it continues unwatched.

Operation::Operation(std::string_view name, std::initializer_list<const device::Tensor*> tensors, double flops) {
  if (device::WorkCapture* capture = device::work_capture()) capture->begin_operation(name, flops);
  if (profiler::is_unwatched(profiler::Subject::Operations)) return;
  try {
    auto open = std::make_unique<profiler::OpenOperation>(name);
    if (profiler::Profiler* profiler = profiler::the_profiler_or_null())
      open->scope = profiler->open_scope(name, tensors, flops);
    id_ = reinterpret_cast<uintptr_t>(open.release());
  } catch (const std::exception&) {
  }
}

Operation::~Operation() {
  if (device::WorkCapture* capture = device::work_capture()) capture->end_operation();
  const std::unique_ptr<profiler::OpenOperation> open(reinterpret_cast<profiler::OpenOperation*>(id_));
  if (open != nullptr && open->scope != nullptr && profiler::is_this_process(open->scope->owner))
    profiler::close_scope(*open->scope);
}

HostFallback::HostFallback(std::string_view name, std::initializer_list<const device::Tensor*> tensors) {
  if (profiler::is_unwatched(profiler::Subject::Fallbacks)) return;
  try {
    auto open = std::make_unique<profiler::OpenFallback>(name);
    if (profiler::Profiler* profiler = profiler::the_profiler_or_null())
      profiler::watch(*open, *profiler, name, tensors);
    id_ = reinterpret_cast<uintptr_t>(open.release());
    began_ns_ = base::monotonic_ns();
  } catch (const std::exception&) {
  }
}

HostFallback::~HostFallback() {
  const std::unique_ptr<profiler::OpenFallback> open(reinterpret_cast<profiler::OpenFallback*>(id_));
  if (open != nullptr && profiler::is_this_process(open->profiler))
    profiler::finish_fallback(*open, began_ns_, base::monotonic_ns());
}

}  // namespace kymo::profiler
