// Spare Block nodes. They are taken and returned in a few instructions, and kept until the end.
#pragma once

#include <memory>
#include <vector>

#include "device/allocator/block.h"

namespace kymo::device {

class BlockNodes {
 public:
  // A node in the state Unused; the caller sets all members. Throws std::bad_alloc.
  Block* take() {
    if (spare_ == nullptr) [[unlikely]]
      more();
    Block* const node = spare_;
    spare_ = node->next;
    return node;
  }

  void give(Block* node) noexcept {
    node->state = Block::State::Unused;
    node->next = spare_;
    spare_ = node;
  }

 private:
  static constexpr size_t kSlab = 64;

  [[gnu::noinline, gnu::cold]] void more() {
    slabs_.push_back(std::make_unique<Block[]>(kSlab));
    for (size_t i = kSlab; i-- > 0;) give(&slabs_.back()[i]);
  }

  Block* spare_ = nullptr;
  std::vector<std::unique_ptr<Block[]>> slabs_;
};

}  // namespace kymo::device
