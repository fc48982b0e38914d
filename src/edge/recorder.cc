#include "edge/recorder.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "kymo/error.h"
#include "kymo/kymo.h"

namespace kymo::edge {

ThreadRecorder::ThreadRecorder(const LogOptions& options, uint64_t number, bool owner)
    : number_(number),
      owner_(owner),
      method_(options.stacks ? symbols::chosen_method() : symbols::Method::UnwindTables) {
  thread = static_cast<uint64_t>(syscall(SYS_gettid));
  char name[16] = {};  // max size of a thread name in the kernel
  if (prctl(PR_GET_NAME, name) == 0) thread_name.assign(name, strnlen(name, sizeof name));
  recent_stacks_.fill(kNothing);
  if (options.events.empty()) return;
  try {
    group_.emplace(options.events);
  } catch (const Error& refused) {
    no_counters = refused.what();
  }
}

void ThreadRecorder::pop() noexcept {
  RawOperation& operation = *open_;
  innermost_ = operation.parent;
  open_ = innermost_ == kNothing ? nullptr : &operations[innermost_];
  if (__builtin_expect(operation.receivers != 0, 0)) kymo_end_heard(operation.receivers);
}

uint32_t ThreadRecorder::begin_counts() noexcept {
  if (!group_) return kNothing;
  RawCounts* const made = counts.append();
  if (made == nullptr) {
    ++not_kept;
    return kNothing;
  }
  group_->read(made->begin);
  return counts.size() - 1;
}

// Not inlined, because its own frame is the one that is skipped.
[[gnu::noinline]] uint32_t ThreadRecorder::add_stack() noexcept {
  std::array<uintptr_t, kDeepest> found;
  const std::span<const uintptr_t> frames(found.data(), symbols::capture(found, 1, method_));
  uint64_t hash = frames.size();
  for (const uintptr_t frame : frames) hash = (hash ^ frame) * 0x9e3779b97f4a7c15u;

  uint32_t& recent = recent_stacks_[hash >> 58];
  static_assert(kRecentStacks == 64);
  if (recent != kNothing && std::ranges::equal(addresses.run(stacks[recent].at, stacks[recent].count), frames))
    return recent;  // a loop: the same stack again and again
  const uint32_t at = addresses.append_run(frames);
  RawStack* const made = at == Blocks<uintptr_t>::kFull ? nullptr : stacks.append();
  if (made == nullptr) {
    ++not_kept;
    return kNothing;
  }
  *made = {at, static_cast<uint32_t>(frames.size())};
  return recent = stacks.size() - 1;
}

}  // namespace kymo::edge
