// Many objects of one type with the same lifetime, in few allocations. They never move.
#pragma once

#include <cstddef>
#include <vector>

namespace kymo::shader {

template <typename T>
class Pool {
 public:
  T& make() {
    if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back().reserve(kBlock);
    return blocks_.back().emplace_back();
  }
  size_t size() const { return blocks_.empty() ? 0 : (blocks_.size() - 1) * kBlock + blocks_.back().size(); }
  T& operator[](size_t i) { return blocks_[i / kBlock][i % kBlock]; }  // in the order of make()

 private:
  static constexpr size_t kBlock = 256;
  std::vector<std::vector<T>> blocks_;  // never grow beyond the reserved size
};

}  // namespace kymo::shader
