// A FIFO queue in one block of memory, which is reused and grows when needed. A std::deque allocates and frees memory
// every few elements.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace kymo::base {

template <class T>
class Fifo {
 public:
  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }

  T& front() noexcept { return places_[first_]; }
  T& operator[](size_t i) noexcept { return places_[(first_ + i) & (places_.size() - 1)]; }  // from the front

  void push_back(T value) { push_place() = std::move(value); }
  // The same without a copy: returns a place at the end, with its old content.
  T& push_place() {
    if (size_ == places_.size()) grow();
    return (*this)[size_++];
  }
  void pop_front() noexcept {
    first_ = (first_ + 1) & (places_.size() - 1);
    --size_;
  }
  void clear() noexcept { first_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(places_.empty() ? 64 : places_.size() * 2);
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    places_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> places_;  // the number is a power of two
  size_t first_ = 0, size_ = 0;
};

}  // namespace kymo::base
