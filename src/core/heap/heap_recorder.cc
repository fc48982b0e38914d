#include "heap/heap_recorder.h"

#include <signal.h>

#include "heap/heap_mode.h"
#include "heap/heap_thread.h"
#include "heap/known_code.h"
#include "heap/sampled_set.h"
#include "record/loss.h"
#include "record/slots.h"
#include "record/store.h"
#include "unwind/rule_table.h"

namespace kymo::heap {
namespace {

using record::Kind;
using unwind::kNoStack;
using unwind::Node;
using unwind::Registers;

constexpr kymo_arg field(const char* name, kymo_type type) { return {name, {}, 0, static_cast<uint32_t>(type)}; }

template <size_t kBytes>
constexpr kymo_label label_of(const char (&name)[kBytes], const char* category, uint32_t category_length) {
  return {name, category, kBytes - 1, category_length, 0};
}

constexpr kymo_arg kAllocationFields[] = {field("bytes", KYMO_BYTES), field("node", KYMO_UINT),
                                          field("weight", KYMO_BYTES)};
constexpr kymo_arg kNodeFields[] = {field("node", KYMO_UINT), field("parent", KYMO_UINT),
                                    field("address", KYMO_POINTER)};
constinit kymo_site allocation_site{label_of("malloc", "memory", 6), {}};
constinit kymo_site sample_site{label_of("malloc", "memory", 6), {}};
constinit kymo_site return_site{label_of("free", "memory", 6), {}};
constinit kymo_site node_site{label_of("stack node", "kymo.stack", 10), {}};

constinit std::atomic<uint32_t> code_changes{0};
constinit std::atomic<uint32_t> stated_epoch{0};
constinit SampledSet sampled;

// 0: the registry is full.
inline uint32_t class_of(kymo_site& site, const kymo_arg* fields, uint32_t count) noexcept {
  const record::FoundClass found = record::class_at(site, fields, count);
  return __builtin_expect(found.name_inline, 0) ? 0 : found.id;
}

class GuardAs {
 public:
  explicit GuardAs(HeapGuard as) noexcept : before_(heap_guard) {
    heap_guard = as;
    record::order_for_signals();
  }
  ~GuardAs() {
    record::order_for_signals();
    heap_guard = before_;
  }
  GuardAs(const GuardAs&) = delete;
  GuardAs& operator=(const GuardAs&) = delete;

