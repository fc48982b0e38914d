#include "symbols/capture.h"

#include <unwind.h>

#include <string_view>

#include "base/environment.h"
#include "unwind/rule_table.h"
#include "unwind/walk.h"

namespace kymo::symbols {

namespace {

// The compiler's unwinder is slower, but handles every form of frame, on any stack.
struct SlowCapture {
  std::span<uintptr_t> addresses;
  size_t skip, count = 0;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  SlowCapture& slow = *static_cast<SlowCapture*>(argument);
  const uintptr_t address = unwind::without_signature(_Unwind_GetIP(context));
  if (slow.count == slow.addresses.size() || address == 0) return _URC_END_OF_STACK;
  if (slow.skip != 0)
    --slow.skip;
  else
    slow.addresses[slow.count++] = address;
  return _URC_NO_REASON;
}

// The calling thread's stack, found once per thread. Empty if it cannot be found, and while it is being found.
unwind::StackBounds own_stack() noexcept {
  thread_local unwind::StackBounds bounds;
  thread_local bool asked = false;
  if (!asked) {
    asked = true;  // first: the C library may allocate here, and an allocation hook may call this again
    bounds = unwind::find_own_stack();
  }
  return bounds;
}

}  // namespace

Method chosen_method() noexcept {
  const char* const name = base::environment("KYMO_STACKS");
  return name != nullptr && std::string_view(name) == "frame-pointers" ? Method::FramePointers : Method::UnwindTables;
}

__attribute__((noinline)) size_t capture(std::span<uintptr_t> addresses, size_t skip, Method method) noexcept {
  if (addresses.empty()) return 0;
  if (unwind::kCanUnwind) {
    const unwind::Registers caller = KYMO_CALLER_REGISTERS();
    const unwind::ThreadStacks stacks{own_stack()};
    if (method == Method::FramePointers) {
      if (!stacks.own.hold(caller.sp)) return 0;
      const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
      return unwind::walk_frame_chain(frame, {frame, stacks.own.high}, addresses, skip);
    }
    unwind::forget_after_unloading();
    const unwind::Walked walked = unwind::walk(caller, stacks, addresses, skip, unwind::WithoutTable::End);
    if (walked.end == unwind::WalkEnd::Outermost || walked.end == unwind::WalkEnd::Full) return walked.count;
  }
  SlowCapture slow{addresses, skip == SIZE_MAX ? skip : skip + 1};  // the first frame is this function's
  _Unwind_Backtrace(take_frame, &slow);
  return slow.count;
}

}  // namespace kymo::symbols
