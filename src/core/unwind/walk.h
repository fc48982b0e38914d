// Walks a stack by unwind tables and gives its return addresses, from the inside out.
//
// A frame costs about 10 ns. A frame of new code costs 1 µs, once for all threads (rule_table.h). It walks across
// signal handlers. Reads nothing outside the given stacks, takes no lock and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/rule_table.h"
#include "unwind/stack_bounds.h"

namespace kymo::unwind {

// The position of a walk: a return address, and the stack and frame pointer in the function that it returns to.
struct Registers {
  uintptr_t pc = 0, sp = 0, fp = 0;
};

// From the registers inside a function to those of its caller, by the function's unwind rule.
Registers caller_of(const Registers& here, uintptr_t return_address) noexcept;

}  // namespace kymo::unwind

// The registers of the caller of the current function, as they will be after the return: the innermost frame is the
// caller. The function must not be inlined. If the compiler does not know the caller's stack pointer, it is looked up.
#if !defined(__clang__)
#define KYMO_CALLER_REGISTERS()                                                        \
  (::kymo::unwind::Registers{reinterpret_cast<uintptr_t>(__builtin_return_address(0)), \
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
#define KYMO_CALLER_REGISTERS()                                                                     \
  (__extension__({                                                                                  \
    ::kymo::unwind::Registers kymo_here;                                                            \
    KYMO_READ_REGISTERS(kymo_here.pc, kymo_here.sp, kymo_here.fp);                                  \
    ::kymo::unwind::caller_of(kymo_here, reinterpret_cast<uintptr_t>(__builtin_return_address(0))); \
  }))
#endif

// ---- One step: from a frame to its caller, by the frame's rule. All walks use it. ----------------------------------

// The purpose of this code is to read frames of other functions.
#define KYMO_READS_STACKS __attribute__((no_sanitize("address", "thread", "undefined")))

namespace kymo::unwind {

inline constexpr size_t kWord = sizeof(uintptr_t);

inline constexpr uintptr_t kNothing = 0;  // the slot of a frame that read nothing
inline uintptr_t slot_of_nothing() noexcept { return reinterpret_cast<uintptr_t>(&kNothing); }

KYMO_READS_STACKS inline uintptr_t word_in_stack(uintptr_t slot) noexcept {
  typedef uintptr_t __attribute__((may_alias)) AnyWord;
  return *reinterpret_cast<const AnyWord*>(slot);
}

// True if this is an aligned word of the stack between `low` and its end.
inline bool is_slot(uintptr_t slot, uintptr_t low, uintptr_t high) noexcept {
  return slot >= low && slot <= high - kWord && slot % kWord == 0;
}

inline uintptr_t at_distance(uintptr_t base, int32_t offset) noexcept {
  return base + static_cast<uintptr_t>(intptr_t{offset});
}

// The caller's stack pointer for Kind::Table; with kCfaLoaded, the address of it.
inline uintptr_t plain_cfa(const Rule& rule, const Registers& at) noexcept {
  return at_distance((rule.flags & Rule::kCfaByFramePointer) != 0 ? at.fp : at.sp, rule.cfa_offset);
}

// The address of the caller's frame pointer, if it was saved.
inline uintptr_t frame_pointer_slot(const Rule& rule, const Registers& at, uintptr_t cfa) noexcept {
  return at_distance((rule.flags & Rule::kSavedByFramePointer) != 0 ? at.fp : cfa, rule.fp_offset);
}

// The rule of an interrupted instruction. At the end of a function, registers are restored one after the other, and
// tables do not say so: what was stored below the stack pointer is already in its register again.
inline Rule rule_when_interrupted(Rule rule, const Registers& at) noexcept {
  constexpr unsigned kSlotKnown = Rule::kCfaLoaded | Rule::kSavedByFramePointer | Rule::kFramePointerSaved;
  if (rule.kind == Rule::Kind::Table && (rule.flags & kSlotKnown) == Rule::kFramePointerSaved &&
      frame_pointer_slot(rule, at, plain_cfa(rule, at)) < at.sp)
    rule.flags &= static_cast<uint8_t>(~Rule::kFramePointerSaved);
  return rule;
}

// The words that a step read. If they have not changed, the step has the same result.
struct Reads {
  uintptr_t return_slot, fp_slot;  // addresses; slot_of_nothing() if nothing was read
  uintptr_t return_word, fp_word;  // the words at these addresses

  bool restored_frame_pointer() const noexcept { return fp_slot != slot_of_nothing(); }
  KYMO_READS_STACKS bool unchanged() const noexcept {
    return word_in_stack(return_slot) == return_word && word_in_stack(fp_slot) == fp_word;
  }
};

enum class Step : uint8_t {
  Next,    // done
  End,     // this was the outermost frame
  Cut,     // there is no rule, or the stack does not match it
  Signal,  // this is the trampoline of a signal handler; walk() handles it
};

// The stack of this process.
struct OwnWords {
  KYMO_READS_STACKS uintptr_t operator()(uintptr_t slot) const noexcept { return word_in_stack(slot); }
};

// From `at` to its caller. Reads nothing outside [at.sp, high). Each step goes further out. `word` reads the stack: of
// this process, or a copy of another one.
template <class Words = OwnWords>
KYMO_READS_STACKS inline Step step(const Rule& rule, uintptr_t high, Registers& at, Reads& reads,
                                   const Words& word = {}) noexcept {
  reads = {slot_of_nothing(), slot_of_nothing(), 0, 0};
  uintptr_t cfa, return_slot, fp_slot = 0;
  if (__builtin_expect(rule.kind == Rule::Kind::Table, 1)) {
    cfa = plain_cfa(rule, at);
    if (__builtin_expect((rule.flags & (Rule::kCfaLoaded | Rule::kReturnInRegister)) != 0, 0)) {
      if ((rule.flags & Rule::kReturnInRegister) != 0 || !is_slot(cfa, at.sp, high)) return Step::Cut;
      cfa = at_distance(word(cfa), rule.cfa_added);
      reads.fp_word = ~kNothing;  // one more word was read than is stored: such a frame never counts as unchanged
    }
    return_slot = at_distance(cfa, rule.return_offset);
    if ((rule.flags & Rule::kFramePointerSaved) != 0) fp_slot = frame_pointer_slot(rule, at, cfa);
  } else if (rule.kind == Rule::Kind::FramePointer) {
    fp_slot = at.fp;
    return_slot = at.fp + kWord;
    cfa = at.fp + 2 * kWord;
  } else {
    if (rule.kind == Rule::Kind::Signal) return Step::Signal;
    return rule.kind == Rule::Kind::End ? Step::End : Step::Cut;
  }
  if (__builtin_expect(cfa <= at.sp || cfa > high || !is_slot(return_slot, at.sp, high), 0)) return Step::Cut;
  Registers caller{0, cfa, at.fp};
  reads.return_slot = return_slot;
  reads.return_word = word(return_slot);
  caller.pc = without_signature(reads.return_word);
  if (fp_slot != 0) {
    if (!is_slot(fp_slot, at.sp, high)) return Step::Cut;
    caller.fp = word(fp_slot);
    if (__builtin_expect((rule.flags & Rule::kCfaLoaded) == 0, 1)) {
      reads.fp_slot = fp_slot;
      reads.fp_word = caller.fp;
    }
  }
  at = caller;
  return at.pc != 0 ? Step::Next : Step::End;
}

// The step from a function that was interrupted before it stored its return address on the stack, or that never stores
// it. Its frame may be empty.
template <class Words = OwnWords>
KYMO_READS_STACKS inline Step step_by_link(const Rule& rule, uintptr_t high, uintptr_t link, Registers& at,
                                           const Words& word = {}) noexcept {
  const uintptr_t cfa = plain_cfa(rule, at);
  if ((rule.flags & Rule::kCfaLoaded) != 0 || cfa < at.sp || cfa > high) return Step::Cut;
  uintptr_t fp = at.fp;
  if ((rule.flags & Rule::kFramePointerSaved) != 0) {
    const uintptr_t slot = frame_pointer_slot(rule, at, cfa);
    if (!is_slot(slot, at.sp, high)) return Step::Cut;
    fp = word(slot);
  }
  at = {link, cfa, fp};
  return link != 0 ? Step::Next : Step::End;
}

// ---- Walks ---------------------------------------------------------------------------------------------------------

enum class WalkEnd : uint8_t {
  Outermost,  // the last one has no caller
  Full,       // no space for more
  NoRule,     // code without unwind tables, or a frame that is not valid
  Elsewhere,  // not a stack of the thread
};

struct Walked {
  size_t count = 0;
  WalkEnd end = WalkEnd::Elsewhere;
};

// What to do in code without tables, or with tables that a rule cannot represent: end there, or assume that the frame
// pointer points to a frame record, which is usually correct.
enum class WithoutTable : uint8_t { End, Guess };

// Stores `at.pc` and its callers in `addresses`, without the innermost `skip`.
Walked walk(const Registers& at, const ThreadStacks& stacks, std::span<uintptr_t> addresses, size_t skip,
            WithoutTable without) noexcept;

// If a compiler keeps frame pointers, each frame has its caller's frame pointer and its own return address next to each
// other in memory. These frame records form a chain that ends with null. Walks the chain from the record at `frame`.
// Trusts nothing it reads: a record must be aligned, inside `bounds`, and
// above the previous one; otherwise the chain ends.
size_t walk_frame_chain(uintptr_t frame, StackBounds bounds, std::span<uintptr_t> addresses, size_t skip) noexcept;

}  // namespace kymo::unwind