 private:
  HeapGuard before_;
};

bool tell_node(void*, Node node, Node parent, uintptr_t address) noexcept {
  const GuardAs own(HeapGuard::OwnWork);
  const uint32_t class_id = class_of(node_site, kNodeFields, 3);
  if (class_id == 0) return false;
  state_code_of(address - 1);
  const uint64_t payload[4] = {node, parent, address, 0};
  return record::store_record(Kind::Instant, class_id, payload);
}

// After a new recording, a new ring or unloaded code, the readers do not know any of the nodes.
__attribute__((noinline)) bool begin_anew(HeapThread& thread) noexcept {
  const GuardAs own(HeapGuard::OwnWork);
  record::Slot* slot = record::enter_ring();
  record::Process* shared = record::process();
  if (slot == nullptr || shared == nullptr) return false;
  const record::SegmentHeader* header = shared->segment.load(std::memory_order_acquire);
  if (header == nullptr) return false;
  const uint32_t epoch = shared->epoch.load(std::memory_order_relaxed);
  if (stated_epoch.exchange(epoch, std::memory_order_relaxed) != epoch) forget_stated_code();
  thread.stack.forget();
  thread.process = shared;
  thread.slot = slot;
  thread.epoch = epoch;
  thread.code_changes = code_changes.load(std::memory_order_relaxed);
  thread.described_until = ~uint64_t{0};
  if (header->policy.load(std::memory_order_relaxed) == static_cast<uint32_t>(record::RingPolicy::Overwrite)) {
    // The data that a flight recorder keeps must contain its nodes too. So they are written again as the ring wraps.
    thread.described_until = slot->head.load(std::memory_order_relaxed) + (slot->mask + 1) / 4;
    forget_stated_code();
  }
  return true;
}

inline bool is_current(const HeapThread& thread) noexcept {
  return thread.slot == record::this_slot && thread.slot != nullptr &&
         thread.slot->head.load(std::memory_order_relaxed) < thread.described_until &&
         thread.epoch == thread.process->epoch.load(std::memory_order_relaxed) &&
         thread.code_changes == code_changes.load(std::memory_order_relaxed);
}

// A thread has a ring from its first record on. In a forked child, it has one from its first record in the child.
inline bool has_ring() noexcept { return record::this_slot != nullptr && record::this_slot->cells != nullptr; }

// Getting a ring may allocate: a forked child with its own collector starts the collector again. False: there is no
// ring (this is counted), or the call is for such an allocation.
__attribute__((noinline)) bool enter_ring_unseen() noexcept {
  const GuardAs own(HeapGuard::OwnWork);
  return record::enter_ring() != nullptr;
}
inline bool gets_ring() noexcept { return __builtin_expect(has_ring(), 1) || enter_ring_unseen(); }

__attribute__((noinline)) HeapThread* first_of_thread() noexcept {
  const GuardAs own(HeapGuard::OwnWork);
  return record::own_slot() != nullptr ? make_heap_thread() : nullptr;
}

__attribute__((noinline)) void look_for_alternate_stack(HeapThread& thread) noexcept {
  stack_t alternate;
  thread.stacks.alternate = {};
  if (sigaltstack(nullptr, &alternate) != 0 || (alternate.ss_flags & SS_DISABLE) != 0) return;
  const auto low = reinterpret_cast<uintptr_t>(alternate.ss_sp);
  thread.stacks.alternate = {low, low + alternate.ss_size};
}

Node stack_of(HeapThread& thread, const Registers& caller) noexcept {
  if (__builtin_expect(!is_current(thread), 0) && !begin_anew(thread)) return kNoStack;
  // A signal handler has interrupted a store of the program: its nodes may not fit into the side buffer.
  if (thread.slot->busy.load(std::memory_order_relaxed) != 0) return kNoStack;
  if (__builtin_expect(!thread.stacks.own.hold(caller.sp), 0)) look_for_alternate_stack(thread);
  return thread.stack.capture(caller, thread.stacks, {tell_node, nullptr});
}

void count_as_lost() noexcept {
  record::Process* shared = record::process();
  if (shared == nullptr) return;
  record::SegmentHeader* const header = shared->segment.load(std::memory_order_acquire);
  if (header == nullptr) return;
  if (heap_guard == HeapGuard::Gone) header->no_ring_reason.fetch_or(record::kNoRingEnded, std::memory_order_relaxed);
  record::count_loss_without_slot(*header);
}

void store_allocation(uintptr_t address, size_t bytes, Node node) noexcept {
  const uint32_t class_id = class_of(allocation_site, kAllocationFields, 2);
  if (class_id == 0) return count_as_lost();
  const uint64_t payload[4] = {address, bytes, node, 0};
  record::store_record(Kind::Allocation, class_id, payload);
}

void store_sample(uintptr_t address, size_t bytes, Node node, uint64_t mean) noexcept {
  const uint32_t class_id = class_of(sample_site, kAllocationFields, 3);
  if (class_id == 0) return count_as_lost();
  if (!sampled.add(address)) {
    if (record::this_slot != nullptr) record::count_loss(*record::this_slot, record::kLossRingFull, 1);
    return;
  }
  const uint64_t payload[4] = {address, bytes, node, sample_weight(bytes, mean)};
  if (!record::store_record(Kind::Allocation, class_id, payload)) sampled.remove(address);
}

// False inside Kymo's own work, and on a thread that has ended, which has nothing left to record with.
inline bool may_record() noexcept {
  if (__builtin_expect(heap_guard < HeapGuard::OwnWork, 1)) return true;
  if (heap_guard == HeapGuard::Gone) count_as_lost();
  return false;
}

}  // namespace

void heap_allocated(uintptr_t address, size_t bytes, const Registers& caller) noexcept {
  if (heap_recorded.load(std::memory_order_relaxed) == 0 || !may_record()) return;
  const uint64_t mean = heap_sample_bytes.load(std::memory_order_relaxed);
  if (__builtin_expect(heap_guard == HeapGuard::Storing, 0)) {
    if (mean == 0) store_allocation(address, bytes, kNoStack);
    return;
  }
  HeapThread* thread = heap_thread;
  if (__builtin_expect(thread == nullptr, 0) && (thread = first_of_thread()) == nullptr) return;
  if ((mean != 0 && !thread->sampler.takes(bytes, mean)) || !gets_ring()) return;
  const GuardAs storing(HeapGuard::Storing);
  const Node node = stack_of(*thread, caller);
  if (mean == 0)
    store_allocation(address, bytes, node);
  else
    store_sample(address, bytes, node, mean);
}

bool heap_returns(uintptr_t address) noexcept {
  if (heap_recorded.load(std::memory_order_relaxed) == 0 || !may_record()) return false;
  if (heap_sample_bytes.load(std::memory_order_relaxed) != 0 && !sampled.remove(address)) return false;
  if (!gets_ring()) return false;
  const GuardAs storing(heap_guard == HeapGuard::Out ? HeapGuard::Storing : heap_guard);
  const uint32_t class_id = class_of(return_site, nullptr, 0);
  if (class_id == 0) {
    count_as_lost();
    return false;
  }
  const uint64_t payload[2] = {address, 0};
  return record::store_record(Kind::Free, class_id, payload);
}

void heap_keeps(uintptr_t address, size_t bytes, const Registers& caller) noexcept {
  const uint64_t mean = heap_sample_bytes.load(std::memory_order_relaxed);
  if (mean == 0) return heap_allocated(address, bytes, caller);
  const GuardAs storing(heap_guard == HeapGuard::Out ? HeapGuard::Storing : heap_guard);
  store_sample(address, bytes, kNoStack, mean);
}

void heap_code_unloaded() noexcept {
  unwind::rule_table.forget();
  forget_stated_code();
  code_changes.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace kymo::heap
