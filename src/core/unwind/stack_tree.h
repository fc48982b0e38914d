// Stacks as a tree: a node is a return address and the node of its caller, so a stack is one number.
//
// Each thread has its own tree with its own numbers, so threads never wait for each other. A stack that could not be
// walked to its end has a root that says why.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace kymo::unwind {

// Memory directly from the system, for code inside malloc, which cannot call malloc. All zero; physical memory is
// allocated when it is used. Null: no memory.
inline void* take_pages(size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}
inline void give_back_pages(void* memory, size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, bytes);
}

using Node = uint32_t;

// Nodes that every tree has. Other nodes start at kFirstNode.
inline constexpr Node kNoStack = 0;       // nothing is known
inline constexpr Node kRoot = 1;          // above the outermost frame of a complete stack
inline constexpr Node kCutNoRule = 2;     // above: code without unwind tables, or a frame that is not valid
inline constexpr Node kCutElsewhere = 3;  // above: not a stack of the thread (a fiber)
inline constexpr Node kCutTooDeep = 4;    // above: too many frames
inline constexpr Node kCutByCopy = 5;     // above: after the end of the copy of the stack
inline constexpr Node kFirstNode = 16;

class StackTree {
 public:
  StackTree() = default;
  ~StackTree() { release(); }
  StackTree(const StackTree&) = delete;
  StackTree& operator=(const StackTree&) = delete;

  // The node for `address` called from `parent`. `fresh` is set if it is new. kNoStack: no memory for more.
  Node child(Node parent, uintptr_t address, bool& fresh) noexcept;

  // Removes the newest node, which was not reported.
  void take_back(Node parent, uintptr_t address) noexcept;

  // Starts again with kFirstNode.
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
