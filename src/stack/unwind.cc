#include "stack/unwind.h"

#include <link.h>

#include <atomic>
#include <utility>

#include "stack/unwind_rule.h"

namespace kymo::stack {

namespace {

// A rule by the address it is for. Both words are written and read without a lock; an entry of which another thread
// has written one word only does not fit its address, and counts as not there.
struct RememberedRule {
  std::atomic<uint64_t> rule{0};
  std::atomic<uint64_t> address_and_rule{0};  // exclusive or of both
};

constexpr size_t kRemembered = 1 << 14;  // 256 KiB, of which the pages are there that are used
RememberedRule remembered_rules[kRemembered];

std::atomic<uint64_t> unloads_seen{0};

size_t place_of(uintptr_t address) { return (address * 0x9e3779b97f4a7c15u) >> (64 - 14); }

// Other code may be where a library was before: asked before each stack, as nothing tells. Some 40 ns.
void forget_after_unloading() noexcept {
  uint64_t unloads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        *static_cast<uint64_t*>(argument) = info->dlpi_subs;
        return 1;  // each module says the same
      },
      &unloads);
  if (unloads_seen.load(std::memory_order_relaxed) == unloads) return;
  unloads_seen.store(unloads, std::memory_order_relaxed);
  for (RememberedRule& entry : remembered_rules) entry.address_and_rule.store(0, std::memory_order_relaxed);
}

UnwindRule rule_at(uintptr_t return_address) noexcept {
  RememberedRule& entry = remembered_rules[place_of(return_address)];
  const uint64_t bits = entry.rule.load(std::memory_order_relaxed);
  if ((entry.address_and_rule.load(std::memory_order_relaxed) ^ bits) == return_address) return unpacked(bits);
  const uint64_t found = packed(find_unwind_rule(return_address));
  entry.rule.store(found, std::memory_order_relaxed);
  entry.address_and_rule.store(return_address ^ found, std::memory_order_relaxed);
  return unpacked(found);
}

// The word at a distance from an address, if it is one of the stack's.
__attribute__((no_sanitize("address"))) bool load(uintptr_t base, int32_t words, StackBounds bounds,
                                                  uintptr_t& value) noexcept {
  const uintptr_t at = base + static_cast<uintptr_t>(static_cast<int64_t>(words) * int64_t{sizeof(uintptr_t)});
  if (at % sizeof(uintptr_t) != 0 || at < bounds.low || at >= bounds.high) return false;
  value = *reinterpret_cast<const uintptr_t*>(at);
  return true;
}

}  // namespace

Unwound unwind(Machine machine, StackBounds bounds, std::span<uintptr_t> addresses, size_t skip) noexcept {
  forget_after_unloading();
  Unwound unwound;
  uintptr_t return_address = machine.instruction + 1;  // rules are for the instruction before
  bounds.high -= bounds.high % sizeof(uintptr_t);
  while (unwound.count < addresses.size()) {
    const UnwindRule rule = rule_at(return_address);
    if (rule.kind == UnwindRule::Kind::Outermost) break;
    if (rule.kind == UnwindRule::Kind::Unknown) return unwound;
    const uintptr_t base =
        rule.kind == UnwindRule::Kind::FromStackPointer ? machine.stack_pointer : machine.frame_pointer;
    const uintptr_t caller =
        base + static_cast<uintptr_t>(static_cast<int64_t>(rule.caller_stack_at) * int64_t{sizeof(uintptr_t)});
    const bool in_register = rule.return_address_at == 0;  // of the innermost frame alone, which may be empty as well
    if (caller + (in_register ? 1 : 0) <= machine.stack_pointer || caller > bounds.high) return unwound;
    const StackBounds frame{machine.stack_pointer, bounds.high};
    if (in_register)
      return_address = std::exchange(machine.link, 0);
    else if (!load(caller, rule.return_address_at, frame, return_address))
      return unwound;
    if (rule.frame_pointer_saved && !load(caller, rule.frame_pointer_at, frame, machine.frame_pointer)) return unwound;
    machine.stack_pointer = caller;
    machine.link = 0;
    return_address = plain_return_address(return_address);
    if (return_address == 0) break;
    if (skip != 0)
      --skip;
    else
      addresses[unwound.count++] = return_address;
  }
  unwound.whole = true;
  return unwound;
}

}  // namespace kymo::stack
