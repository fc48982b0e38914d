// The calling thread's stack in a few nanoseconds, as a number.
//
// Two things make it quick. Unwind rules are remembered by code address (rule_table.h), so a frame costs a lookup and
// two loads. And a thread remembers the frames of the stack it saw last, outermost first: a new capture goes from the
// inside out only until it meets a frame that stands where it stood, and then makes sure that every word it would read
// further out is the word it read before. As the way out depends on nothing else, the rest is then the same, and so is
// its node. A call that returned, a longjmp or an exception only make that meeting point lie further out. The frame
// pointer is compared only where the way out depends on it: code that has none uses its register for anything, and a
// loop that counts in it would make every stack a new one.
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

#include "unwind/registers.h"
#include "unwind/stack_bounds.h"
#include "unwind/stack_tree.h"
#include "unwind/step.h"

namespace kymo::unwind {

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
  struct Frame {
    Registers at;
    Reads reads;  // what its rule made the walk read
    Node node;
    uint16_t rule_flags;
    uint16_t fp_matters;  // does the way out depend on it? A step may need it, before another one restores what it was.

    bool is_at(const Registers& now) const noexcept {
      return at.sp == now.sp && at.pc == now.pc && (at.fp == now.fp || fp_matters == 0);
    }
    // Word by word, as it was written a moment ago: a wider load would wait until all that has left the store buffer.
    void copy_to(Frame& other) const noexcept {
      const auto copy = [](auto from, auto& to) noexcept {
        asm("" : "+r"(from));
        to = from;
      };
      copy(at.pc, other.at.pc);
      copy(at.sp, other.at.sp);
      copy(at.fp, other.at.fp);
      copy(reads.return_slot, other.reads.return_slot);
      copy(reads.fp_slot, other.reads.fp_slot);
      copy(reads.return_word, other.reads.return_word);
      copy(reads.fp_word, other.reads.fp_word);
    }
  };

  bool make_room() noexcept;
  size_t outside_of_changes(size_t frames) const noexcept;
  Node finish(Node outer, size_t kept, size_t fresh, const NodeListener& listener) noexcept;
  Node walk_anew(const Registers& at, const ThreadStacks& stacks, const NodeListener& listener) noexcept;
  Node told(Node parent, uintptr_t address, const NodeListener& listener) noexcept;

  Frame* frames_ = nullptr;  // the stack seen last, outermost first
  Frame* fresh_ = nullptr;   // of the capture that runs, innermost first
  size_t kept_ = 0;          // frames remembered
  StackTree tree_;
};

}  // namespace kymo::unwind
