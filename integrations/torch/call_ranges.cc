#include "call_ranges.h"

#include <ATen/SequenceNumber.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "call_texts.h"
#include "cpp_stacks.h"
#include "kymo/annotate.h"
#include "of_thread.h"
#include "torch_module.h"

namespace kymo::libtorch {

namespace {

// ---- What is reported: one word, so that every call sees a consistent value

enum Bit : uint64_t { kOperators = 1, kShapes = 2, kFlops = 4, kModules = 8, kStacks = 16 };
constexpr uint64_t bit(Bit which, bool is_set) { return is_set ? which : uint64_t{0}; }
constinit std::atomic<uint64_t> wanted_now{0};

// ---- The operations that are open on a thread

struct OpenCall {
  uint64_t handle = 0;  // libtorch's number for it
  int64_t sequence = -1;
  uint32_t receivers = 0;  // who received it: bits of KYMO_MODE_HEARD
  at::RecordScope scope = at::RecordScope::FUNCTION;
  bool is_gradient = false;  // of a backward function: it keeps the gradient of a parameter
  bool counted = false;      // its floating-point operations are counted; those inside it are not counted again
  bool passed_on = false;    // an operation inside has the same sequence number, and may be the differentiated one
  bool over = false;
};

struct ThreadCalls {
  std::vector<OpenCall> open;
  uint32_t counted = 0;  // number of open calls with `counted` set
  std::optional<KnownCalls> known;
};

// Handles of operations that ended on a different thread, until their own thread has noticed it.
constexpr size_t kMaxEndedElsewhere = 65'536;
struct EndedElsewhere {
  std::mutex mutex;
  std::unordered_set<uint64_t> handles;
  std::atomic<size_t> count{0};
};
EndedElsewhere& ended_elsewhere() {
  static auto* const ended = new EndedElsewhere;
  return *ended;
}

void note_end_elsewhere(uint64_t handle) {
  EndedElsewhere& ended = ended_elsewhere();
  const std::lock_guard lock(ended.mutex);
  if (ended.handles.size() >= kMaxEndedElsewhere) ended.handles.clear();  // their threads no longer exist
  ended.handles.insert(handle);
  ended.count.store(ended.handles.size(), std::memory_order_release);
}

bool has_ended_elsewhere(uint64_t handle) {
  EndedElsewhere& ended = ended_elsewhere();
  if (ended.count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(ended.mutex);
  const bool has = ended.handles.erase(handle) != 0;
  ended.count.store(ended.handles.size(), std::memory_order_release);
  return has;
}

// ---- From an operator to the backward function it leads to

constexpr Label kBackwardFlow("fwdbwd", "torch");

// Sequence numbers are per thread of libtorch, so the thread is part of the flow's number. The result is not a number
// that a program would choose for its own flow.
uint64_t backward_flow(uint64_t forward_thread, int64_t sequence) noexcept {
  const uint64_t mixed = (forward_thread * 0x9e3779b97f4a7c15u) ^ static_cast<uint64_t>(sequence);
  return (mixed * 0xbf58476d1ce4e5b9u) | uint64_t{1} << 63;
}

// A node of the backward graph gets the number that was next when its operator began, so the counter is now past that
// number. If operations are nested, the innermost one made the node.
bool made_backward_node(const OpenCall& call) noexcept {
  return call.scope == at::RecordScope::FUNCTION && call.sequence >= 0 && !call.passed_on &&
         at::sequence_number::peek() > static_cast<uint64_t>(call.sequence);
}

// ---- Ranges

const char* category_of(at::RecordScope scope) noexcept {
  return scope == at::RecordScope::USER_SCOPE ? "user_annotation" : "cpu_op";
}

// The fields of one range; the values that they refer to must outlive this object.
class Fields {
 public:
  template <class T>
  void add(const char* name, const T& value) noexcept {
    if (count_ < fields_.size()) fields_[count_++] = arg(name, value);
  }
  void add_text(const char* name, const std::string& text) noexcept {
    if (!text.empty()) add(name, text);
  }
  const kymo_arg* data() const noexcept { return fields_.data(); }
  uint32_t count() const noexcept { return count_; }

 private:
  std::array<kymo_arg, 8> fields_;
  uint32_t count_ = 0;
};

void add_inputs(ThreadCalls& thread, const at::RecordFunction& call, std::string_view name, uint64_t wanted,
                OpenCall& open, Fields& fields) {
  if (!thread.known) thread.known.emplace();
  const CallTexts* const texts = thread.known->find(call, name);
  if (texts == nullptr) return;
  if ((wanted & kShapes) != 0) {
    fields.add("Input Dims", texts->shapes);
    fields.add("Input type", texts->types);
  }
  if ((wanted & kFlops) != 0 && texts->flops != 0 && thread.counted == 0) {
    open.counted = true;
    fields.add("Flops", texts->flops);
  }
}

// noinline: keeps the texts, which most calls do not have, out of the caller's frame.
[[gnu::noinline]] void begin_range(ThreadCalls& thread, const at::RecordFunction& call, uint64_t wanted,
                                   OpenCall& open) {
  const std::string_view name(call.name(), strnlen(call.name(), kLongestName));
  Fields fields;
  std::string hierarchy, script;
  const bool is_backward = open.scope == at::RecordScope::BACKWARD_FUNCTION;
  if (open.scope != at::RecordScope::USER_SCOPE) {
    if ((wanted & (kShapes | kFlops)) != 0) add_inputs(thread, call, name, wanted, open, fields);
    if (open.sequence >= 0) fields.add("Sequence number", open.sequence);
    if (is_backward) fields.add("Fwd thread id", edge::forward_thread(call.forwardThreadId()));
  }
  if ((wanted & kModules) != 0) fields.add_text("Module Hierarchy", hierarchy = module_hierarchy(name));
  if ((wanted & kStacks) != 0) {
    fields.add_text("Call stack", script = script_stack());
    if (const std::string* const stack = cpp_stack()) fields.add("C++ stack", *stack);
  }
  const Label label(name, category_of(open.scope));
  kymo_begin_label_heard(&label, fields.data(), fields.count(), open.receivers);
  if (is_backward && open.sequence >= 0) flow_end(kBackwardFlow, backward_flow(call.forwardThreadId(), open.sequence));
}

void end_range(ThreadCalls& thread) noexcept {
  const OpenCall& call = thread.open.back();
  if (call.counted) --thread.counted;
  if ((call.receivers & KYMO_MODE_RECORDING) != 0 && made_backward_node(call))
    flow_begin(kBackwardFlow, backward_flow(at::RecordFunction::currentThreadId(), call.sequence));
  if (call.receivers != 0) kymo_end_heard(call.receivers);  // in a later recording, it ends nothing
  thread.open.pop_back();
}

// Removes calls at the top that have ended out of order or on another thread.
void settle(ThreadCalls& thread) {
  while (!thread.open.empty() && (thread.open.back().over || has_ended_elsewhere(thread.open.back().handle)))
    end_range(thread);
}

}  // namespace

void record_calls(const CallOptions& wanted) noexcept {
  wanted_now.store(bit(kOperators, wanted.operators) | bit(kShapes, wanted.shapes) | bit(kFlops, wanted.flops) |
                       bit(kModules, wanted.modules) | bit(kStacks, wanted.stacks),
                   std::memory_order_relaxed);
}

bool calls_are_recorded() noexcept { return (wanted_now.load(std::memory_order_relaxed) & kOperators) != 0; }

std::unique_ptr<at::ObserverContext> call_begins(const at::RecordFunction& call) {
  ThreadCalls* const thread = OfThread<ThreadCalls>::get();
  if (thread == nullptr) return nullptr;
  settle(*thread);
  edge::note_forward_thread();
  const uint64_t wanted = wanted_now.load(std::memory_order_relaxed);
  const uint32_t receivers = detail::receiver_bits();
  OpenCall open{.handle = call.handle(), .sequence = call.seqNr(), .receivers = receivers, .scope = call.scope()};
  if (open.scope == at::RecordScope::BACKWARD_FUNCTION)
    open.is_gradient = std::strstr(call.name(), "AccumulateGrad") != nullptr;
  if (!thread->open.empty() && thread->open.back().sequence == open.sequence) thread->open.back().passed_on = true;
  thread->open.push_back(open);
  if (receivers != 0) begin_range(*thread, call, wanted, thread->open.back());
  if (thread->open.back().counted) ++thread->counted;
  return nullptr;
}

void call_ends(const at::RecordFunction& call, at::ObserverContext*) {
  ThreadCalls* const thread = OfThread<ThreadCalls>::get();
  const uint64_t handle = call.handle();
  if (thread != nullptr) {
    if (!thread->open.empty() && thread->open.back().handle == handle) {
      end_range(*thread);
      return settle(*thread);
    }
    for (OpenCall& open : thread->open)
      if (open.handle == handle) {
        open.over = true;
        return settle(*thread);
      }
  }
  const bool began_here = call.threadId() == at::RecordFunction::currentThreadId();
  if (!began_here) note_end_elsewhere(handle);
}

std::string_view memory_category() noexcept {
  const ThreadCalls* const thread = OfThread<ThreadCalls>::if_there();
  if (thread == nullptr) return {};
  const std::vector<OpenCall>& open = thread->open;
  for (auto call = open.rbegin(); call != open.rend(); ++call) {
    if (call->scope == at::RecordScope::BACKWARD_FUNCTION) return call->is_gradient ? "gradient" : "autograd_detail";
    if (call->scope == at::RecordScope::FUNCTION && call->sequence >= 0) return "activation";
  }
  return {};
}

}  // namespace kymo::libtorch
