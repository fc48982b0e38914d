#include "profiler/profiler.h"

#include <stdio.h>
#include <stdlib.h>

#include <exception>

#include "base/environment.h"
#include "base/text.h"
#include "device/stream_state.h"
#include "profiler/masks.h"
#include "profiler/process_end.h"

namespace kymo::profiler {
namespace {

using device::OperationKind;
using device::OperationTimes;
using device::StreamState;

constexpr uint64_t kScalarBytes = 8;

// An execution as a number. It contains either 1 and the address of its note, or two bits for interval and event, then
// the entry, then the run. 0: the execution is not reported.
constexpr uint64_t kIsNote = 1, kIsInterval = 2, kIsEvent = 4;
constexpr unsigned kNumberAt = 3;

Subject subject_of(const device::Operation& operation) {
  return operation.kind == OperationKind::Kernel || operation.kind == OperationKind::Fill ? Subject::Operations
                                                                                          : Subject::Copies;
}

void add_to(std::atomic<uint64_t>& count, uint64_t more) noexcept { count.fetch_add(more, std::memory_order_relaxed); }

void count_run(Entry& entry, const device::Operation& operation, const OperationTimes& times) noexcept {
  add_to(entry.runs, 1);
  add_to(entry.gpu_ns, times.gpu_ns);
  add_to(entry.call_ns, times.call_ns);
  if (entry.kind != EntryKind::Copy) return;
  add_to(entry.bytes, operation.bytes);
  if (operation.blocking) add_to(entry.blocking, 1);
  if (operation.bytes > kScalarBytes) return;
  add_to(entry.scalars, 1);
  add_to(entry.scalar_gpu_ns, times.gpu_ns);
}

ExecutionTimes times_of(const OperationTimes& times) {
  return {times.start_ns, times.end_ns, times.gpu_ns, times.call_ns};
}

}  // namespace

Profiler::Profiler() {
  constexpr std::string_view kNames[] = {"copy host to device", "copy device to device", "copy device to host"};
  for (size_t i = 0; i < copies_.size(); ++i) copies_[i] = &entries_.named(EntryKind::Copy, kNames[i]);
}

Entry& Profiler::entry_of(const StreamState& stream, const device::Operation& operation) {
  switch (operation.kind) {
    case OperationKind::CopyHostToDevice:
      return *copies_[0];
    case OperationKind::CopyOnDevice:
      return *copies_[1];
    case OperationKind::CopyDeviceToHost:
      return *copies_[2];
    default:
      break;
  }
  // A fill counts as a kernel of the device itself.
  static constexpr std::string_view kFill = "fill";
  const bool is_fill = operation.kind == OperationKind::Fill;
  const void* handle = is_fill ? &stream.device() : operation.handle;
  const std::string_view name = is_fill ? kFill : operation.name;
  Entry* found = entries_.find_kernel(handle, name);
  Entry& entry = found != nullptr ? *found : entries_.kernel(handle, name);
  entries_.note_tensors(entry, operation.bytes, [&] { return kernel_key(operation, false); });
  return entry;
}

uint64_t Profiler::queued(const StreamState& stream, const device::Operation& operation) noexcept {
  const Wanted now = wanted();
  const Subject subject = subject_of(operation);
  Scope* scope = current_scope();
  if (!now.watches(subject) && scope == nullptr) return 0;
  note_stream_used(stream);
  try {
    if (!now.watches(subject)) return queued_with_note(stream, operation, nullptr, 0, {}, scope);
    Entry& entry = entry_of(stream, operation);
    const uint64_t run = entry.next_run();
    const ReportOptions report = ReportOptions::of(now, subject);
    if (report.has_text() || scope != nullptr) return queued_with_note(stream, operation, &entry, run, report, scope);
    if (report.interval) report_begin({&entry, run, operation.bytes, {}}, report);
    return execution_number(entry.index, run) << kNumberAt | (report.interval ? kIsInterval : 0) |
           (report.event ? kIsEvent : 0);
  } catch (const std::exception&) {
    add_to(lost_, 1);  // there is no memory to keep it
    return 0;
  }
}

uint64_t Profiler::queued_with_note(const StreamState& stream, const device::Operation& operation, Entry* entry,
                                    uint64_t run, const ReportOptions& report, Scope* scope) {
  auto note = std::make_unique<Note>(Note{entry, run, report, scope, {}});
  if (report.has_text()) {
    const bool buffers = wanted().buffers();
    note->key = entry->kind == EntryKind::Copy ? copy_key(operation, stream.device().name(), buffers)
                                               : kernel_key(operation, buffers);
  }
  if (scope != nullptr) enter_scope(*scope, stream);
  if (entry != nullptr) report_begin({entry, run, operation.bytes, note->key}, report);
  return reinterpret_cast<uintptr_t>(note.release()) | kIsNote;
}

void Profiler::completed(const StreamState& stream, const device::Operation& operation, uint64_t execution,
                         const OperationTimes& times) noexcept {
  over(stream, operation, execution, &times);
}

void Profiler::lost(const StreamState& stream, const device::Operation& operation, uint64_t execution) noexcept {
  over(stream, operation, execution, nullptr);
}

void Profiler::over(const StreamState& stream, const device::Operation& operation, uint64_t execution,
                    const OperationTimes* times) noexcept {
  if (execution == 0) return;
  note_stream_ran(stream);
  const ExecutionTimes times_known = times != nullptr ? times_of(*times) : ExecutionTimes{};
  const ExecutionTimes* known = times != nullptr ? &times_known : nullptr;
  if ((execution & kIsNote) == 0) {
    const uint64_t number = execution >> kNumberAt;
    Entry& entry = entries_.at(static_cast<uint32_t>(number & (Entries::kMax - 1)));
    times != nullptr ? count_run(entry, operation, *times) : add_to(lost_, 1);
    ReportOptions report;
    report.interval = (execution & kIsInterval) != 0;
    report.event = (execution & kIsEvent) != 0;
    if (report.at_end()) report_end({&entry, number / Entries::kMax, operation.bytes, {}}, report, known);
    return;
  }
  const std::unique_ptr<Note> note(reinterpret_cast<Note*>(execution & ~kIsNote));
  if (note->entry != nullptr) {
    times != nullptr ? count_run(*note->entry, operation, *times) : add_to(lost_, 1);
    if (note->report.at_end()) report_end({note->entry, note->run, operation.bytes, note->key}, note->report, known);
  }
  if (note->scope != nullptr) leave_scope(*note->scope, stream, times);
}

Scope* Profiler::open_scope(std::string_view name, std::initializer_list<const device::Tensor*> tensors, double flops) {
  const Wanted now = wanted();
  if (!now.watches(Subject::Operations)) return nullptr;
  const auto list = std::span<const device::Tensor* const>(tensors.begin(), tensors.size());
  auto scope = std::make_unique<Scope>();
  scope->owner = this;
  scope->entry = &entries_.named(EntryKind::Operation, name);
  entries_.note_tensors(*scope->entry, bytes_of(list), [&] { return scope_key(name, list, false); });
  scope->run = scope->entry->next_run();
  scope->flops = flops;
  scope->report = ReportOptions::of(now, Subject::Operations);
  if (scope->report.has_text()) scope->key = scope_key(name, list, now.buffers());
  report_begin({scope->entry, scope->run, 0, scope->key}, scope->report);
  push_scope(*scope);
  return scope.release();
}

void Profiler::finish(Scope& scope) noexcept {
  const bool known = scope.lost == 0 || scope.completed != 0;
  const ExecutionTimes times{scope.start_ns, scope.end_ns, scope.end_ns - scope.start_ns, scope.call_ns};
  if (known) {
    add_to(scope.entry->runs, 1);
    add_to(scope.entry->gpu_ns, times.gpu_ns);
    add_to(scope.entry->call_ns, times.cpu_ns);
    scope.entry->flops.fetch_add(scope.flops, std::memory_order_relaxed);
  } else {
    add_to(lost_, 1);
  }
  if (scope.report.at_end()) report_end({scope.entry, scope.run, 0, scope.key}, scope.report, known ? &times : nullptr);
}

// ---- What is watched ------------------------------------------------------------------------------------------------

// The caller holds mutex_.
void Profiler::apply() {
  const Wanted now = Wanted::from(signposts_, started_.load(), log_.load());
  wanted_.store(now.bits(), std::memory_order_relaxed);
  if (now.bits() != 0) watch_forks();
  // Operations that were queued before are still reported: the runtime remembers which watchers received their begin.
  device::set_watcher(device::WatcherRole::Profiler, now.needs_devices() ? this : nullptr);
}

bool Profiler::start(uint32_t mask) {
  std::lock_guard lock(mutex_);
  if (started_.load() != 0) return false;
  started_ = mask;
  apply();
  return true;
}

void Profiler::stop() noexcept {
  std::lock_guard lock(mutex_);
  if (started_.exchange(0) != 0) apply();
}

void Profiler::set_signposts(uint32_t mask) {
  std::lock_guard lock(mutex_);
  signposts_ = mask;
  apply();
}

void Profiler::set_log(uint32_t mask) {
  std::lock_guard lock(mutex_);
  const bool prints = (mask & kAllStatistics) != 0;
  if (prints && (log_.load() & kAllStatistics) == 0) print_at_exit();
  log_ = mask;
  apply();
  watch_interrupts(prints);
}

void start(std::string_view mode, bool wait_until_completed) {
  const uint32_t mask = parse_mode(mode) | (wait_until_completed ? kWait : 0);
  if (!the_profiler().start(mask))
    throw Error(base::format("the profiler runs already: call stop() before you start it as \"{}\"", mode));
}

void stop() noexcept {
  if (Profiler* profiler = the_profiler_or_null()) profiler->stop();
}

bool is_running() noexcept {
  const Profiler* profiler = the_profiler_or_null();
  return profiler != nullptr && profiler->is_running();
}

void set_signposts(std::string_view mask) { the_profiler().set_signposts(parse_signposts(mask)); }
void set_log(std::string_view mask) { the_profiler().set_log(parse_log(mask)); }

namespace {

// KYMO_SIGNPOSTS and KYMO_PROFILE_LOG profile any program that links Kymo's device runtime, from its first operation
// on.
__attribute__((constructor(103))) void profile_by_environment() {
  const char* signposts = base::environment("KYMO_SIGNPOSTS");
  const char* log = base::environment("KYMO_PROFILE_LOG");
  if (signposts == nullptr && log == nullptr) return;
  try {
    const uint32_t signpost_mask = parse_signposts(signposts != nullptr ? signposts : "");
    const uint32_t log_mask = parse_log(log != nullptr ? log : "");
    if (signpost_mask != 0) the_profiler().set_signposts(signpost_mask);
    if (log_mask != 0) the_profiler().set_log(log_mask);
  } catch (const std::exception& error) {
    // The user asked for it, and it is not possible: the program continues, and the error is printed.
    fprintf(stderr, "kymo: not profiling: %s\n", error.what());
  }
}

}  // namespace
}  // namespace kymo::profiler

// Makes sure that a program that links the runtime statically contains the code above; never called.
extern "C" void kymo_link_profiler(void) {}
