#include "stack/capture.h"

#include <unwind.h>

#include <cstdlib>
#include <string_view>

#include "stack/frame_chain.h"
#include "stack/unwind.h"

namespace kymo::stack {

namespace {

// The compiler's own unwinder: slower, and right for frames of every form, on any stack.
struct SlowCapture {
  std::span<uintptr_t> addresses;
  size_t skip, count = 0;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  SlowCapture& slow = *static_cast<SlowCapture*>(argument);
  const uintptr_t address = plain_return_address(_Unwind_GetIP(context));
  if (slow.count == slow.addresses.size() || address == 0) return _URC_END_OF_STACK;
  if (slow.skip != 0)
    --slow.skip;
  else
    slow.addresses[slow.count++] = address;
  return _URC_NO_REASON;
}

#if defined(__aarch64__) || defined(__x86_64__)
inline __attribute__((always_inline)) Machine this_machine() noexcept {
  Machine machine;
#if defined(__aarch64__)
  asm volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
               : "=&r"(machine.instruction), "=&r"(machine.stack_pointer), "=&r"(machine.frame_pointer),
                 "=&r"(machine.link));
#else
  asm volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
               : "=&r"(machine.instruction), "=&r"(machine.stack_pointer), "=&r"(machine.frame_pointer));
#endif
  return machine;
}
#endif

}  // namespace

Method chosen_method() noexcept {
  const char* const name = std::getenv("KYMO_STACKS");
  return name != nullptr && std::string_view(name) == "frame-pointers" ? Method::FramePointers : Method::UnwindTables;
}

__attribute__((noinline)) size_t capture(std::span<uintptr_t> addresses, size_t skip, Method method) noexcept {
  if (addresses.empty()) return 0;
#if defined(__aarch64__) || defined(__x86_64__)
  const Machine machine = this_machine();
  const StackBounds bounds = thread_stack_bounds();
  const bool on_own_stack = machine.stack_pointer >= bounds.low && machine.stack_pointer < bounds.high;
  if (method == Method::FramePointers) {
    const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return on_own_stack ? walk_frame_chain(frame, {machine.stack_pointer, bounds.high}, addresses, skip) : 0;
  }
  if (on_own_stack)
    if (const Unwound unwound = unwind(machine, bounds, addresses, skip); unwound.whole) return unwound.count;
#endif
  SlowCapture slow{addresses, skip == SIZE_MAX ? skip : skip + 1};  // this function's frame comes first
  _Unwind_Backtrace(take_frame, &slow);
  return slow.count;
}

}  // namespace kymo::stack
