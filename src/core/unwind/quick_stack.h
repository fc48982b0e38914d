// Captures the calling thread's stack in a few nanoseconds, as a number.
//
// Two caches make it fast. First, unwind rules are cached by code address (rule_table.h), so a frame costs a lookup and
// two loads. Second, a thread remembers the frames of its last stack, outermost first. A new capture walks from the
// inside out only until it finds a frame at the same place as before. Then it checks that every word it would read
// further out is still the same. The walk depends on nothing else, so the rest of the stack is the same, and so is its
// node. A call that returned, a longjmp or an exception only moves that point further out. The frame pointer is
// compared only if the walk depends on it: code without a frame pointer uses the register for anything, and a loop
// counter in it would make every stack a new one.
//
//   remembered   main ── run ── step ── parse ── grow ── malloc
//   now          main ── run ── step ── print ── copy ── malloc
//                                  └─ found: two frames are new, the three outer ones are only checked
//
// Never reads outside the given bounds, takes no lock, and allocates only its own pages. Not thread-safe: each thread
// has its own. A signal handler must not use one while its thread uses it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unwind/stack_bounds.h"
#include "unwind/stack_tree.h"
#include "unwind/walk.h"

namespace kymo::unwind {

// Called for every new node, outer ones first. Returns false if the node could not be kept; then it must not be used.
struct NodeListener {
  bool (*on_new)(void* context, Node node, Node parent, uintptr_t address) noexcept;
  void* context;
};

inline constexpr size_t kMaxFrames = 4096;
inline constexpr size_t kFramesOfACutStack = 64;  // a deeper stack keeps this many innermost frames

class QuickStack {
 public:
  // The number of the stack that begins with `at`. If it is not a stack of the thread, only its innermost frame is
  // used.
  Node capture(Registers at, const ThreadStacks& stacks, const NodeListener& listener) noexcept;

  // Discards frames and nodes: their listener is gone, or code was unloaded.
  void forget() noexcept {
    kept_ = 0;
    tree_.forget();
  }
  void release() noexcept;

 private:
  struct Frame {
    Registers at;
    Reads reads;  // what the walk read because of its rule
    Node node;
    uint16_t rule_flags;
    // Nonzero if the walk depends on the frame pointer. A step may need it before another step restores it.
    uint16_t fp_matters;

    bool is_at(const Registers& now) const noexcept {
      return at.sp == now.sp && at.pc == now.pc && (at.fp == now.fp || fp_matters == 0);
    }
    // Word by word, as it was just written: a wider load would stall until all of these stores have left the store
    // buffer.
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
  Node child_of(Node parent, uintptr_t address, const NodeListener& listener) noexcept;

  Frame* frames_ = nullptr;  // the last stack, outermost first
  Frame* fresh_ = nullptr;   // of the current capture, innermost first
  size_t kept_ = 0;          // number of frames in frames_
  StackTree tree_;
};

}  // namespace kymo::unwind
