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
      wants_stacks_(options.stacks),
      always_has_extras_(options.stacks || !options.events.empty()),
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

// Not inlined, as add_stack() skips its frame.
[[gnu::noinline]] RawExtras* ThreadRecorder::add_extras(RawOperation& operation, const OperationFacts& facts,
                                                        const Inputs* inputs) noexcept {
  RawExtras* const made = extras.append();
  if (made == nullptr) {
    ++not_kept;
    return nullptr;
  }
  operation.extras = extras.size() - 1;
  made->sequence = facts.sequence;
  made->forward_thread = facts.forward_thread;
  made->engine_id = facts.engine_id;
  if (inputs != nullptr && inputs->count() != 0) {
    const uint32_t at = inputs->whole() ? this->inputs.append_run(inputs->bytes()) : Blocks<std::byte>::kFull;
    if (at == Blocks<std::byte>::kFull) {
      ++not_kept;
    } else {
      made->inputs_at = at;
      made->inputs_size = static_cast<uint32_t>(inputs->bytes().size());
    }
  }
  if (wants_stacks_) made->stack = add_stack();
  return made;
}

// Not inlined, because its own frame is one of the two that are skipped.
[[gnu::noinline]] uint32_t ThreadRecorder::add_stack() noexcept {
  std::array<uintptr_t, kDeepest> found;
  const std::span<const uintptr_t> frames(found.data(), symbols::capture(found, 2, method_));
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
