// The recording calls of kymo/edge_engine.h, and the defaults of kymo/edge_module.h.
#include <utility>

#include "base/text.h"
#include "edge/log.h"
#include "kymo/edge_engine.h"
#include "kymo/edge_module.h"
#include "kymo/queue.h"

namespace kymo::edge {

namespace {

// A recording call of this thread, until the end of the scope.
class RecordingCall {
 public:
  explicit RecordingCall(Log& log) noexcept : recorder_(log.recorder()) {
    if (recorder_ != nullptr && !recorder_->enter(log)) recorder_ = nullptr;
  }
  ~RecordingCall() {
    if (recorder_ != nullptr) recorder_->leave();
  }
  RecordingCall(const RecordingCall&) = delete;
  RecordingCall& operator=(const RecordingCall&) = delete;

  explicit operator bool() const noexcept { return recorder_ != nullptr; }
  ThreadRecorder* operator->() const noexcept { return recorder_; }

 private:
  ThreadRecorder* recorder_;
};

bool has_extras(const OperationFacts& facts, const Inputs* inputs) noexcept {
  return facts.sequence != -1 || facts.forward_thread != 0 || facts.engine_id != 0 ||
         (inputs != nullptr && inputs->count() != 0);
}

RawOperation* raw(OpenOperation* operation) noexcept { return reinterpret_cast<RawOperation*>(operation); }

void send_to_receivers(RawOperation& operation, std::string_view name) noexcept {
  static constexpr std::string_view kCategory = "edge";
  const uint32_t receivers = kymo_mode.load(std::memory_order_relaxed) & KYMO_MODE_HEARD;
  if (receivers == 0) return;
  const kymo_label label{name.data(), kCategory.data(), static_cast<uint32_t>(name.size()),
                         static_cast<uint32_t>(kCategory.size()), 0};
  kymo_begin_label_heard(&label, nullptr, 0, receivers);
  operation.receivers = static_cast<uint8_t>(receivers);
}

void add_memory(Log& log, const MemoryFacts& facts, bool out_of_memory) noexcept {
  if (!log.options().wanted.memory) return;
  const uint64_t ticks = log.ticks();
  const RecordingCall call(log);
  if (!call) return;
  RawMemory* const made = call->memory.append();
  if (made == nullptr) {
    ++call->not_kept;
    return;
  }
  call->settle();
  *made = {ticks,
           reinterpret_cast<uintptr_t>(facts.address),
           facts.bytes,
           facts.total_allocated,
           facts.total_reserved,
           facts.device,
           call->innermost(),
           out_of_memory};
}

}  // namespace

// ---- Current log of a thread ----------------------------------------------------------------------------------------

Log* current_log() noexcept { return this_thread.current; }

Wanted wanted(const Log& log) noexcept { return log.options().wanted; }

KeptLog::KeptLog(Log* log) noexcept : log_(log) {
  if (log_ != nullptr) log_->keep();
}
KeptLog::KeptLog(const KeptLog& other) noexcept : KeptLog(other.log_) {}
KeptLog& KeptLog::operator=(KeptLog other) noexcept {
  std::swap(log_, other.log_);
  return *this;
}
KeptLog::~KeptLog() {
  if (log_ != nullptr) log_->release();
}

AdoptedLog::AdoptedLog(Log* log) noexcept : before_(this_thread.current), log_(log) { this_thread.current = log; }

AdoptedLog::~AdoptedLog() {
  Log *const now = this_thread.current, *const before = before_.get();
  if (now != log_.get() && now != nullptr) return;  // a profiler began in the meantime
  this_thread.current = before != nullptr && before->on() ? before : nullptr;
}

// ---- Operations -----------------------------------------------------------------------------------------------------

KYMO_AT_CACHE_LINE OpenOperation* begin(Log& log, const OperationFacts& facts, const Inputs* inputs) noexcept {
  const RecordingCall call(log);
  if (!call) return nullptr;
  const uint32_t name = call->names.number_of(facts.name);
  RawOperation* const made = name == Names::kNone ? nullptr : call->operations.append();
  if (made == nullptr) {
    ++call->not_kept;
    return nullptr;
  }
  made->debug_handle = facts.debug_handle;
  made->name = name;
  made->scope = facts.scope;
  call->settle();
  call->push(*made, call->operations.size() - 1);
  RawExtras* const extras =
      call->always_has_extras() || has_extras(facts, inputs) ? call->add_extras(*made, facts, inputs) : nullptr;
  if (!facts.already_recorded) send_to_receivers(*made, facts.name);
  // The operation's own counts and time begin here.
  if (extras != nullptr && !log.options().events.empty()) extras->counts = call->begin_counts();
  made->begin_ticks = log.ticks();
  return reinterpret_cast<OpenOperation*>(made);
}

KYMO_AT_CACHE_LINE void end(Log& log, OpenOperation* operation) noexcept {
  if (operation == nullptr) return;
  const uint64_t ticks = log.ticks();
  RawOperation& ended = *raw(operation);
  ThreadRecorder* const recorder = log.known_recorder();
  if (recorder == nullptr) return log.end_elsewhere(ended, ticks);
  if (!recorder->is_innermost(ended) || !recorder->enter(log)) {
    // Its end is reported later, when the operations inside it have ended. Only then does the range end for listeners,
    // too.
    const KeptLog kept(&log);
    log.end_elsewhere(ended, ticks);
    recorder->settle();
    return;
  }
  if (ended.extras != kNothing) recorder->end_counts(ended);
  ended.over.store(true, std::memory_order_relaxed);
  ended.end_ticks.store(ticks, std::memory_order_relaxed);
  ++recorder->ended;
  recorder->pop();
  recorder->settle();
  recorder->leave();
}

// ---- Other calls ----------------------------------------------------------------------------------------------------

void memory(Log& log, const MemoryFacts& facts) noexcept { add_memory(log, facts, false); }
void out_of_memory(Log& log, const MemoryFacts& facts) noexcept { add_memory(log, facts, true); }

void device_operation(Log& log, const DeviceFacts& facts) noexcept {
  const RecordingCall call(log);
  if (!call) return;
  const uint32_t name = call->names.number_of(facts.name);
  RawDeviceOperation* const made = name == Names::kNone ? nullptr : call->device_operations.append();
  if (made == nullptr) {
    ++call->not_kept;
    return;
  }
  call->settle();
  *made = {facts.queued_ns, facts.start_ns, facts.end_ns,      facts.queue,
           facts.device,    name,           call->innermost(), facts.queued_ns != 0};
}

void backend_event(Log& log, const BackendFacts& facts) noexcept {
  const RecordingCall call(log);
  if (!call) return;
  const uint32_t name = call->names.number_of(facts.name), backend = call->names.number_of(facts.backend);
  RawBackendEvent* const made =
      name == Names::kNone || backend == Names::kNone ? nullptr : call->backend_events.append();
  if (made == nullptr) {
    ++call->not_kept;
    return;
  }
  *made = {facts.start_us, facts.end_us, facts.debug_handle, name, backend, log.ticks()};
}

// ---- Modules --------------------------------------------------------------------------------------------------------

std::string unknown_handle(int64_t debug_handle) {
  return base::format("Debug info for handle(s): {}, was not found.", debug_handle);
}

std::string Module::module_hierarchy(int64_t, const std::string&) const { return kNoDebugInformation; }
std::string Module::call_stack(int64_t) const { return kNoDebugInformation; }
void Module::begin(Log&, Wanted) {}
void Module::end() noexcept {}

}  // namespace kymo::edge
