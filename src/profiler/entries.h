// What was seen to run: an entry for each kernel, each named operation, each way a copy goes, each host fallback, with
// its number and its counts.
//
// Finding a kernel's entry takes no lock and no allocation: a table of addresses, hashed. Entries are never removed and
// never move. A kernel is told by its handle and its name: a library that is gone may leave its address to another one.
//
// Threads: all of it from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::profiler {

enum class EntryKind : uint8_t { Kernel, Operation, Copy, Fallback };

struct alignas(64) Entry {
  // Fixed when it is made.
  EntryKind kind = EntryKind::Kernel;
  uint32_t index = 0;   // among all entries
  uint32_t number = 0;  // among those of its kind, from 1
  const void* handle = nullptr;
  std::string name;
  std::string_view source_name;  // where a kernel's name came from

  std::string id() const;  // "K3", "G1", "2"

  // Counts. Runs that began are numbered; those that were told of are what statistics are of.
  std::atomic<uint64_t> began{0};
  std::atomic<uint64_t> runs{0}, gpu_ns{0}, call_ns{0}, bytes{0};
  std::atomic<uint64_t> scalars{0}, scalar_gpu_ns{0}, blocking{0};  // of copies
  std::atomic<double> flops{0};                                     // of named operations

  // What it is called in tables: with the tensors of its first run since the counts were reset.
  std::string key;  // under the lock of Entries
  std::atomic<bool> has_key{false}, varies{false};
  std::atomic<uint64_t> key_bytes{0};  // of those tensors; others' make it vary

  uint64_t next_run() noexcept { return began.fetch_add(1, std::memory_order_relaxed) + 1; }
};

class Entries {
 public:
  static constexpr uint32_t kChunk = 256, kMost = 1 << 20;

  Entries();
  ~Entries();
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;

  // Null: there is none yet. `name` is compared by where it lies.
  Entry* find_kernel(const void* handle, std::string_view name) const noexcept;
  // Found or made. After a million of entries new kernels share one, as do new names.
  Entry& kernel(const void* handle, std::string_view name);
  Entry& named(EntryKind kind, std::string_view name);
  Entry& at(uint32_t index) const noexcept {
    return chunks_[index / kChunk].load(std::memory_order_acquire)[index % kChunk];
  }

  // It runs with tensors of so many bytes. `make_key` is asked where the entry needs a key.
  template <class MakeKey>
  void note_tensors(Entry& entry, uint64_t bytes, MakeKey&& make_key) {
    if (__builtin_expect(!entry.has_key.load(std::memory_order_relaxed), 0)) return set_key(entry, bytes, make_key());
    if (entry.key_bytes.load(std::memory_order_relaxed) != bytes && !entry.varies.load(std::memory_order_relaxed))
      entry.varies.store(true, std::memory_order_relaxed);
  }
  std::string key_of(const Entry& entry) const;  // "scale:opencl:0:f32[16]", "scale:opencl:0:f32[16] and other sizes"

  // Everything there is by now, in the order it was first seen.
  std::vector<Entry*> all() const;
  void reset_counts() noexcept;

 private:
  struct Table {
    explicit Table(size_t wanted) : slots(wanted) {}
    std::vector<std::atomic<Entry*>> slots;  // a power of two of them, half of them empty at least
  };
  static size_t place_of(const void* handle, std::string_view name) noexcept;
  static void put(Table& table, Entry& entry) noexcept;
  Entry& add(EntryKind kind, std::string_view name);
  void set_key(Entry& entry, uint64_t bytes, std::string key);
  Entry& shared(EntryKind kind);  // of all that came too late

  mutable std::mutex mutex_;  // to add, and for keys
  std::array<std::atomic<Entry*>, kMost / kChunk> chunks_{};
  uint32_t count_ = 0;
  std::array<uint32_t, 4> numbers_{};
  std::map<std::pair<EntryKind, std::string>, Entry*, std::less<>> by_name_;
  std::array<Entry*, 4> shared_{};
  std::atomic<Table*> kernels_{nullptr};
  size_t kernel_count_ = 0;
  std::vector<std::unique_ptr<Table>> tables_;  // those outgrown too: somebody may still be looking into them
};

}  // namespace kymo::profiler
