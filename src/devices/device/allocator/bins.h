// Free blocks by size: lists for ranges of sizes, found by two bit scans.
//
// Sizes are counted in units of 512 bytes. Up to 127 units each size has its own bin. Above that, every power of two is
// divided into 64 bins, so that sizes in one bin differ by at most 1.6 %:
//
//   level      0         1           2             3             ...
//   units      1..63     64..127     128..255      256..511            64 bins each, a word of bits each
//   width      1         1           2             4
//
// `levels_` has a bit for each level that has a block. The lists are last in, first out: the block that was used last
// is still in the processor's caches.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/allocator/block.h"

namespace kymo::device {

class Bins {
 public:
  // For blocks up to `longest` bytes; all longer ones go to the last bin.
  explicit Bins(size_t longest)
      : last_(raw_index(longest)), heads_(std::make_unique<Block*[]>(size_t{last_ / kPerLevel + 1} * kPerLevel)) {}

  bool empty() const { return levels_ == 0; }

  void insert(Block* block) {
    const uint32_t bin = index(block->size);
    Block* const head = heads_[bin];
    block->bin = static_cast<uint16_t>(bin);
    block->previous = nullptr;
    block->next = head;
    if (head != nullptr)
      head->previous = block;
    else
      set(bin);
    heads_[bin] = block;
  }

  void remove(Block* block) {
    if (block->next != nullptr) block->next->previous = block->previous;
    if (block->previous != nullptr) {
      block->previous->next = block->next;
    } else {
      heads_[block->bin] = block->next;
      if (block->next == nullptr) clear(block->bin);
    }
  }

  // After the size of the block changed: true if it is still in the right bin.
  bool in_place(const Block* block) const { return index(block->size) == block->bin; }

  // A block of at least `size` bytes: the best of the first few in its bin, else the first of the next bin that is not
  // empty. It may miss a block if its bin is full of smaller ones; search() does not.
  Block* best(size_t size) const {
    const uint32_t bin = index(size);
    if ((words_[bin / kPerLevel] >> (bin % kPerLevel) & 1) != 0) {
      if (bin < kExactBins) return heads_[bin];
      Block* found = nullptr;
      int left = kLook;
      for (Block* block = heads_[bin]; block != nullptr && left-- > 0; block = block->next) {
        if (block->size == size) return block;
        if (block->size > size && (found == nullptr || block->size < found->size)) found = block;
      }
      if (found != nullptr) return found;
    }
    const uint32_t next = next_bin(bin + 1);
    return next == kNone ? nullptr : heads_[next];
  }

  // The smallest block of at least `size` bytes that `fits`, from a search of all blocks.
  template <class Fits>
  Block* search(size_t size, Fits fits) const {
    for (uint32_t bin = next_bin(index(size)); bin != kNone; bin = next_bin(bin + 1)) {
      Block* found = nullptr;
      for (Block* block = heads_[bin]; block != nullptr; block = block->next)
        if (block->size >= size && (found == nullptr || block->size < found->size) && fits(block)) found = block;
      if (found != nullptr) return found;
    }
    return nullptr;
  }

  void clear() {
    for (uint32_t bin = next_bin(0); bin != kNone; bin = next_bin(bin + 1)) {
      heads_[bin] = nullptr;
      clear(bin);
    }
  }

  uint32_t index(size_t size) const {
    const uint32_t bin = raw_index(size);
    return bin < last_ ? bin : last_;
  }

 private:
  friend class AllocatorCheck;
  static constexpr uint32_t kPerLevel = 64;
  static constexpr uint32_t kLevels = 48;  // 2^62 bytes
  static constexpr uint32_t kExactBins = 2 * kPerLevel;
  static constexpr int kLook = 8;
  static constexpr uint32_t kNone = ~uint32_t{0};

  static uint32_t raw_index(size_t size) {
    const uint64_t units = size / kBlockAlignment;
    const auto width = static_cast<uint32_t>(std::bit_width(units | (kPerLevel - 1)));  // at least 6
    const uint32_t shift = width - 6 - (width > 6 ? 1 : 0);
    return shift * kPerLevel + static_cast<uint32_t>(units >> shift);
  }

  uint32_t next_bin(uint32_t from) const {
    uint32_t level = from / kPerLevel;
    if (level >= kLevels) return kNone;
    uint64_t word = words_[level] & (~uint64_t{0} << (from % kPerLevel));
    if (word == 0) {
      const uint64_t above = level + 1 < kPerLevel ? levels_ & (~uint64_t{0} << (level + 1)) : 0;
      if (above == 0) return kNone;
      level = static_cast<uint32_t>(std::countr_zero(above));
      word = words_[level];
    }
    return level * kPerLevel + static_cast<uint32_t>(std::countr_zero(word));
  }

  void set(uint32_t bin) {
    words_[bin / kPerLevel] |= uint64_t{1} << (bin % kPerLevel);
    levels_ |= uint64_t{1} << (bin / kPerLevel);
  }
  void clear(uint32_t bin) {
    uint64_t& word = words_[bin / kPerLevel];
    word &= ~(uint64_t{1} << (bin % kPerLevel));
    if (word == 0) levels_ &= ~(uint64_t{1} << (bin / kPerLevel));
  }

  uint64_t levels_ = 0;
  std::array<uint64_t, kLevels> words_{};
  uint32_t last_;
  std::unique_ptr<Block*[]> heads_;
};

}  // namespace kymo::device
