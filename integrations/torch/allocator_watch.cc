#include "allocator_watch.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "allocation_stacks.h"
#include "call_ranges.h"
#include "kymo/annotate.h"
#include "kymo/error.h"
#include "kymo/queue.h"

namespace kymo::libtorch {

namespace {

constexpr size_t kMaxAllocators = 4;  // max number of allocators that a program sets one after the other
constexpr std::string_view kDevice = "cpu";

constinit std::atomic<bool> is_watched{false};

void tell_taken(const void* address, size_t bytes) noexcept {
  static constexpr Label label("allocate", "memory");
  std::array<kymo_arg, 4> fields{kymo::bytes("bytes", bytes), arg("device", kDevice)};
  uint32_t count = 2;
  if (const std::string_view category = memory_category(); !category.empty())
    fields[count++] = arg("category", category);
  if (const uint64_t node = allocation_stack(); node != 0) fields[count++] = arg("node", node);
  kymo_allocation(&label, fields.data(), count, reinterpret_cast<uintptr_t>(address));
}

void tell_returned(const void* address) noexcept {
  static constexpr Label label("free", "memory");
  const kymo_arg device = arg("device", kDevice);
  kymo_free(&label, &device, 1, reinterpret_cast<uintptr_t>(address));
}

// Memory is freed by a function that gets only its address, so each allocator of the program has its own function.
class WatchedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const override {
    c10::DataPtr memory = asked_->allocate(bytes);
    const bool comes_back_here = memory.get() != nullptr && memory.get_context() == memory.get() &&
                                 returns_ != nullptr && memory.compare_exchange_deleter(returns_, own_returns_);
    if (comes_back_here && is_watched.load(std::memory_order_relaxed)) tell_taken(memory.get(), bytes);
    return memory;
  }
  c10::DeleterFnPtr raw_deleter() const override { return returns_ == nullptr ? nullptr : own_returns_; }

  void ask(c10::Allocator* allocator, c10::DeleterFnPtr own_returns) {
    asked_ = allocator;
    returns_ = allocator->raw_deleter();
    own_returns_ = own_returns;
  }
  c10::Allocator* asked() const { return asked_; }
  void give_back(void* memory) const {
    if (memory != nullptr && is_watched.load(std::memory_order_relaxed)) tell_returned(memory);
    returns_(memory);
  }

 private:
  c10::Allocator* asked_ = nullptr;
  c10::DeleterFnPtr returns_ = nullptr, own_returns_ = nullptr;
};

// Never destroyed: tensors outlive everything.
std::array<WatchedAllocator, kMaxAllocators>& watched_allocators() {
  static auto* const all = new std::array<WatchedAllocator, kMaxAllocators>;
  return *all;
}

template <size_t kNumber>
void return_to(void* memory) {
  watched_allocators()[kNumber].give_back(memory);
}

template <size_t... kNumbers>
constexpr std::array<c10::DeleterFnPtr, kMaxAllocators> make_ways_back(std::index_sequence<kNumbers...>) {
  return {return_to<kNumbers>...};
}
constexpr auto kWaysBack = make_ways_back(std::make_index_sequence<kMaxAllocators>());

WatchedAllocator& watcher_of(c10::Allocator* allocator) {
  for (size_t i = 0; i < kMaxAllocators; ++i) {
    WatchedAllocator& watched = watched_allocators()[i];
    if (&watched == allocator) return watched;  // the program has put it back there itself
    if (watched.asked() == nullptr) watched.ask(allocator, kWaysBack[i]);
    if (watched.asked() == allocator) return watched;
  }
  throw Error(
      "libtorch's memory cannot be recorded: the program has set its CPU allocator too often; profile without memory");
}

// libtorch accepts an allocator only with a priority that is not below the current one, and does not report the current
// one. The lowest accepted priority changes nothing else.
uint8_t set_allocator(c10::Allocator* allocator, unsigned priority = 0) {
  for (; priority < UINT8_MAX; ++priority) {
    c10::SetCPUAllocator(allocator, static_cast<uint8_t>(priority));
    if (c10::GetCPUAllocator() == allocator) break;
  }
  c10::SetCPUAllocator(allocator, static_cast<uint8_t>(priority));
  return static_cast<uint8_t>(priority);
}

struct Replaced {
  WatchedAllocator* by = nullptr;
  uint8_t priority = 0;
};
constinit Replaced replaced;

}  // namespace

void watch_allocator() {
  stop_watching_allocator();
  WatchedAllocator& watched = watcher_of(c10::GetCPUAllocator());
  is_watched.store(true, std::memory_order_relaxed);
  replaced = {&watched, set_allocator(&watched)};
}

void stop_watching_allocator() noexcept {
  is_watched.store(false, std::memory_order_relaxed);
  const Replaced was = std::exchange(replaced, {});
  if (was.by != nullptr && c10::GetCPUAllocator() == was.by) c10::SetCPUAllocator(was.by->asked(), was.priority);
}

}  // namespace kymo::libtorch
