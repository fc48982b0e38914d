#include "unwind/quick_stack.h"

#include <span>

#include "unwind/rule_table.h"
#include "unwind/stack_tree.h"
#include "unwind/walk.h"

namespace kymo::unwind {

bool QuickStack::make_room() noexcept {
  static_assert(sizeof(Frame) == 64, "a frame is a line of the cache");
  if (frames_ == nullptr) frames_ = static_cast<Frame*>(take_pages(2 * kMaxFrames * sizeof(Frame)));
  if (frames_ != nullptr) fresh_ = frames_ + kMaxFrames;
  return frames_ != nullptr;
}

void QuickStack::release() noexcept {
  give_back_pages(frames_, 2 * kMaxFrames * sizeof(Frame));
  frames_ = fresh_ = nullptr;
  kept_ = 0;
  tree_.release();
}

Node QuickStack::child_of(Node parent, uintptr_t address, const NodeListener& listener) noexcept {
  bool fresh = false;
  const Node node = tree_.child(parent, address, fresh);
  if (__builtin_expect(!fresh, 1) || listener.on_new(listener.context, node, parent, address)) return node;
  tree_.take_back(parent, address);
  return kNoStack;
}

// Adds the fresh frames to the `kept` remembered ones, from the outermost to the innermost.
inline __attribute__((always_inline)) Node QuickStack::finish(Node outer, size_t kept, size_t fresh,
                                                              const NodeListener& listener) noexcept {
  kept_ = kept;
  bool fp_matters = kept > 0 && frames_[kept - 1].fp_matters;
  while (fresh > 0) {
    const Frame& frame = fresh_[--fresh];
    outer = child_of(outer, frame.at.pc, listener);
    if (__builtin_expect(outer == kNoStack, 0)) return kNoStack;
    fp_matters = needs_frame_pointer(frame.rule_flags) || (fp_matters && !frame.reads.restored_frame_pointer());
    Frame& kept_frame = frames_[kept_++];
    frame.copy_to(kept_frame);
    kept_frame.node = outer;
    kept_frame.rule_flags = frame.rule_flags;
    kept_frame.fp_matters = fp_matters ? 1 : 0;
  }
  return outer;
}

// Looks at the outermost `frames` for the innermost one whose words have changed. Returns how many frames there are
// from the outermost one to that frame, inclusive. 0: no frame has changed.
KYMO_READS_STACKS inline size_t QuickStack::outside_of_changes(size_t frames) const noexcept {
  while (frames > 0 && frames_[frames - 1].reads.unchanged()) --frames;
  return frames;
}

KYMO_READS_STACKS Node QuickStack::capture(Registers at, const ThreadStacks& stacks,
                                           const NodeListener& listener) noexcept {
  if (!kCanUnwind || (frames_ == nullptr && !make_room())) return kNoStack;
  at.pc = without_signature(at.pc);
  const uintptr_t high = stacks.own.high;
  if (__builtin_expect(!stacks.own.hold(at.sp), 0)) {
    if (stacks.alternate.hold(at.sp)) return walk_anew(at, stacks, listener);
    return child_of(kCutElsewhere, at.pc, listener);
  }
  Registers now = at;
  size_t candidates = kept_, fresh = 0;
  for (;;) {
    while (candidates > 0 && frames_[candidates - 1].at.sp < now.sp) --candidates;
    if (candidates > 0 && frames_[candidates - 1].is_at(now)) {
      const size_t changed = outside_of_changes(candidates);
      if (changed == 0) {
        if (candidates + fresh > kMaxFrames) break;
        return finish(frames_[candidates - 1].node, candidates, fresh, listener);
      }
      // The frames inside the changed frame are the same, but the stack outside of them is not. Their frame pointer is
      // the current one, until one of them restored another value.
      while (candidates > changed && fresh < kMaxFrames) {
        const Frame& same = frames_[--candidates];
        fresh_[fresh] = same;
        fresh_[fresh++].at.fp = now.fp;
        if (same.reads.restored_frame_pointer()) now.fp = same.reads.fp_word;
      }
      const Frame& other = frames_[--candidates];
      now = {other.at.pc, other.at.sp, now.fp};
    }
    if (fresh == kMaxFrames) break;
    Frame& frame = fresh_[fresh++];
    const Rule& rule = rule_table.at(now.pc);
    frame.at = now;
    frame.rule_flags = rule.flags;
    const Step taken = step(rule, high, now, frame.reads);
    if (taken == Step::Next) continue;
    if (taken == Step::Signal) return walk_anew(at, stacks, listener);
    return finish(taken == Step::End ? kRoot : kCutNoRule, 0, fresh, listener);
  }
  if (fresh > kFramesOfACutStack) fresh = kFramesOfACutStack;
  const Node node = finish(kCutTooDeep, 0, fresh, listener);
  kept_ = 0;
  return node;
}

// Walks the stack of a signal handler and then the stack that it interrupted. The result is not remembered.
Node QuickStack::walk_anew(const Registers& at, const ThreadStacks& stacks, const NodeListener& listener) noexcept {
  const std::span addresses(reinterpret_cast<uintptr_t*>(fresh_), kMaxFrames);  // uses the memory of the fresh frames
  const Walked walked = walk(at, stacks, addresses, 0, WithoutTable::Guess);
  size_t count = walked.count;
  Node node = kRoot;
  if (walked.end == WalkEnd::NoRule) node = kCutNoRule;
  if (walked.end == WalkEnd::Elsewhere) node = kCutElsewhere;
  if (walked.end == WalkEnd::Full) {
    node = kCutTooDeep;
    count = kFramesOfACutStack;
  }
  while (count > 0 && node != kNoStack) node = child_of(node, addresses[--count], listener);
  kept_ = 0;
  return node;
}

}  // namespace kymo::unwind
