#include "hook/quick_unwind.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "hook/pages.h"
#include "hook/rule_table.h"

// Reading other functions' frames is the point here.
#define KYMO_READS_STACKS __attribute__((no_sanitize("address", "thread", "undefined")))

namespace kymo::hook {
namespace {

constexpr uintptr_t kNothing = 0;  // where a frame "read" that had nothing to read
constexpr size_t kWord = sizeof(uintptr_t);

inline uintptr_t slot_of_nothing() noexcept { return reinterpret_cast<uintptr_t>(&kNothing); }

KYMO_READS_STACKS inline uintptr_t word_in_stack(uintptr_t slot) noexcept {
  typedef uintptr_t __attribute__((may_alias)) AnyWord;
  return *reinterpret_cast<const AnyWord*>(slot);
}

inline bool is_slot(uintptr_t slot, uintptr_t low, uintptr_t high) noexcept {
  return slot >= low && slot <= high - kWord && slot % kWord == 0;
}

struct Interrupted {
  Registers registers;
  uintptr_t link = 0;  // the return address in its register, where a processor has one
};

// What a signal handler's frame record says, `sp` being where its trampoline stands.
KYMO_READS_STACKS bool interrupted_at(uintptr_t sp, const StackBounds& bounds, Interrupted& found) noexcept {
#if defined(__aarch64__)
  const uintptr_t context = sp + sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext);
#else
  const uintptr_t context = sp + offsetof(ucontext_t, uc_mcontext);
#endif
  if (!is_slot(context, bounds.low, bounds.high) || bounds.high - context < sizeof(mcontext_t)) return false;
#if defined(__aarch64__)
  const auto& saved = *reinterpret_cast<const mcontext_t*>(context);
  found = {{saved.pc, saved.sp, saved.regs[29]}, without_signature(saved.regs[30])};
#elif defined(__x86_64__)
  const auto& saved = *reinterpret_cast<const mcontext_t*>(context);
  const auto word = [&](int which) { return static_cast<uintptr_t>(saved.gregs[which]); };
  found = {{word(REG_RIP), word(REG_RSP), word(REG_RBP)}, 0};
#endif
  return kCanUnwind;
}

}  // namespace

KYMO_READS_STACKS Registers caller_of(const Registers& here, uintptr_t return_address) noexcept {
  const UnwindRule& rule = rule_table.at(here.pc + 1);
  if (rule.kind != UnwindRule::Kind::Table || (rule.flags & UnwindRule::kCfaLoaded) != 0) return {return_address};
  const auto plus = [](uintptr_t base, int32_t offset) { return base + static_cast<uintptr_t>(intptr_t{offset}); };
  const bool by_fp = (rule.flags & UnwindRule::kCfaByFramePointer) != 0;
  const uintptr_t cfa = plus(by_fp ? here.fp : here.sp, rule.cfa_offset);
  if ((rule.flags & UnwindRule::kFramePointerSaved) == 0) return {return_address, cfa, here.fp};
  const bool saved_by_fp = (rule.flags & UnwindRule::kSavedByFramePointer) != 0;
  return {return_address, cfa, word_in_stack(plus(saved_by_fp ? here.fp : cfa, rule.fp_offset))};
}

// ---- One frame ---------------------------------------------------------------------------------------------------

