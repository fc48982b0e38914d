// Stacks as a tree: a node is a return address and the node of the stack that called it, so a stack is one number.
//
// One thread's, which numbers its nodes itself: nobody else waits for it or is waited for. A stack that could not be
// followed to its end hangs from a root that says why.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::unwind {

using Node = uint32_t;

// Nodes that every tree has. Others begin at kFirstNode.
inline constexpr Node kNoStack = 0;       // nothing is known
inline constexpr Node kRoot = 1;          // above the outermost frame of a whole stack
inline constexpr Node kCutNoRule = 2;     // above: code without unwind tables, or a frame that made no sense
inline constexpr Node kCutElsewhere = 3;  // above: a stack that is not the thread's own (a fiber's)
inline constexpr Node kCutTooDeep = 4;    // above: more frames than are followed
inline constexpr Node kFirstNode = 16;

class StackTree {
 public:
  StackTree() = default;
  ~StackTree() { release(); }
  StackTree(const StackTree&) = delete;
  StackTree& operator=(const StackTree&) = delete;

  // The node for `address` called from `parent`; a new one where `fresh` is set. kNoStack: there is no memory for more.
  Node child(Node parent, uintptr_t address, bool& fresh) noexcept;

  // Takes the newest node back: nobody heard of it.
  void take_back(Node parent, uintptr_t address) noexcept;

  // Begins anew, with kFirstNode.
  void forget() noexcept;

  uint32_t size() const noexcept { return used_; }
  void release() noexcept;

 private:
  struct Entry {
    uint64_t address;
    Node parent;
    Node node;  // 0: free
  };
  Entry* place_of(Node parent, uintptr_t address) const noexcept;
  bool grow() noexcept;

  Entry* entries_ = nullptr;
  uint32_t mask_ = 0, used_ = 0;
};

}  // namespace kymo::unwind
