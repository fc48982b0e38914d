// Finds what an adapter knows about an object of the program, by its address.
//
// Adapters look up objects in every call, so reading takes no lock: it is a hash and, nearly always, one
// comparison. Writers take turns. An entry may be removed only when no thread uses its object any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace kymo::inject {

template <class T>
class HandleTable {
 public:
  // Null: not known.
  T* find(const void* handle) const noexcept {
    const Places* places = current_.load(std::memory_order_acquire);
    if (places == nullptr || handle == nullptr) return nullptr;
    for (size_t at = places->first(handle);; at = (at + 1) & places->mask) {
      const void* key = places->entries[at].key.load(std::memory_order_acquire);
      if (key == handle) return places->entries[at].value.load(std::memory_order_acquire);
      if (key == nullptr) return nullptr;
    }
  }

  // Adds the entry, or replaces it: the driver may use an address again. Throws std::bad_alloc.
  void put(const void* handle, T* value) {
    if (handle == nullptr) return;
    const std::lock_guard lock(mutex_);
    Places* places = current_.load(std::memory_order_relaxed);
    if (places == nullptr || (used_ + 1) * 2 > places->mask + 1) places = grow(places);
    store(*places, handle, value);
  }

  // Removes the entry and returns its value.
  T* take(const void* handle) noexcept {
    const std::lock_guard lock(mutex_);
    Places* places = current_.load(std::memory_order_relaxed);
    if (places == nullptr || handle == nullptr) return nullptr;
    for (size_t at = places->first(handle);; at = (at + 1) & places->mask) {
      const void* key = places->entries[at].key.load(std::memory_order_relaxed);
      if (key == nullptr) return nullptr;
      // The key stays, so that the entries after it are still found.
      if (key == handle) return places->entries[at].value.exchange(nullptr, std::memory_order_acq_rel);
    }
  }

 private:
  struct Entry {
    std::atomic<const void*> key{nullptr};
    std::atomic<T*> value{nullptr};
  };
  struct Places {
    explicit Places(size_t count) : mask(count - 1), entries(count) {}
    size_t first(const void* handle) const noexcept {
      return static_cast<size_t>((reinterpret_cast<uintptr_t>(handle) * 0x9e3779b97f4a7c15u) >> 20) & mask;
    }
    const size_t mask;
    std::vector<Entry> entries;
  };
  static constexpr size_t kFirstCount = 64;

  // Uses the place of a removed entry if there is one on the way: objects come and go.
  void store(Places& places, const void* handle, T* value) noexcept {
    Entry* removed = nullptr;
    size_t at = places.first(handle);
    for (;; at = (at + 1) & places.mask) {
      Entry& entry = places.entries[at];
      const void* key = entry.key.load(std::memory_order_relaxed);
      if (key == handle) return entry.value.store(value, std::memory_order_release);
      if (key == nullptr) break;
      if (removed == nullptr && entry.value.load(std::memory_order_relaxed) == nullptr) removed = &entry;
    }
    Entry& entry = removed != nullptr ? *removed : places.entries[at];
    if (removed == nullptr) ++used_;
    entry.value.store(value, std::memory_order_release);
    entry.key.store(handle, std::memory_order_release);
  }

  // Readers may still be in the old places, so these are kept. Their sizes double, so they are less than the new ones.
  Places* grow(const Places* old) {
    size_t live = 0;
    if (old != nullptr)
      for (const Entry& entry : old->entries) live += entry.value.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
    size_t count = kFirstCount;
    while (count < (live + 1) * 4) count *= 2;
    all_.push_back(std::make_unique<Places>(count));
    Places& places = *all_.back();
    used_ = 0;
    if (old != nullptr)
      for (const Entry& entry : old->entries)
        if (T* value = entry.value.load(std::memory_order_relaxed))
          store(places, entry.key.load(std::memory_order_relaxed), value);
    current_.store(&places, std::memory_order_release);
    return &places;
  }

  std::mutex mutex_;
  std::atomic<Places*> current_{nullptr};
  std::vector<std::unique_ptr<Places>> all_;
  size_t used_ = 0;  // keys in the current places, also of removed entries
};

}  // namespace kymo::inject