KYMO_READS_STACKS inline QuickStack::Step QuickStack::step(Frame& frame, const UnwindRule& rule, uintptr_t high,
                                                           Registers& next) noexcept {
  frame.return_slot = frame.fp_slot = slot_of_nothing();
  frame.return_word = frame.fp_word = 0;
  uintptr_t cfa, return_slot, fp_slot = 0;
  if (__builtin_expect(rule.kind == UnwindRule::Kind::Table, 1)) {
    cfa = ((rule.flags & UnwindRule::kCfaByFramePointer) != 0 ? frame.fp : frame.sp) +
          static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
    if (__builtin_expect((rule.flags & (UnwindRule::kCfaLoaded | UnwindRule::kReturnInRegister)) != 0, 0)) {
      if ((rule.flags & UnwindRule::kReturnInRegister) != 0 || !is_slot(cfa, frame.sp, high)) return Step::Cut;
      cfa = word_in_stack(cfa);
    }
    return_slot = cfa + static_cast<uintptr_t>(intptr_t{rule.return_offset});
    if ((rule.flags & UnwindRule::kFramePointerSaved) != 0)
      fp_slot = ((rule.flags & UnwindRule::kSavedByFramePointer) != 0 ? frame.fp : cfa) +
                static_cast<uintptr_t>(intptr_t{rule.fp_offset});
  } else if (rule.kind == UnwindRule::Kind::FramePointer) {
    fp_slot = frame.fp;
    return_slot = frame.fp + kWord;
    cfa = frame.fp + 2 * kWord;
  } else {
    if (rule.kind == UnwindRule::Kind::Signal) return Step::Signal;
    return rule.kind == UnwindRule::Kind::End ? Step::End : Step::Cut;
  }
  if (__builtin_expect(cfa <= frame.sp || cfa > high || !is_slot(return_slot, frame.sp, high), 0)) return Step::Cut;
  frame.return_slot = return_slot;
  frame.return_word = word_in_stack(return_slot);
  next = {without_signature(frame.return_word), cfa, frame.fp};
  if (fp_slot != 0) {
    if (!is_slot(fp_slot, frame.sp, high)) return Step::Cut;
    frame.fp_slot = fp_slot;
    next.fp = frame.fp_word = word_in_stack(fp_slot);
  }
  // Such a frame read one word more than is remembered: it is stepped over anew each time.
  if (__builtin_expect((rule.flags & UnwindRule::kCfaLoaded) != 0, 0)) {
    frame.fp_slot = slot_of_nothing();
    frame.fp_word = 1;
  }
  return next.pc != 0 ? Step::Next : Step::End;
}

KYMO_READS_STACKS inline bool QuickStack::unchanged(const Frame& frame) noexcept {
  return word_in_stack(frame.return_slot) == frame.return_word && word_in_stack(frame.fp_slot) == frame.fp_word;
}

// ---- A stack -----------------------------------------------------------------------------------------------------

bool QuickStack::make_room() noexcept {
  if (frames_ == nullptr) frames_ = static_cast<Frame*>(take_pages(2 * kMostFrames * sizeof(Frame)));
  if (frames_ != nullptr) fresh_ = frames_ + kMostFrames;
  return frames_ != nullptr;
}

void QuickStack::release() noexcept {
  give_back_pages(frames_, 2 * kMostFrames * sizeof(Frame));
  frames_ = fresh_ = nullptr;
  kept_ = 0;
  tree_.release();
}

Node QuickStack::told(Node parent, uintptr_t address, const NodeListener& listener) noexcept {
  bool fresh = false;
  const Node node = tree_.child(parent, address, fresh);
  if (__builtin_expect(!fresh, 1) || listener.heard(listener.context, node, parent, address)) return node;
  tree_.take_back(parent, address);
  return kNoStack;
}

// The fresh frames join those that are remembered, `kept` of them, from the outside in.
inline Node QuickStack::finish(Node outer, size_t kept, size_t fresh, const NodeListener& listener) noexcept {
  kept_ = kept;
  while (fresh > 0) {
    Frame& frame = fresh_[--fresh];
    outer = frame.node = told(outer, frame.pc, listener);
    if (__builtin_expect(outer == kNoStack, 0)) return kNoStack;
    frames_[kept_++] = frame;
  }
  return outer;
}

// Of the outermost `frames`, how many stand outside of the innermost one that reads differently now, and that one. 0:
// all are as they were.
KYMO_READS_STACKS inline size_t QuickStack::outside_of_changes(size_t frames) const noexcept {
  while (frames > 0 && unchanged(frames_[frames - 1])) --frames;
  return frames;
}

