// Containers with few allocations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace kymo::shader {

// A vector whose first elements lie in the object: a list that is usually short needs no allocation. The functions are
// those of std::vector.
template <class T, uint32_t kInline>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  ShortList() noexcept : inline_{} {}
  ShortList(std::initializer_list<T> values) : ShortList(std::span<const T>(values.begin(), values.size())) {}
  ShortList(std::span<const T> values) : ShortList() { append(values.begin(), values.end()); }
  template <class Range>
  requires(!std::is_same_v<Range, ShortList> && std::is_convertible_v<const Range&, std::span<const T>>)
      ShortList(const Range& values)
      : ShortList(std::span<const T>(values)) {}
  ShortList(const ShortList& other) : ShortList(std::span<const T>(other.data(), other.size_)) {}
  ShortList(ShortList&& other) noexcept { take(other); }
  ShortList& operator=(const ShortList& other) {
    if (this != &other) *this = ShortList(other);
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {
    if (this == &other) return *this;
    if (is_allocated()) delete[] allocated_;
    take(other);
    return *this;
  }
  ~ShortList() {
    if (is_allocated()) delete[] allocated_;
  }

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }
  T* data() noexcept { return is_allocated() ? allocated_ : inline_; }
  const T* data() const noexcept { return is_allocated() ? allocated_ : inline_; }
  T& operator[](size_t i) noexcept { return data()[i]; }
  const T& operator[](size_t i) const noexcept { return data()[i]; }
  T& back() noexcept { return data()[size_ - 1]; }
  const T& back() const noexcept { return data()[size_ - 1]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  auto rbegin() const noexcept { return std::reverse_iterator(end()); }
  auto rend() const noexcept { return std::reverse_iterator(begin()); }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = value;
  }
  void resize(size_t count) {
    reserve(count);
    if (count > size_) std::fill(end(), data() + count, T{});
    size_ = static_cast<uint32_t>(count);
  }
  void pop_back() noexcept { --size_; }
  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  // `from` and `to` are not in this list.
  template <class Iterator>
  void append(Iterator from, Iterator to) {
    const auto more = static_cast<uint32_t>(std::distance(from, to));
    reserve(size_ + more);
    std::copy(from, to, end());
    size_ += more;
  }
  void insert(const T* before, T value) {
    const auto at = before - begin();
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }

 private:
  bool is_allocated() const noexcept { return capacity_ > kInline; }

  void grow(size_t needed) {
    const auto larger = std::max(static_cast<uint32_t>(needed), capacity_ * 2);
    T* const moved = new T[larger];
    std::copy(begin(), end(), moved);
    if (is_allocated()) delete[] allocated_;
    allocated_ = moved;
    capacity_ = larger;
  }

  // Its own elements are not kept; `other` is empty then.
  void take(ShortList& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInline);
    if (is_allocated())
      allocated_ = other.allocated_;
    else
      std::copy_n(other.inline_, size_, inline_);
  }

  uint32_t size_ = 0, capacity_ = kInline;
  union {
    T inline_[kInline];
    T* allocated_;
  };
};

// Many objects of one type with the same lifetime, in few allocations. They never move.
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
