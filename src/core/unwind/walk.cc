#include "unwind/walk.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "unwind/rule_table.h"

namespace kymo::unwind {

KYMO_READS_STACKS Registers caller_of(const Registers& here, uintptr_t return_address) noexcept {
  const Rule& rule = rule_table.at(here.pc + 1);
  if (rule.kind != Rule::Kind::Table || (rule.flags & Rule::kCfaLoaded) != 0) return {return_address};
  const uintptr_t cfa = plain_cfa(rule, here);
  const bool saved = (rule.flags & Rule::kFramePointerSaved) != 0;
  return {return_address, cfa, saved ? word_in_stack(frame_pointer_slot(rule, here, cfa)) : here.fp};
}

namespace {

struct FrameRecord {
  uintptr_t caller;
  uintptr_t return_address;
};

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

KYMO_READS_STACKS size_t walk_frame_chain(uintptr_t frame, StackBounds bounds, std::span<uintptr_t> addresses,
                                          size_t skip) noexcept {
  size_t count = 0;
  uintptr_t above = bounds.low;
  while (count < addresses.size()) {
    if (frame < above || frame >= bounds.high || bounds.high - frame < sizeof(FrameRecord)) break;
    if (frame % alignof(FrameRecord) != 0) break;
    const FrameRecord record = *reinterpret_cast<const FrameRecord*>(frame);
    const uintptr_t address = without_signature(record.return_address);
    if (address == 0) break;
    if (skip != 0)
      --skip;
    else
      addresses[count++] = address;
    above = frame + sizeof(FrameRecord);
    frame = record.caller;
  }
  return count;
}

}  // namespace kymo::unwind