KYMO_READS_STACKS Node QuickStack::capture(Registers at, const ThreadStacks& stacks,
                                           const NodeListener& listener) noexcept {
  if (!kCanUnwind || (frames_ == nullptr && !make_room())) return kNoStack;
  at.pc = without_signature(at.pc);
  const uintptr_t high = stacks.own.high;
  if (__builtin_expect(!stacks.own.hold(at.sp), 0)) {
    if (stacks.alternate.hold(at.sp)) return walk_across_signals(at, stacks, listener);
    return told(kCutElsewhere, at.pc, listener);
  }
  Registers now = at;
  size_t candidates = kept_, fresh = 0;
  for (;;) {
    while (candidates > 0 && frames_[candidates - 1].sp < now.sp) --candidates;
    if (candidates > 0 && frames_[candidates - 1].is_at(now)) {
      const size_t changed = outside_of_changes(candidates);
      if (changed == 0) {
        if (candidates + fresh > kMostFrames) break;
        return finish(frames_[candidates - 1].node, candidates, fresh, listener);
      }
      // Up to the change the frames are the same, though not the stack they belong to.
      while (candidates > changed && fresh < kMostFrames) fresh_[fresh++] = frames_[--candidates];
      now = frames_[--candidates].registers();
    }
    if (fresh == kMostFrames) break;
    Frame& frame = fresh_[fresh++];
    frame.stand_at(now);
    const Step step_taken = step(frame, rule_table.at(now.pc), high, now);
    if (step_taken == Step::Next) continue;
    if (step_taken == Step::Signal) return walk_across_signals(at, stacks, listener);
    return finish(step_taken == Step::End ? kRoot : kCutNoRule, 0, fresh, listener);
  }
  if (fresh > kFramesOfACutStack) fresh = kFramesOfACutStack;
  const Node node = finish(kCutTooDeep, 0, fresh, listener);
  kept_ = 0;
  return node;
}

// A handler's stack, with that of what it interrupted. Plain, and not remembered.
KYMO_READS_STACKS Node QuickStack::walk_across_signals(Registers at, const ThreadStacks& stacks,
                                                       const NodeListener& listener) noexcept {
  StackBounds bounds = stacks.at(at.sp);
  Interrupted interrupted{at};
  bool exact = false;  // the address is where execution stood, not where a call returns to
  size_t fresh = 0;
  Node root = kCutTooDeep;
  while (fresh < kMostFrames) {
    Registers& now = interrupted.registers;
    Frame& frame = fresh_[fresh++];
    frame.stand_at(now);
    const UnwindRule& rule = rule_table.at(exact ? now.pc + 1 : now.pc);
    if (exact && rule.kind == UnwindRule::Kind::Table && (rule.flags & UnwindRule::kReturnInRegister) != 0) {
      const bool by_fp = (rule.flags & UnwindRule::kCfaByFramePointer) != 0;
      now = {interrupted.link, (by_fp ? now.fp : now.sp) + static_cast<uintptr_t>(intptr_t{rule.cfa_offset}), now.fp};
      exact = false;
      continue;
    }
    exact = false;
    const Step step_taken = step(frame, rule, bounds.high, now);
    if (step_taken == Step::Next) continue;
    if (step_taken == Step::Signal && interrupted_at(frame.sp, bounds, interrupted)) {
      bounds = stacks.at(interrupted.registers.sp);
      exact = true;
      if (bounds.high != 0) continue;
      root = kCutElsewhere;
      break;
    }
    root = step_taken == Step::End ? kRoot : kCutNoRule;
    break;
  }
  if (root == kCutTooDeep && fresh > kFramesOfACutStack) fresh = kFramesOfACutStack;
  const Node node = finish(root, 0, fresh, listener);
  kept_ = 0;
  return node;
}

}  // namespace kymo::hook
