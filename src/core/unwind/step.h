// One step of a walk: from a frame to its caller, by the frame's rule. Both kinds of walks use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unwind/registers.h"
#include "unwind/rule.h"

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
  Signal,  // this is the trampoline of a signal handler; walk (walk.h) handles it
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
      cfa = word(cfa);
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

}  // namespace kymo::unwind
