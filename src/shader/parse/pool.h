// Many objects of one type with the same lifetime, in few allocations. They never move.
#pragma once

#include <cstddef>
#include <vector>

namespace kymo::shader::ast {

template <typename T>
class Pool {
 public:
  T& make() {
    if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back().reserve(kBlock);
    return blocks_.back().emplace_back();
  }

 private:
  static constexpr size_t kBlock = 64;
  std::vector<std::vector<T>> blocks_;  // never grow beyond the reserved size
};

}  // namespace kymo::shader::ast
