#include "sample/stack_finder.h"

#include <linux/perf_event.h>

#include <string_view>

#include "sample/copied_walk.h"
#include "sample/perf_events.h"
#include "unwind/rule.h"

namespace kymo::sample {

namespace {

constexpr size_t kMaxFrames = 1024;
constexpr uint64_t kFirstMark = ~uint64_t{0} - 4094;  // PERF_CONTEXT_MAX: in a chain, what follows is of another kind

// All waits end in these. What is interesting is who called them.
bool is_scheduler(std::string_view function) {
  return function == "schedule" || function == "__schedule" || function == "__cond_resched" ||
         function.starts_with("preempt_schedule");
}

}  // namespace

StackFinder::StackFinder(KernelNames& kernel) : kernel_(kernel), addresses_(kMaxFrames) {}

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

std::span<const uint64_t> StackFinder::find(const Record& record, AddressSpace& code, pid_t pid, unwind::Node& root) {
  const Words& registers = record.registers;
  size_t count = 0;
  // The kernel's part comes first. It is stored by function: its users do not need the lines of the kernel's code.
  size_t at = 0;
  bool is_kernel = true;
  const size_t chain = record.chain.size();
  for (; at < chain && count < kMaxFrames / 2; ++at) {
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
  const bool is_walked = at < chain;  // by the kernel
  if (!is_walked && !record.stack.empty() && registers.size() >= 3) {
    CopiedStack copy;
#if defined(__aarch64__)
    copy.at = {registers[3], registers[2], registers[0]};
    copy.link = registers[1];
#else
    copy.at = {registers[2], registers[1], registers[0]};
#endif
    copy.bytes = record.stack;
    copy.is_cut = record.is_cut;
    const WalkedCopy walked = walk_copy(copy, code, pid, std::span(addresses_).subspan(count));
    root = walked.root;
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
