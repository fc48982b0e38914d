#include "sample/stack_finder.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <string_view>

#include "sample/perf_events.h"
#include "unwind/rule_table.h"
#include "unwind/walk.h"

namespace kymo::sample {

namespace {

using unwind::Registers;
using unwind::Rule;
using unwind::Step;

constexpr size_t kMaxFrames = 1024;
constexpr uint64_t kFirstMark = ~uint64_t{0} - 4094;  // PERF_CONTEXT_MAX: in a chain, what follows is of another kind

// All waits end in these. What is interesting is who called them.
bool is_scheduler(std::string_view function) {
  return function == "schedule" || function == "__schedule" || function == "__cond_resched" ||
         function.starts_with("preempt_schedule");
}

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

}  // namespace

WalkedCopy walk_copy(const CopiedStack& stack, AddressSpace& code, pid_t pid, std::span<uint64_t> addresses,
                     std::span<uint64_t> ends) {
  const uintptr_t begin = stack.at.sp;
  const uintptr_t high = begin + stack.bytes.size() / unwind::kWord * unwind::kWord;
  const CopiedWords word{begin, stack.bytes};
  Interrupted now{stack.at, unwind::without_signature(stack.link)};
  bool is_exact = true;  // the address is the interrupted instruction, not a return address
  WalkedCopy walked;
  // Nobody knows where the last function of a walk that is cut ends.
  const auto cut = [&](unwind::Node root) {
    if (walked.count <= ends.size()) ends[walked.count - 1] = 0;
    return WalkedCopy{walked.count, root};
  };
  while (true) {
    const uint64_t address = now.registers.pc + (is_exact ? 1 : 0);
    if (walked.count < ends.size()) ends[walked.count] = high;  // until the next one is found
    if (walked.count != 0 && walked.count <= ends.size()) ends[walked.count - 1] = now.registers.sp;
    addresses[walked.count++] = address;
    if (walked.count == addresses.size()) return cut(unwind::kCutTooDeep);
    const Rule known = code.rule(pid, address);
    const Rule rule = is_exact ? unwind::rule_when_interrupted(known, now.registers) : known;
    if (high < begin || high - begin < unwind::kWord)
      return rule.kind == Rule::Kind::End ? WalkedCopy{walked.count, unwind::kRoot} : cut(unwind::kCutNoRule);
    const bool by_link = is_exact && rule.kind == Rule::Kind::Table && (rule.flags & Rule::kReturnInRegister) != 0;
    unwind::Reads reads;
    const Registers before = now.registers;
    const Step taken = by_link ? unwind::step_by_link(rule, high, now.link, now.registers, word)
                               : unwind::step(rule, high, now.registers, reads, word);
    is_exact = false;
    if (taken == Step::End) return {walked.count, unwind::kRoot};
    if (taken == Step::Signal) {
      if (!interrupted_at(before.sp, high, word, now) || now.registers.sp <= before.sp || now.registers.sp >= high)
        return cut(unwind::kCutNoRule);
      is_exact = true;
      continue;
    }
    const bool is_outside = rule.kind == Rule::Kind::Table && unwind::plain_cfa(rule, before) > high;
    if (taken == Step::Cut) {
      const bool is_known = rule.kind == Rule::Kind::Table && stack.is_cut && is_outside;
      return cut(is_known ? unwind::kCutByCopy : unwind::kCutNoRule);
    }
    // Only code can call. Anything else is the end of what can be trusted.
    if (!code.has_code_at(now.registers.pc - 1)) return cut(unwind::kCutNoRule);
  }
}

StackFinder::StackFinder(KernelNames& kernel) : kernel_(kernel), addresses_(kMaxFrames), ends_(kMaxFrames) {}

CopiedStack copied_stack(const Record& record) {
  const Words& registers = record.registers;
  CopiedStack copy;
  copy.bytes = record.stack;
  copy.is_cut = record.is_cut;
#if defined(__aarch64__)
  if (registers.size() < 4) return copy;
  copy.at = {registers[3], registers[2], registers[0]};
  copy.link = registers[1];
#else
  if (registers.size() < 3) return copy;
  copy.at = {registers[2], registers[1], registers[0]};
#endif
  return copy;
}

// The return address of a function that was interrupted without a frame record. 0: it has one, or nothing is known.
uint64_t StackFinder::caller_of_leaf(const Record& record, uint64_t address, AddressSpace& code, pid_t pid) {
  using unwind::Rule;
  const Rule rule = code.rule(pid, address);
  if (rule.kind != Rule::Kind::Table) return 0;
  uint64_t caller = 0;
#if defined(__aarch64__)
  if ((rule.flags & Rule::kReturnInRegister) != 0 && record.registers.size() >= 4) caller = record.registers[1];
#else
  if ((rule.flags & (Rule::kCfaByFramePointer | Rule::kCfaLoaded | Rule::kFramePointerSaved)) != 0) return 0;
  const auto slot = static_cast<uint64_t>(int64_t{rule.cfa_offset} + rule.return_offset);  // from the stack pointer
  if (record.stack.size() < sizeof caller || slot > record.stack.size() - sizeof caller) return 0;
  caller = base::load<uint64_t>(record.stack.data() + slot);
#endif
  caller = unwind::without_signature(caller);
  return code.has_code_at(caller - 1) ? caller : 0;
}

// The kernel's part comes first. It is stored by function: its users do not need the lines of the kernel's code.
// Returns where the rest of the chain begins.
size_t StackFinder::take_kernel(const Record& record, size_t& count) {
  size_t at = 0;
  bool is_kernel = true;
  for (; at < record.chain.size() && count < kMaxFrames / 2; ++at) {
    const uint64_t address = record.chain[at];
    if (address >= kFirstMark) {
      is_kernel = address == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
      if (address == static_cast<uint64_t>(PERF_CONTEXT_USER)) break;
      continue;
    }
    if (!is_kernel || address < kFirstKernelAddress) continue;
    const KernelNames::Function function = kernel_.at(address);
    if (record.cause == Cause::Wait && count == 0 && is_scheduler(function.name)) continue;
    addresses_[count++] = function.begin != 0 ? function.begin : address;
  }
  return at;
}

std::span<const uint64_t> StackFinder::find(const Record& record, AddressSpace& code, pid_t pid, unwind::Node& root) {
  size_t count = 0;
  size_t at = take_kernel(record, count);
  const size_t chain = record.chain.size();
  known_ends_ = 0;
  const bool is_walked = at < chain;  // by the kernel
  if (!is_walked && !record.stack.empty() && record.registers.size() >= 3) {
    std::fill_n(ends_.begin(), count, 0);
    const WalkedCopy walked = walk_copy(copied_stack(record), code, pid, std::span(addresses_).subspan(count),
                                        std::span(ends_).subspan(count));
    root = walked.root;
    known_ends_ = count + walked.count;
    return std::span(addresses_).first(count + walked.count);
  }
  root = unwind::kRoot;
  bool is_first = true;
  for (++at; at < chain && count + 1 < kMaxFrames; ++at) {
    const uint64_t address = record.chain[at];
    if (address >= kFirstMark) break;
    addresses_[count++] = unwind::without_signature(address) + (is_first ? 1 : 0);
    // The kernel leaves out the caller of a function that has no frame.
    if (is_first) {
      const uint64_t caller = caller_of_leaf(record, addresses_[count - 1], code, pid);
      const bool is_next = at + 1 < chain && unwind::without_signature(record.chain[at + 1]) == caller;
      if (caller != 0 && !is_next && count + 1 < kMaxFrames) addresses_[count++] = caller;
    }
    is_first = false;
  }
  if (chain >= kMaxChain) root = unwind::kCutTooDeep;
  if (count == 0 && record.instruction != 0) {
    addresses_[count++] = record.instruction + 1;
    root = unwind::kCutNoRule;
  }
  return std::span(addresses_).first(count);
}

}  // namespace kymo::sample
