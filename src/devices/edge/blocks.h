// A list that grows without moving its elements: a few small blocks, then as many large ones as needed. One thread
// appends. Other threads may read elements that were appended before they were notified.
//
//   Blocks<RawMemory> list;
//   if (RawMemory* place = list.append()) place->bytes = 16;      // null: no memory, or no number left
//   const uint32_t at = texts.append_run(bytes);                  // together in memory; Blocks<T>::kFull: not kept
//   … list[3], list.size(), texts.run(at, bytes.size())
//
// An element costs a compare and an increment, a block costs an allocation; nothing throws. The main cost is new
// memory, one page at a time when it is first touched. Large blocks use huge pages if the system has some, which is ten
// times cheaper, and two of them are kept for the next profiler. A run that does not fit into the rest of its block
// begins in the next one. The elements that it skips have numbers too, so read lists of runs only with run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace kymo::edge {

inline constexpr size_t kLargeBlock = 2 << 20;

// Memory for a block, aligned to a page; a size close to kLargeBlock is rounded up to it. Null: there is no memory.
void* take_block(size_t bytes) noexcept;
void give_block(void* block, size_t bytes) noexcept;

template <class T>
class Blocks {
 public:
  static constexpr uint32_t kFull = std::numeric_limits<uint32_t>::max();
  static constexpr uint32_t kLongestRun = kLargeBlock / sizeof(T);

  Blocks() = default;
  ~Blocks() { clear(); }
  Blocks(Blocks&& other) noexcept { *this = std::move(other); }
  Blocks& operator=(Blocks&& other) noexcept {
    if (this == &other) return *this;
    clear();
    blocks_ = std::exchange(other.blocks_, {});
    next_ = std::exchange(other.next_, nullptr);
    end_ = std::exchange(other.end_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Numbers from 0; a list of runs also counts the skipped elements.
  uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  T& operator[](uint32_t at) noexcept { return *place(at); }
  const T& operator[](uint32_t at) const noexcept { return *place(at); }

  // Appends an element made from `args`; null: there is no space.
  template <class... Args>
  T* append(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>) {
    if (next_ == end_ && !grow()) return nullptr;
    T* const made = ::new (static_cast<void*>(next_)) T(std::forward<Args>(args)...);
    ++next_, ++size_;
    return made;
  }

  // The number of the first element; kFull if there are more than kLongestRun, or there is no space.
  uint32_t append_run(std::span<const T> run) noexcept requires std::is_trivially_copyable_v<T> {
    while (static_cast<size_t>(end_ - next_) < run.size()) {
      if (run.size() > kLongestRun) return kFull;
      const auto left_out = static_cast<uint32_t>(end_ - next_);
      if (!grow(left_out)) return kFull;
      size_ += left_out;
    }
    const uint32_t at = size_;
    if (!run.empty()) std::memcpy(static_cast<void*>(next_), run.data(), run.size_bytes());
    next_ += run.size();
    size_ += static_cast<uint32_t>(run.size());
    return at;
  }
  // The elements of append_run(). Empty if these numbers do not belong to one run.
  std::span<const T> run(uint32_t at, size_t count) const noexcept {
    if (count == 0 || at >= size_ || count > size_ - at) return {};
    const auto [block, offset] = find(at);
    if (count > size_of(block) - offset) return {};
    return {blocks_[block] + offset, count};
  }

  void clear() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (uint32_t i = 0; i < size_; ++i) std::destroy_at(place(i));
    for (uint32_t block = 0; block < blocks_.size(); ++block) give_block(blocks_[block], size_of(block) * sizeof(T));
    blocks_.clear();
    next_ = end_ = nullptr;
    size_ = 0;
  }

 private:
  static_assert(sizeof(T) <= 4096 && alignof(T) <= 4096);
  static constexpr uint32_t kSmall[3] = {4096 / sizeof(T), 65'536 / sizeof(T), 524'288 / sizeof(T)};
  static constexpr uint32_t kSecond = kSmall[0], kThird = kSecond + kSmall[1], kLarge = kThird + kSmall[2];

  struct Place {
    uint32_t block, offset;
  };
  static constexpr uint32_t size_of(uint32_t block) noexcept {
    return block < std::size(kSmall) ? kSmall[block] : kLongestRun;
  }
  static constexpr Place find(uint32_t at) noexcept {
    if (at >= kLarge)
      return {static_cast<uint32_t>(std::size(kSmall)) + (at - kLarge) / kLongestRun, (at - kLarge) % kLongestRun};
    if (at < kSecond) return {0, at};
    return at < kThird ? Place{1, at - kSecond} : Place{2, at - kThird};
  }
  T* place(uint32_t at) const noexcept {
    const auto [block, offset] = find(at);
    return blocks_[block] + offset;
  }

  // A new block, after `left_out` skipped elements of the last one.
  [[gnu::noinline]] bool grow(uint32_t left_out = 0) noexcept try {
    const uint32_t size = size_of(static_cast<uint32_t>(blocks_.size()));
    if (uint64_t{size_} + left_out + size >= kFull) return false;
    blocks_.reserve(blocks_.size() + 1);
    void* const memory = take_block(size * sizeof(T));
    if (memory == nullptr) return false;
    blocks_.push_back(static_cast<T*>(memory));
    next_ = blocks_.back();
    end_ = next_ + size;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  std::vector<T*> blocks_;
  T *next_ = nullptr, *end_ = nullptr;  // in the last block
  uint32_t size_ = 0;
};

}  // namespace kymo::edge
