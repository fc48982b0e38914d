#include "unwind/walk.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "unwind/rule_table.h"
#include "unwind/step.h"

namespace kymo::unwind {
namespace {

// Where a signal interrupted the thread: between two instructions, not at a call.
struct Interrupted {
  Registers registers;
  uintptr_t link = 0;  // the return address register, on processors that have one
};

// Reads the interrupted registers from a handler's frame. `sp` is the stack pointer at its trampoline.
KYMO_READS_STACKS bool interrupted_at(uintptr_t sp, const StackBounds& bounds, Interrupted& found) noexcept {
#if defined(__aarch64__)
  const uintptr_t context = sp + sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext);
#else
  const uintptr_t context = sp + offsetof(ucontext_t, uc_mcontext);
#endif
  if (!is_slot(context, bounds.low, bounds.high) || bounds.high - context < sizeof(mcontext_t)) return false;
#if defined(__aarch64__)
  const auto& saved = *reinterpret_cast<const mcontext_t*>(context);
  found = {{saved.pc, saved.sp, saved.regs[kFramePointerColumn]}, without_signature(saved.regs[kReturnColumn])};
#elif defined(__x86_64__)
  const auto& saved = *reinterpret_cast<const mcontext_t*>(context);
  const auto word = [&](int which) { return static_cast<uintptr_t>(saved.gregs[which]); };
  found = {{word(REG_RIP), word(REG_RSP), word(REG_RBP)}, 0};
#endif
  return kCanUnwind;
}

bool returns_by_register(const Rule& rule) noexcept {
  return rule.kind == Rule::Kind::Table && (rule.flags & Rule::kReturnInRegister) != 0;
}

// The step from a function that was interrupted before it stored its return address on the stack, or that never stores
// it. Its frame may be empty.
KYMO_READS_STACKS Step step_by_link(const Rule& rule, uintptr_t high, uintptr_t link, Registers& at) noexcept {
  const uintptr_t cfa = plain_cfa(rule, at);
  if ((rule.flags & Rule::kCfaLoaded) != 0 || cfa < at.sp || cfa > high) return Step::Cut;
  uintptr_t fp = at.fp;
  if ((rule.flags & Rule::kFramePointerSaved) != 0) {
    const uintptr_t slot = frame_pointer_slot(rule, at, cfa);
    if (!is_slot(slot, at.sp, high)) return Step::Cut;
    fp = word_in_stack(slot);
  }
  at = {link, cfa, fp};
  return link != 0 ? Step::Next : Step::End;
}

}  // namespace

KYMO_READS_STACKS Walked walk(const Registers& at, const ThreadStacks& stacks, std::span<uintptr_t> addresses,
                              size_t skip, WithoutTable without) noexcept {
  Walked walked;
  StackBounds bounds = stacks.at(at.sp);
  if (!kCanUnwind || bounds.high == 0) return walked;
  Interrupted now{at};
  now.registers.pc = without_signature(at.pc);
  bool exact = false;  // the address is the interrupted instruction, not a return address
  for (;;) {
    if (skip != 0) {
      --skip;
    } else {
      if (walked.count < addresses.size()) addresses[walked.count++] = now.registers.pc;
      if (walked.count == addresses.size()) return {walked.count, WalkEnd::Full};
    }
    const Rule& known = rule_table.at(exact ? now.registers.pc + 1 : now.registers.pc);
    const Rule rule = exact ? rule_when_interrupted(known, now.registers) : known;
    if (rule.kind == Rule::Kind::FramePointer && without == WithoutTable::End) return {walked.count, WalkEnd::NoRule};
    Reads reads;
    const Step taken = exact && returns_by_register(rule) ? step_by_link(rule, bounds.high, now.link, now.registers)
                                                          : step(rule, bounds.high, now.registers, reads);
    exact = false;
    if (__builtin_expect(taken == Step::Next, 1)) continue;
    if (taken == Step::End) return {walked.count, WalkEnd::Outermost};
    const uintptr_t handler = now.registers.sp;
    if (taken == Step::Cut || !interrupted_at(handler, bounds, now)) return {walked.count, WalkEnd::NoRule};
    exact = true;
    bounds = stacks.at(now.registers.sp);
    if (bounds.high == 0) return {walked.count, WalkEnd::Elsewhere};
    // Like every step, this one must go further out, so that a stack cannot lead the walk in a circle.
    if (bounds.hold(handler) ? now.registers.sp <= handler : bounds.high != stacks.own.high)
      return {walked.count, WalkEnd::NoRule};
  }
}

}  // namespace kymo::unwind
