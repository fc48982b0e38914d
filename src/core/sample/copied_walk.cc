#include "sample/copied_walk.h"

#include <signal.h>
#include <ucontext.h>

#include "unwind/step.h"

namespace kymo::sample {

namespace {

using unwind::Registers;
using unwind::Rule;
using unwind::Step;

struct CopiedWords {
  uintptr_t begin;
  base::Bytes bytes;
  // The caller has checked that the word is inside.
  uintptr_t operator()(uintptr_t slot) const noexcept { return base::load<uint64_t>(bytes.data() + (slot - begin)); }
};

struct Interrupted {
  Registers registers;
  uintptr_t link = 0;
};

// Where a signal interrupted the thread. `sp` is the stack pointer at the trampoline of the handler.
bool interrupted_at(uintptr_t sp, uintptr_t high, const CopiedWords& word, Interrupted& found) {
#if defined(__aarch64__)
  const uintptr_t context = sp + sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext);
#else
  const uintptr_t context = sp + offsetof(ucontext_t, uc_mcontext);
#endif
  // Extended registers come after these, so the structure need not be inside completely.
  constexpr size_t kNeeded = 64 * sizeof(uintptr_t);
  if (!unwind::is_slot(context, sp, high) || high - context < kNeeded) return false;
#if defined(__aarch64__)
  const auto at = [&](size_t offset) { return word(context + offset); };
  const size_t registers = offsetof(mcontext_t, regs);
  found = {{at(offsetof(mcontext_t, pc)), at(offsetof(mcontext_t, sp)),
            at(registers + unwind::kFramePointerColumn * sizeof(uintptr_t))},
           unwind::without_signature(at(registers + unwind::kReturnColumn * sizeof(uintptr_t)))};
#elif defined(__x86_64__)
  const auto at = [&](int which) { return word(context + static_cast<uintptr_t>(which) * sizeof(uintptr_t)); };
  found = {{at(REG_RIP), at(REG_RSP), at(REG_RBP)}, 0};
#endif
  return true;
}

// The step from a function that was interrupted before it stored its return address on the stack.
Step step_by_link(const Rule& rule, uintptr_t high, uintptr_t link, const CopiedWords& word, Registers& at) {
  const uintptr_t cfa = unwind::plain_cfa(rule, at);
  if ((rule.flags & Rule::kCfaLoaded) != 0 || cfa < at.sp || cfa > high) return Step::Cut;
  uintptr_t fp = at.fp;
  if ((rule.flags & Rule::kFramePointerSaved) != 0) {
    const uintptr_t slot = unwind::frame_pointer_slot(rule, at, cfa);
    if (!unwind::is_slot(slot, at.sp, high)) return Step::Cut;
    fp = word(slot);
  }
  at = {link, cfa, fp};
  return link != 0 ? Step::Next : Step::End;
}

}  // namespace

WalkedCopy walk_copy(const CopiedStack& stack, AddressSpace& code, pid_t pid, std::span<uint64_t> addresses) {
  const uintptr_t begin = stack.at.sp;
  const uintptr_t high = begin + stack.bytes.size() / unwind::kWord * unwind::kWord;
  const CopiedWords word{begin, stack.bytes};
  Interrupted now{stack.at, unwind::without_signature(stack.link)};
  bool is_exact = true;  // the address is the interrupted instruction, not a return address
  WalkedCopy walked;
  while (true) {
    const uint64_t address = now.registers.pc + (is_exact ? 1 : 0);
    addresses[walked.count++] = address;
    if (walked.count == addresses.size()) return {walked.count, unwind::kCutTooDeep};
    const Rule known = code.rule(pid, address);
    const Rule rule = is_exact ? unwind::rule_when_interrupted(known, now.registers) : known;
    if (high < begin || high - begin < unwind::kWord)
      return {walked.count, rule.kind == Rule::Kind::End ? unwind::kRoot : unwind::kCutNoRule};
    const bool by_link = is_exact && rule.kind == Rule::Kind::Table && (rule.flags & Rule::kReturnInRegister) != 0;
    unwind::Reads reads;
    const Registers before = now.registers;
    const Step taken = by_link ? step_by_link(rule, high, now.link, word, now.registers)
                               : unwind::step(rule, high, now.registers, reads, word);
    is_exact = false;
    if (taken == Step::End) return {walked.count, unwind::kRoot};
    if (taken == Step::Signal) {
      if (!interrupted_at(before.sp, high, word, now) || now.registers.sp <= before.sp || now.registers.sp >= high)
        return {walked.count, unwind::kCutNoRule};
      is_exact = true;
      continue;
    }
    const bool is_outside = rule.kind == Rule::Kind::Table && unwind::plain_cfa(rule, before) > high;
    if (taken == Step::Cut) {
      const bool is_known = rule.kind == Rule::Kind::Table && stack.is_cut && is_outside;
      return {walked.count, is_known ? unwind::kCutTooDeep : unwind::kCutNoRule};
    }
    // Only code can call. Anything else is the end of what can be trusted.
    if (!code.has_code_at(now.registers.pc - 1)) return {walked.count, unwind::kCutNoRule};
  }
}

}  // namespace kymo::sample
