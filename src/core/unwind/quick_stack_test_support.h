// Shared by the tests of stacks: the captures of a thread, each compared with the result of libunwind, or of the
// compiler's library if there is no libunwind.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "unwind/quick_stack.h"

// Not under ThreadSanitizer, which does not work with libunwind's thread-exit hook.
#if KYMO_HAVE_UNWIND && !defined(__SANITIZE_THREAD__)
#define TREE_BY_LIBUNWIND 1
#endif
#if TREE_BY_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#else
#include <unwind.h>
#endif

#if defined(__clang__)
#define TREE_NOINLINE __attribute__((noinline))
#define TREE_PLAIN __attribute__((no_sanitize("coverage")))  // without extra code from the compiler
#define TREE_WITHOUT_FRAME_POINTER
#define TREE_WITH_FRAME_POINTER
#else
#define TREE_NOINLINE __attribute__((noinline, noclone))
#define TREE_PLAIN __attribute__((optimize("O2")))
#define TREE_WITHOUT_FRAME_POINTER __attribute__((optimize("O2", "omit-frame-pointer")))
#define TREE_WITH_FRAME_POINTER __attribute__((optimize("O2", "no-omit-frame-pointer")))
#endif

// Calls function(context) with another value in the frame pointer's register, as code without a frame pointer may do.
extern "C" void kymo_test_call_with(uintptr_t frame_pointer, void (*function)(void*), void* context);
#if defined(__x86_64__)
asm(R"(
.pushsection .text
kymo_test_call_with:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rdi, %rbp
  mov %rdx, %rdi
  call *%rsi
  pop %rbp
  .cfi_def_cfa_offset 8
  .cfi_restore %rbp
  ret
  .cfi_endproc
.popsection
)");
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
kymo_test_call_with:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, x0
  mov x0, x2
  blr x1
  ldp x29, x30, [sp], #16
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
.popsection
)");
#endif

namespace kymo::unwind {

// A thread's stacks, and all nodes that were reported.
struct Watched {
  QuickStack stack;
  ThreadStacks stacks{find_own_stack(), {}};
  std::map<Node, std::pair<Node, uintptr_t>> nodes;
  bool keep = true;     // accept every node
  bool compare = true;  // with the other unwinder
  size_t captures = 0, differences = 0;
  std::vector<uintptr_t> last;
  Node last_root = 0;

  ~Watched() { stack.release(); }

  static bool on_new(void* context, Node node, Node parent, uintptr_t address) noexcept {
    auto& self = *static_cast<Watched*>(context);
    if (!self.keep) return false;
    EXPECT_TRUE(self.nodes.emplace(node, std::pair(parent, address)).second) << node;
    EXPECT_TRUE(parent < kFirstNode || self.nodes.contains(parent)) << parent;
    return true;
  }
  std::vector<uintptr_t> path(Node node) {
    std::vector<uintptr_t> addresses;
    for (; node >= kFirstNode; node = nodes.at(node).first) addresses.push_back(nodes.at(node).second);
    last_root = node;
    return addresses;
  }
};

inline thread_local Watched* watched = nullptr;

inline constexpr size_t kMaxExpected = 5000;

#if TREE_BY_LIBUNWIND
#define TREE_BACKTRACE(buffer) static_cast<size_t>(unw_backtrace(buffer, kMaxExpected))
#else
struct CollectedFrames {
  void** buffer;
  size_t count;
};
inline _Unwind_Reason_Code collect(_Unwind_Context* context, void* data) {
  auto& collected = *static_cast<CollectedFrames*>(data);
  if (collected.count == kMaxExpected) return _URC_END_OF_STACK;
  collected.buffer[collected.count++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}
TREE_NOINLINE inline size_t backtrace_of(void** buffer) {
  CollectedFrames collected{buffer, 0};
  _Unwind_Backtrace(collect, &collected);
  std::copy(buffer + 1, buffer + collected.count, buffer);  // without this function
  return collected.count - 1;
}
#define TREE_BACKTRACE(buffer) backtrace_of(buffer)
#endif

// Captures the stack of the caller of `look`, and compares it with the other unwinder.
TREE_NOINLINE TREE_PLAIN inline void look() {
  const Registers here = KYMO_CALLER_REGISTERS();
  const Node node = watched->stack.capture(here, watched->stacks, {Watched::on_new, watched});
  ++watched->captures;
  watched->last = watched->path(node);
  if (!watched->compare) return;
  static thread_local void* buffer[kMaxExpected];
  const size_t count = TREE_BACKTRACE(buffer);
  std::vector<uintptr_t> expected;
  for (size_t i = 1; i < count; ++i) expected.push_back(without_signature(reinterpret_cast<uintptr_t>(buffer[i])));
  if (!expected.empty() && expected.back() == 0) expected.pop_back();  // after the outermost frame
  // Some versions give the address of the call instead of the return address.
  const auto same = [](uintptr_t theirs, uintptr_t ours) { return theirs == ours || theirs + 1 == ours; };
  if (std::equal(expected.begin(), expected.end(), watched->last.begin(), watched->last.end(), same)) return;
  if (watched->differences++ != 0) return;
  ADD_FAILURE() << "capture " << watched->captures << ": " << watched->last.size() << " frames, root "
                << watched->last_root << "; expected are " << expected.size();
  for (size_t i = 0; i < std::max(expected.size(), watched->last.size()) && i < 40; ++i)
    std::printf("  %2zu %12lx %12lx\n", i, i < watched->last.size() ? watched->last[i] : 0,
                i < expected.size() ? expected[i] : 0);
}

}  // namespace kymo::unwind
