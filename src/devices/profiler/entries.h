// The things that ran: an entry for each kernel, each named operation, each direction of a copy, each host fallback,
// with its number and its counts.
//
// Finding the entry of a kernel takes no lock and no allocation: it is a hash table of addresses. Entries are never
// removed and never move. A kernel is identified by its handle and its name, because another library may reuse the
// address of one that is gone.
//
// Threads: every function can be called from any thread.
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
  // Constant after creation.
  EntryKind kind = EntryKind::Kernel;
  uint32_t index = 0;   // among all entries
  uint32_t number = 0;  // among those of its kind, from 1
  const void* handle = nullptr;
  std::string name;
  std::string_view source_name;  // the address that a kernel's name came from

  std::string id() const;  // "K3", "G1", "2"

  // Counts. Runs are numbered when they begin; the statistics contain the runs that were reported.
  std::atomic<uint64_t> began{0};
  std::atomic<uint64_t> runs{0}, gpu_ns{0}, call_ns{0}, bytes{0};
  std::atomic<uint64_t> scalars{0}, scalar_gpu_ns{0}, blocking{0};  // of copies
  std::atomic<double> flops{0};                                     // of named operations

  // Its name in tables: with the tensors of its first run since the counts were reset.
  std::string key;  // under the lock of Entries
  std::atomic<bool> has_key{false}, varies{false};
  std::atomic<uint64_t> key_bytes{0};  // size of those tensors; another size sets `varies`

  uint64_t next_run() noexcept { return began.fetch_add(1, std::memory_order_relaxed) + 1; }
};

class Entries {
 public:
  static constexpr uint32_t kChunk = 256, kMax = 1 << 20;

  Entries();
  ~Entries();
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;

  // Null: there is none yet. `name` is compared by address.
  Entry* find_kernel(const void* handle, std::string_view name) const noexcept;
  // Finds or creates it. After a million entries, new kernels share one entry, and so do new names.
  Entry& kernel(const void* handle, std::string_view name);
  Entry& named(EntryKind kind, std::string_view name);
  Entry& at(uint32_t index) const noexcept {
    return chunks_[index / kChunk].load(std::memory_order_acquire)[index % kChunk];
  }

  // It runs with tensors of this many bytes. `make_key` is called if the entry needs a key.
  template <class MakeKey>
  void note_tensors(Entry& entry, uint64_t bytes, MakeKey&& make_key) {
    if (__builtin_expect(!entry.has_key.load(std::memory_order_relaxed), 0)) return set_key(entry, bytes, make_key());
    if (entry.key_bytes.load(std::memory_order_relaxed) != bytes && !entry.varies.load(std::memory_order_relaxed))
      entry.varies.store(true, std::memory_order_relaxed);
  }
  std::string key_of(const Entry& entry) const;  // "scale:opencl:0:f32[16]", "scale:opencl:0:f32[16] and other sizes"

  // All entries so far, in the order in which they were first seen.
  std::vector<Entry*> all() const;
  void reset_counts() noexcept;

 private:
  struct Table {
    explicit Table(size_t wanted) : slots(wanted) {}
    std::vector<std::atomic<Entry*>> slots;  // their number is a power of two; at least half are empty
  };
  static size_t place_of(const void* handle, std::string_view name) noexcept;
  static void put(Table& table, Entry& entry) noexcept;
  Entry& add(EntryKind kind, std::string_view name);
  void set_key(Entry& entry, uint64_t bytes, std::string key);
  Entry& shared(EntryKind kind);  // for everything after the limit

  mutable std::mutex mutex_;  // for adding entries, and for keys
  std::array<std::atomic<Entry*>, kMax / kChunk> chunks_{};
  uint32_t count_ = 0;
  std::array<uint32_t, 4> numbers_{};
  std::map<std::pair<EntryKind, std::string>, Entry*, std::less<>> by_name_;
  std::array<Entry*, 4> shared_{};
  std::atomic<Table*> kernels_{nullptr};
  size_t kernel_count_ = 0;
  // Including those that were outgrown: another thread may still read them.
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace kymo::profiler
