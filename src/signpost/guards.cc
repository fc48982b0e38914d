// kymo/profiler.h: named operations, and what the host does in the device's place.
#include <time.h>

#include <exception>
#include <memory>

#include "device/work_capture.h"
#include "kymo/annotate.h"
#include "kymo/profiler.h"
#include "signpost/profiler.h"
#include "signpost/scope.h"
#include "signpost/text.h"

namespace kymo::signpost {
namespace {

using Tensors = std::initializer_list<const device::Tensor*>;

// What the scopes hold the address of, where there is anything to do at their end: a range in the trace, and what is
// watched.
struct OpenOperation {
  explicit OpenOperation(std::string_view name) : range(Label(name, "operation")) {}
  Range range;
  Scope* scope = nullptr;
};

struct OpenFallback {
  explicit OpenFallback(std::string_view name) : range(Label(name, "host fallback")) {}
  Range range;
  Profiler* profiler = nullptr;  // null: nobody watches it
  Entry* entry = nullptr;
  uint64_t run = 0, bytes = 0;
  Telling telling;
  std::string key;
};

// In a forked child what the parent watched is none of the child's.
bool is_this_process(const Profiler* profiler) { return profiler != nullptr && profiler == the_profiler_or_null(); }

bool nobody_cares(Subject subject) {
  const Profiler* profiler = the_profiler_or_null();
  return kymo::detail::heard() == 0 && (profiler == nullptr || !profiler->wanted().watches(subject));
}

void watch(OpenFallback& fallback, Profiler& profiler, std::string_view name, Tensors tensors) {
  const Wanted wanted = profiler.wanted();
  if (!wanted.watches(Subject::Fallbacks)) return;
  const auto list = std::span<const device::Tensor* const>(tensors.begin(), tensors.size());
  fallback.entry = &profiler.entries().named(EntryKind::Fallback, name);
  fallback.run = fallback.entry->next_run();
  fallback.bytes = bytes_of(list);
  profiler.entries().note_tensors(*fallback.entry, fallback.bytes, [&] { return scope_key(name, list, false); });
  fallback.telling = Telling::of(wanted, Subject::Fallbacks);
  if (fallback.telling.has_text()) fallback.key = scope_key(name, list, wanted.buffers());
  tell_begin({fallback.entry, fallback.run, fallback.bytes, fallback.key}, fallback.telling);
  fallback.profiler = &profiler;
}

void finish_fallback(const OpenFallback& fallback, uint64_t began_ns, uint64_t ended_ns) noexcept {
  Entry& entry = *fallback.entry;
  const uint64_t took = ended_ns - began_ns;
  entry.runs.fetch_add(1, std::memory_order_relaxed);
  entry.bytes.fetch_add(fallback.bytes, std::memory_order_relaxed);
  entry.call_ns.fetch_add(took, std::memory_order_relaxed);
  const ExecutionTimes times{began_ns, ended_ns, 0, took};
  if (fallback.telling.at_end())
    tell_end({&entry, fallback.run, fallback.bytes, fallback.key}, fallback.telling, &times);
}

uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace
}  // namespace kymo::signpost

namespace kymo::profiler {

// Where there is no memory to watch a scope, it goes on unwatched.

Operation::Operation(std::string_view name, std::initializer_list<const device::Tensor*> tensors, double flops) {
  if (device::WorkCapture* capture = device::work_capture()) capture->begin_operation(name, flops);
  if (signpost::nobody_cares(signpost::Subject::Operations)) return;
  try {
    auto open = std::make_unique<signpost::OpenOperation>(name);
    if (signpost::Profiler* profiler = signpost::the_profiler_or_null())
      open->scope = profiler->open_scope(name, tensors, flops);
    id_ = reinterpret_cast<uintptr_t>(open.release());
  } catch (const std::exception&) {
  }
}

Operation::~Operation() {
  if (device::WorkCapture* capture = device::work_capture()) capture->end_operation();
  const std::unique_ptr<signpost::OpenOperation> open(reinterpret_cast<signpost::OpenOperation*>(id_));
  if (open != nullptr && open->scope != nullptr && signpost::is_this_process(open->scope->owner))
    signpost::close_scope(*open->scope);
}

HostFallback::HostFallback(std::string_view name, std::initializer_list<const device::Tensor*> tensors) {
  if (signpost::nobody_cares(signpost::Subject::Fallbacks)) return;
  try {
    auto open = std::make_unique<signpost::OpenFallback>(name);
    if (signpost::Profiler* profiler = signpost::the_profiler_or_null())
      signpost::watch(*open, *profiler, name, tensors);
    id_ = reinterpret_cast<uintptr_t>(open.release());
    began_ns_ = signpost::monotonic_ns();
  } catch (const std::exception&) {
  }
}

HostFallback::~HostFallback() {
  const std::unique_ptr<signpost::OpenFallback> open(reinterpret_cast<signpost::OpenFallback*>(id_));
  if (open != nullptr && signpost::is_this_process(open->profiler))
    signpost::finish_fallback(*open, began_ns_, signpost::monotonic_ns());
}

}  // namespace kymo::profiler
