// Values by number, limited by the bytes that they need together: the one that was not used for the longest time goes
// first. Any thread may call anything; a value stays valid as long as somebody has it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace kymo::serve {

template <typename Value>
class ByteCache {
 public:
  explicit ByteCache(size_t limit) : limit_(limit) {}

  std::shared_ptr<const Value> find(uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  // A value that is larger than the limit is not kept.
  void put(uint64_t key, std::shared_ptr<const Value> value, size_t bytes) {
    const std::lock_guard lock(mutex_);
    erase(key);
    if (bytes > limit_) return;
    entries_.push_front({key, std::move(value), bytes});
    by_key_[key] = entries_.begin();
    used_ += bytes;
    while (used_ > limit_) erase(entries_.back().key);
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    by_key_.clear();
    used_ = 0;
  }

  size_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  size_t limit() const { return limit_; }

 private:
  struct Entry {
    uint64_t key;
    std::shared_ptr<const Value> value;
    size_t bytes;
  };
  void erase(uint64_t key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    used_ -= found->second->bytes;
    entries_.erase(found->second);
    by_key_.erase(found);
  }

  const size_t limit_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the last used one first
  std::unordered_map<uint64_t, typename std::list<Entry>::iterator> by_key_;
  size_t used_ = 0;
};

}  // namespace kymo::serve
