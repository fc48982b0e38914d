// The calling thread's stack in a few nanoseconds, as a number.
//
// Two things make it quick. Unwind rules are remembered by code address (rule_table.h), so a frame costs a lookup and
// two loads. And a thread remembers the frames of the stack it saw last, outermost first: a new capture goes from the
// inside out only until it meets a frame that stands where it stood, and then makes sure that every word it would read
// further out is the word it read before. As the way out depends on nothing else, the rest is then the same, and so is
// its node. A call that returned, a longjmp or an exception only make that meeting point lie further out.
//
//   remembered   main ── run ── step ── parse ── grow ── malloc
//   now          main ── run ── step ── print ── copy ── malloc
//                                  └─ found again: two frames are new, the three outside are only checked
//
// Never reads outside the bounds it is given, takes no lock and no memory but pages for itself. Not thread-safe: each
// thread has its own; a signal handler must not use one that its thread is using.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hook/stack_tree.h"
#include "hook/unwind_rule.h"

namespace kymo::hook {

// Where a walk begins: a return address, and what the stack and frame pointer are in the function it leads back to.
struct Registers {
  uintptr_t pc = 0, sp = 0, fp = 0;
};

// From where a function stands to where it was called from, by its own unwind rule.
Registers caller_of(const Registers& here, uintptr_t return_address) noexcept;

// Of the function that this stands in, as its caller will find them: the innermost frame is that caller. The function
// must not be inlined. A compiler that cannot say where its caller's stack pointer stood has it looked up.
#if !defined(__clang__)
#define KYMO_CALLER_REGISTERS()                                                      \
  (::kymo::hook::Registers{reinterpret_cast<uintptr_t>(__builtin_return_address(0)), \
                           reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()),       \
                           *static_cast<const uintptr_t*>(__builtin_frame_address(0))})
#else
#if defined(__aarch64__)
#define KYMO_READ_REGISTERS(pc, sp, fp) \
  asm volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=r"(pc), "=r"(sp), "=r"(fp))
#else
#define KYMO_READ_REGISTERS(pc, sp, fp) \
  asm volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2" : "=r"(pc), "=r"(sp), "=r"(fp))
#endif
#define KYMO_CALLER_REGISTERS()                                                                   \
  (__extension__({                                                                                \
    ::kymo::hook::Registers kymo_here;                                                            \
    KYMO_READ_REGISTERS(kymo_here.pc, kymo_here.sp, kymo_here.fp);                                \
    ::kymo::hook::caller_of(kymo_here, reinterpret_cast<uintptr_t>(__builtin_return_address(0))); \
  }))
#endif

// Memory that is a stack.
struct StackBounds {
  uintptr_t low = 0, high = 0;
  bool hold(uintptr_t sp) const noexcept { return sp >= low && sp < high; }
};

// The stacks a thread may stand on: its own, and the one that signal handlers were given, if any.
struct ThreadStacks {
  StackBounds own, alternate;
  StackBounds at(uintptr_t sp) const noexcept {
    if (own.hold(sp)) return own;
    return alternate.hold(sp) ? alternate : StackBounds{};
  }
};

// Is told of every node that is new, outer ones first. False: it could not be kept, and is not to be used.
struct NodeListener {
  bool (*heard)(void* context, Node node, Node parent, uintptr_t address) noexcept;
  void* context;
};

inline constexpr size_t kMostFrames = 4096;
inline constexpr size_t kFramesOfACutStack = 64;  // innermost, that are kept of one with more

class QuickStack {
 public:
  // The number of the stack that begins with `at`. Of one that is none of the thread's: its innermost frame alone.
  Node capture(Registers at, const ThreadStacks& stacks, const NodeListener& listener) noexcept;

  // Forgets frames and nodes: whoever heard of them is gone, or code was unloaded.
  void forget() noexcept {
    kept_ = 0;
    tree_.forget();
  }
  void release() noexcept;

 private:
  // One frame, and what its rule made the walk read.
  struct Frame {
    uintptr_t pc, sp, fp;
    uintptr_t return_slot, fp_slot;  // where: of a constant of this room's own where nothing was read
    uintptr_t return_word, fp_word;  // what lay there
    Node node;

    void stand_at(const Registers& at) noexcept {
      pc = at.pc;
      sp = at.sp;
      fp = at.fp;
    }
    bool is_at(const Registers& at) const noexcept { return sp == at.sp && pc == at.pc && fp == at.fp; }
    Registers registers() const noexcept { return {pc, sp, fp}; }
  };
  enum class Step : uint8_t { Next, End, Cut, Signal };

  static Step step(Frame& frame, const UnwindRule& rule, uintptr_t high, Registers& next) noexcept;
  static bool unchanged(const Frame& frame) noexcept;
  bool make_room() noexcept;
  size_t outside_of_changes(size_t frames) const noexcept;
  Node finish(Node outer, size_t kept, size_t fresh, const NodeListener& listener) noexcept;
  Node walk_across_signals(Registers at, const ThreadStacks& stacks, const NodeListener& listener) noexcept;
  Node told(Node parent, uintptr_t address, const NodeListener& listener) noexcept;

  Frame* frames_ = nullptr;  // the stack seen last, outermost first
  Frame* fresh_ = nullptr;   // of the capture that runs, innermost first
  size_t kept_ = 0;          // frames remembered
  StackTree tree_;
};

}  // namespace kymo::hook
