#include "heap/heap_recorder.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "base/environment.h"
#include "base/hex.h"
#include "heap/sampler.h"
#include "record/clock.h"
#include "record/layout.h"
#include "record/stated.h"
#include "record/store.h"
#include "unwind/loaded_code.h"
#include "unwind/quick_stack.h"
#include "unwind/rule_table.h"
#include "unwind/stack_tree.h"

namespace kymo::heap {

// ---- The loaded files that are described in the recording: the first stack through a file describes it -------------

namespace {

using unwind::kMaxBuildIdBytes;

constexpr uint32_t kStatedPlaces = 4096;
constinit std::atomic<uintptr_t> stated[kStatedPlaces] = {};  // where the recorded files begin, by hash

constexpr kymo_arg field(const char* name, kymo_type type) { return {name, {}, 0, static_cast<uint32_t>(type)}; }

template <size_t kBytes>
constexpr kymo_label label_of(const char (&name)[kBytes], const char* category, uint32_t category_length) {
  return {name, category, kBytes - 1, category_length, 0};
}

constexpr kymo_arg kModuleFields[] = {field("path", KYMO_STRING), field("base", KYMO_POINTER),
                                      field("size", KYMO_BYTES), field("build_id", KYMO_STRING)};
constinit kymo_site module_site{label_of("module", "kymo.stack", 10), {}};

// The record was dropped, so the next stack through this file records the file again. Files after this place in the
// table may be recorded twice then.
void give_up_statement(uintptr_t begin) noexcept {
  for (auto& place : stated)
    if (place.load(std::memory_order_relaxed) == begin) place.store(0, std::memory_order_relaxed);
}

// True: the caller must record the file. If the table is full, always true: twice is better than not at all.
bool claim_statement(uintptr_t begin) noexcept {
  uint64_t place = (begin * 0x9e3779b97f4a7c15u) >> 52;
  static_assert(kStatedPlaces == 1 << 12);
  for (uint32_t probe = 0; probe < kStatedPlaces; ++probe, place = (place + 1) % kStatedPlaces) {
    uintptr_t known = stated[place].load(std::memory_order_relaxed);
    if (known == begin) return false;
    if (known == 0 && stated[place].compare_exchange_strong(known, begin, std::memory_order_relaxed)) return true;
    if (known == begin) return false;
  }
  return true;
}

// The words of the record. It is small, because it may be on the stack of a signal handler.
class ModuleWords {
 public:
  static constexpr uint32_t kMaxPathBytes = 768;

  void put(uint64_t word) noexcept { words_[used_++] = word; }
  void put_path(const char* path) noexcept {
    char* to = reinterpret_cast<char*>(words_ + used_ + 1);
    if (*path != '\0') return put_text_there(static_cast<const char*>(stpncpy(to, path, kMaxPathBytes)) - to);
    const ssize_t length = readlink("/proc/self/exe", to, kMaxPathBytes);
    put_text_there(length > 0 ? length : 0);
  }
  void put_hex(const uint8_t* bytes, size_t count) noexcept {
    base::put_hex(reinterpret_cast<char*>(words_ + used_ + 1), bytes, count);
    put_text_there(static_cast<ssize_t>(2 * count));
  }
  const uint64_t* words() const noexcept { return words_; }
  uint32_t cells() const noexcept { return (used_ + 1) / 2; }

 private:
  void put_text_there(ssize_t length) noexcept {
    words_[used_] = static_cast<uint64_t>(length);
    used_ += 1 + static_cast<uint32_t>((length + 7) / 8);
  }

  uint32_t used_ = 0;
  uint64_t words_[(kMaxPathBytes + 2 * kMaxBuildIdBytes) / 8 + 6] = {};
};

// Records the file that contains this code address, if that was not done yet. Takes no lock.
void state_code_of(uintptr_t address) noexcept {
  unwind::LoadedCode code;
  if (!unwind::find_loaded_code(address, code) || !claim_statement(code.begin)) return;
  const record::FoundClass found =
      record::class_at(module_site, kModuleFields, sizeof kModuleFields / sizeof(kymo_arg));
  if (found.name_inline) return;
  uint8_t id[kMaxBuildIdBytes];
  ModuleWords words;
  words.put_path(code.path);
  words.put(code.begin);
  words.put(code.end - code.begin);
  words.put_hex(id, unwind::build_id_of(code, id));
  if (!record::store_words(record::Kind::Instant, found.id, words.words(), words.cells()))
    give_up_statement(code.begin);
}

// For a new recording, or when a file was unloaded: each file is then recorded again when it is used.
void forget_stated_code() noexcept {
  for (auto& place : stated)
    if (place.load(std::memory_order_relaxed) != 0) place.store(0, std::memory_order_relaxed);
}

}  // namespace

// ---- Mode ----------------------------------------------------------------------------------------------------------

constinit std::atomic<uint32_t> heap_recorded{1};
constinit std::atomic<uint64_t> heap_sample_bytes{0};

bool parse_heap_mode(const char* text, HeapMode& mode) noexcept {
  constexpr char kSample[] = "sample:";
  constexpr uint64_t kMax = uint64_t{1} << 40;
  if (strcasecmp(text, "all") == 0 || strcasecmp(text, "off") == 0) {
    mode = {0, strcasecmp(text, "all") == 0};
    return true;
  }
  if (strncasecmp(text, kSample, sizeof kSample - 1) != 0) return false;
  text += sizeof kSample - 1;
  if (*text < '0' || *text > '9') return false;
  uint64_t bytes = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    bytes = bytes * 10 + static_cast<uint64_t>(*text - '0');
    if (bytes > kMax) return false;
  }
  unsigned shift = 0;
  if (*text != '\0') {
    if (*text == 'k' || *text == 'K') shift = 10;
    if (*text == 'm' || *text == 'M') shift = 20;
    if (*text == 'g' || *text == 'G') shift = 30;
    if (shift == 0) return false;
    ++text;
    if (strcasecmp(text, "ib") == 0 || strcasecmp(text, "b") == 0) text += *text == 'i' || *text == 'I' ? 2 : 1;
  }
  if (*text != '\0' || bytes == 0 || bytes > kMax >> shift) return false;
  mode = {bytes << shift, true};
  return true;
}

void read_heap_mode() noexcept {
  HeapMode mode;
  const char* text = base::environment("KYMO_MALLOC");
  if (text != nullptr && *text != '\0' && !parse_heap_mode(text, mode)) {
    fprintf(stderr,
            "kymo: KYMO_MALLOC=%.80s: want all, off or sample:BYTES (as in sample:512k); not recording the heap\n",
            text);
    mode.on = false;
  }
  heap_sample_bytes.store(mode.sample_bytes, std::memory_order_relaxed);
  heap_recorded.store(mode.on ? 1 : 0, std::memory_order_relaxed);
}

// ---- Records -------------------------------------------------------------------------------------------------------

namespace {

// What a thread needs to record its allocations: the bounds of its stack, its stack tree, its sampler, and a guard
// against recursion.
struct HeapThread {
  unwind::QuickStack stack;
  unwind::ThreadStacks stacks;
  Sampler sampler;
  record::Stated stated;      // the nodes of the stack
  uint32_t code_changes = 0;  // how many files had been unloaded by then
  uint32_t partings = 0;      // how often the thread's exit hook has run
};

// The state of the calling thread.
enum class HeapGuard : uint8_t {
  Out,      // in the program's code
  Storing,  // recording: only a signal handler can interrupt; it may record without a stack
  OwnWork,  // inside Kymo's own setup: its allocations are not recorded
  Gone,     // its exit hook has run for the last time
};
thread_local constinit HeapGuard heap_guard __attribute__((tls_model("initial-exec"))) = HeapGuard::Out;
thread_local constinit HeapThread* heap_thread __attribute__((tls_model("initial-exec"))) = nullptr;

constinit pthread_once_t heap_key_once = PTHREAD_ONCE_INIT;
constinit pthread_key_t heap_key = 0;
constinit bool heap_key_made = false;

// Other exit hooks of the thread free memory too, so this one waits until their last round.
void release_heap_thread(void* pointer) noexcept {
  auto* thread = static_cast<HeapThread*>(pointer);
  heap_guard = HeapGuard::OwnWork;
  if (++thread->partings < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(heap_key, thread) == 0) {
    heap_guard = HeapGuard::Out;
    return;
  }
  heap_thread = nullptr;
  heap_guard = HeapGuard::Gone;
  thread->stack.release();
  unwind::give_back_pages(thread, sizeof *thread);
}

void make_heap_key() noexcept { heap_key_made = pthread_key_create(&heap_key, release_heap_thread) == 0; }

// Null: there is no memory. Call it under HeapGuard::OwnWork.
HeapThread* make_heap_thread() noexcept {
  void* memory = unwind::take_pages(sizeof(HeapThread));
  if (memory == nullptr) return nullptr;
  auto* made = new (memory) HeapThread;
  made->stacks.own = unwind::find_own_stack();
  made->sampler = Sampler(record::ticks() ^ reinterpret_cast<uintptr_t>(made) * 0x9e3779b97f4a7c15u);
  pthread_once(&heap_key_once, make_heap_key);
  if (heap_key_made) pthread_setspecific(heap_key, made);
  heap_thread = made;
  return made;
}

using record::Kind;
using unwind::kNoStack;
using unwind::Node;
using unwind::Registers;

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
  if (!thread.stated.begin()) return false;
  // The data that a flight recorder keeps must contain the code of its nodes too.
  if (stated_epoch.exchange(thread.stated.epoch(), std::memory_order_relaxed) != thread.stated.epoch() ||
      thread.stated.is_overwritten())
    forget_stated_code();
  thread.stack.forget();
  thread.code_changes = code_changes.load(std::memory_order_relaxed);
  return true;
}

inline bool is_current(const HeapThread& thread) noexcept {
  return thread.stated.is_current() && thread.code_changes == code_changes.load(std::memory_order_relaxed);
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
  if (thread.stated.is_storing()) return kNoStack;
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

void record_with_stack(const Registers& caller, void (*store)(void*, Node) noexcept, void* context) noexcept {
  if (heap_guard != HeapGuard::Out) return;
  HeapThread* thread = heap_thread;
  if (thread == nullptr && (thread = first_of_thread()) == nullptr) return;
  if (!gets_ring()) return;
  const GuardAs storing(HeapGuard::Storing);
  store(context, stack_of(*thread, caller));
}

OwnWork::OwnWork() noexcept : before_(static_cast<uint8_t>(heap_guard)) {
  heap_guard = HeapGuard::OwnWork;
  record::order_for_signals();
}

OwnWork::~OwnWork() {
  record::order_for_signals();
  heap_guard = static_cast<HeapGuard>(before_);
}

void heap_code_unloaded() noexcept {
  unwind::rule_table.forget();
  forget_stated_code();
  code_changes.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace kymo::heap
