#include "record/process.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/hex.h"
#include "kymo/queue.h"
#include "record/clock.h"
#include "record/refusal.h"
#include "record/registry.h"
#include "record/sinks.h"
#include "record/slots.h"

// The mode mask of this copy. The inlined guards of kymo/kymo.h test it.
extern "C" {
__attribute__((visibility("default"))) constinit std::atomic<uint32_t> kymo_mode{0};

// The target of a note. Each copy has one. Copies do not share it, even if the dynamic linker could merge them.
struct KymoCopy {
  std::atomic<kymo::record::Process*> process;
  std::atomic<uint32_t> electing;  // in the copy at the lowest address: held while a Process is created
};
__attribute__((visibility("hidden"), used)) constinit KymoCopy kymo_this_copy{};
}

// The note: its description is the distance from itself to kymo_this_copy.
asm(R"(
  .pushsection .note.kymo, "a", %note
  .balign 4
  .long 5
  .long 4
  .long 0x6b796d6f
  .asciz "Kymo"
  .balign 4
  .long kymo_this_copy - .
  .balign 4
  .popsection
)");

namespace kymo::record {
namespace {

constexpr uint32_t kNoteType = 0x6b796d6f;

KymoCopy* copy_in_notes(const char* notes, size_t bytes) noexcept {
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= bytes) {
    ElfW(Nhdr) note;
    memcpy(&note, notes + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t description = name + ((note.n_namesz + 3) & ~size_t{3});
    const size_t next = description + ((note.n_descsz + 3) & ~size_t{3});
    if (next > bytes) break;
    if (note.n_type == kNoteType && note.n_namesz == 5 && memcmp(notes + name, "Kymo", 5) == 0 && note.n_descsz == 4) {
      int32_t distance;
      memcpy(&distance, notes + description, sizeof distance);
      return reinterpret_cast<KymoCopy*>(const_cast<char*>(notes + description) + distance);
    }
    at = next;
  }
  return nullptr;
}

struct Copies {
  KymoCopy* lowest = nullptr;  // the same for every caller: only one at a time may create a Process
  Process* process = nullptr;
};

int visit_object(dl_phdr_info* object, size_t, void* data) noexcept {
  auto& copies = *static_cast<Copies*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    KymoCopy* copy = copy_in_notes(reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr), header.p_memsz);
    if (copy == nullptr) continue;
    if (copies.lowest == nullptr || copy < copies.lowest) copies.lowest = copy;
    if (Process* found = copy->process.load(std::memory_order_acquire)) copies.process = found;
  }
  return 0;
}

// Of kymo_on_flush(): callbacks before a session ends.
class FlushLock {
 public:
  explicit FlushLock(Process& shared) noexcept : mutex_(shared.flush_mutex) { pthread_mutex_lock(&mutex_); }
  ~FlushLock() { pthread_mutex_unlock(&mutex_); }
  FlushLock(const FlushLock&) = delete;
  FlushLock& operator=(const FlushLock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

// This is the last time: objects that a callback needs (a driver, a static object) may not exist after this.
void flush_at_exit() noexcept {
  Process* shared = process();
  if (shared == nullptr) return;
  if ((shared->mode.load(std::memory_order_relaxed) & kRecordingBit) != 0) run_flush(*shared);
  const FlushLock lock(*shared);
  shared->exiting = true;
  for (FlushHook& hook : shared->flush) hook = {};
}

void init_flush(Process& shared) noexcept {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&shared.flush_mutex, &recursive);
  pthread_mutexattr_destroy(&recursive);
}

// For a forked child, which has no callbacks: the devices belong to its parent.
void forget_flush(Process& shared) noexcept {
  init_flush(shared);
  shared.flushing = false;
  for (FlushHook& hook : shared.flush) hook = {};
}

Process* make_process() noexcept {
  void* memory =
      mmap(nullptr, round_up(sizeof(Process), kPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* made = static_cast<Process*>(memory);  // all zero is the initial state
  made->version = kProcessVersion;
  made->options = SegmentOptions{};
  made->mapping.fd = -1;
  made->parent_mapping.fd = -1;
  made->pid = static_cast<uint32_t>(getpid());
  made->next_handle.store(1, std::memory_order_relaxed);
  init_flush(*made);
  if (pthread_key_create(&made->slot_key, release_slot) != 0) return nullptr;
  if (pthread_key_create(&made->sent_key, release_sent) != 0) return nullptr;
  return made;
}

// The thread-exit hook and the fork handlers point into this copy, so it must not be unloaded. If the program tries to,
// the code stays.
void pin_this_copy() noexcept {
  Dl_info where;
  if (dladdr(&kymo_this_copy, &where) != 0 && where.dli_fname != nullptr)
    dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

// Set when this copy has joined. kymo_this_copy.process may be set earlier, by another copy that created the Process.
constinit std::atomic<Process*> joined{nullptr};
constinit std::atomic<uint32_t> joining{0};

void add_this_copy(Process& shared) noexcept {
  const uint32_t place = shared.copy_count.fetch_add(1, std::memory_order_acq_rel);
  if (place >= kMaxCopies) return;  // the sixty-fifth copy does not record
  shared.copies[place].slot.store(this_slot_address, std::memory_order_release);
  shared.copies[place].mode.store(&kymo_mode, std::memory_order_release);
  kymo_mode.store(shared.mode.load(std::memory_order_acquire), std::memory_order_relaxed);
}

Process* find_or_make_process() noexcept {
  Copies copies;
  dl_iterate_phdr(visit_object, &copies);
  KymoCopy& home = copies.lowest != nullptr ? *copies.lowest : kymo_this_copy;
  while (home.electing.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  Process* shared = copies.process;
  if (shared == nullptr) shared = home.process.load(std::memory_order_acquire);
  if (shared == nullptr) shared = make_process();
  home.process.store(shared, std::memory_order_release);
  kymo_this_copy.process.store(shared, std::memory_order_release);
  home.electing.store(0, std::memory_order_release);
  return shared;
}

Process* join() noexcept {
  while (joining.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  Process* shared = joined.load(std::memory_order_acquire);
  if (shared == nullptr) {
    init_clock();
    shared = find_or_make_process();
    if (shared != nullptr && shared->version != kProcessVersion) shared = nullptr;
    if (shared != nullptr) {
      pin_this_copy();
      pthread_atfork(nullptr, nullptr, after_fork_in_child);
      add_this_copy(*shared);
      joined.store(shared, std::memory_order_release);
    }
  }
  joining.store(0, std::memory_order_release);
  return shared;
}

// `kymo record` started this process, or one of its parents. The session, the policy and the ring size are in the
// environment.
bool external_options(SegmentOptions& options) noexcept {
  const char* text = base::environment("KYMO_SESSION");
  if (text == nullptr || strlen(text) != 2 * sizeof options.session) return false;
  if (!base::read_hex(text, options.session, sizeof options.session)) return false;
  if (const char* policy = base::environment("KYMO_POLICY"); policy != nullptr) {
    if (strcmp(policy, "drop") == 0) options.policy = RingPolicy::Drop;
    if (strcmp(policy, "overwrite") == 0) options.policy = RingPolicy::Overwrite;
  }
  if (const char* ring = base::environment("KYMO_RING_BYTES"); ring != nullptr) {
    const uint64_t bytes = strtoull(ring, nullptr, 10);
    if (bytes >= kMinRingBytes && bytes <= kMaxRingBytes && (bytes & (bytes - 1)) == 0) options.ring_bytes = bytes;
  }
  if (const char* file = base::environment("KYMO_SESSION_FILE"); file != nullptr) {
    char* end = nullptr;
    options.file_device = strtoull(file, &end, 10);
    options.file_inode = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    if (*end == ':' && strlen(end) < sizeof options.file_path) strcpy(options.file_path, end + 1);
  }
  if (const char* home = base::environment("KYMO_SESSION_HOME"); home != nullptr) {
    uint64_t numbers[6] = {};
    char* end = const_cast<char*>(home);
    for (uint64_t& number : numbers) {
      number = strtoull(end, &end, 10);
      if (*end == ':') ++end;
    }
    options.home = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
  }
  return true;
}

// True if `kymo record` has ended, but this program still has its environment. `kymo record` or a child of it started
// the program.
bool is_over(const SegmentOptions& options) noexcept {
  return options.home.network != 0 && options.home.network == network_namespace() && !recorder_listens(options.session);
}

// The call sites of a forked child have ids from its parent's registry. The parent may add to the registry during the
// copy. So the counters are copied last: then they cover everything that was copied before. False: shared memory is
// full.
bool inherit_classes(Process& shared) noexcept {
  if (shared.parent_mapping.header == nullptr) return true;
  const Registry& from = shared.parent_mapping.header->registry;
  Registry& to = shared.mapping.header->registry;
  for (uint32_t i = 0; i < kIndexEntries; ++i)
    to.index[i].store(from.index[i].load(std::memory_order_acquire), std::memory_order_relaxed);
  for (uint32_t i = 0; i <= kMaxClasses; ++i)
    to.offsets[i].store(from.offsets[i].load(std::memory_order_acquire), std::memory_order_relaxed);
  for (uint32_t i = 0; i <= kMaxClasses; ++i)
    to.interface[i].store(from.interface[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  const uint32_t taken = from.arena_used.load(std::memory_order_acquire);
  const uint32_t used = taken < kArenaBytes ? taken : kArenaBytes;
  if (!make_arena(from, 0, used) || !make_arena(to, 0, used)) return false;
  memcpy(to.arena, from.arena, used);
  to.class_count.store(from.class_count.load(std::memory_order_acquire), std::memory_order_release);
  to.arena_used.store(from.arena_used.load(std::memory_order_acquire), std::memory_order_release);
  shared.parent_mapping.fd = -1;
  unmap_segment(shared.parent_mapping);
  return true;
}

// Also takes the lock on the segment.
Outcome make_segment(Process& shared) noexcept {
  if (const Outcome made = create_segment(shared.options, shared.mapping, shared.segment_path); !made) return made;
  if (!inherit_classes(shared)) {
    unlink(shared.segment_path);
    unmap_segment(shared.mapping);
    return Outcome::failure("%s: no room in shared memory (make some, or set KYMO_SHM_DIR)", shared.segment_path);
  }
  shared.segment.store(shared.mapping.header, std::memory_order_release);
  return {};
}

// A relative path would follow the program when it changes its folder, and the programs that it starts. So it becomes
// absolute, once. putenv() replaces the variable without an allocation; `text` stays a part of the environment.
void fix_shm_dir() noexcept {
  const char* const given = base::environment("KYMO_SHM_DIR");
  if (given == nullptr || given[0] == '\0' || given[0] == '/') return;
  static char text[sizeof "KYMO_SHM_DIR=" + 2 * PATH_MAX];
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) == nullptr || folder[0] != '/') return;
  const int length = snprintf(text, sizeof text, "KYMO_SHM_DIR=%s/%s", strcmp(folder, "/") == 0 ? "" : folder, given);
  if (length > 0 && static_cast<size_t>(length) < sizeof text) putenv(text);
}

// Runs when the copy is loaded: the process of a recorded program is in the trace even if it annotates nothing.
__attribute__((constructor(101))) void on_load(int, char**, char** environment) noexcept {
  if (environ == nullptr) environ = environment;  // for a library that is initialized before the C library
  fix_shm_dir();
  Process* shared = process();
  if (shared == nullptr) return;
  if (shared->segment.load(std::memory_order_acquire) != nullptr || !external_options(shared->options)) return;
  if (is_over(shared->options)) return;
  if (const Outcome made = ensure_segment(*shared); !made) {
    // Standard error may be a file at its size limit (ulimit -f). The program must not end because of this.
    sigset_t size, before;
    sigemptyset(&size);
    sigaddset(&size, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &size, &before);
    fprintf(stderr, "kymo: not recording: %s\n", made.why());
    constexpr timespec kNow{0, 0};
    while (sigtimedwait(&size, nullptr, &kNow) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    send_refusal(shared->options.session, made.why());
    return;
  }
  shared->external.store(true, std::memory_order_relaxed);
  start_recording(*shared);
}

}  // namespace

namespace {

void call_changed(const Process& shared) noexcept {
  const uint32_t count = shared.copy_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count && i < kMaxCopies; ++i)
    if (const auto changed = shared.copies[i].changed.load(std::memory_order_acquire)) changed();
}

}  // namespace

Process* process() noexcept {
  Process* known = joined.load(std::memory_order_acquire);
  return __builtin_expect(known != nullptr, 1) ? known : join();
}

void set_mode(Process& shared, uint32_t bits, bool on) noexcept {
  const auto change = [&](std::atomic<uint32_t>& mask) {
    if (on)
      mask.fetch_or(bits, std::memory_order_acq_rel);
    else
      mask.fetch_and(~bits, std::memory_order_acq_rel);
  };
  change(shared.mode);
  const uint32_t count = shared.copy_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count && i < kMaxCopies; ++i)
    if (auto* mask = shared.copies[i].mode.load(std::memory_order_acquire)) change(*mask);
}

Outcome ensure_segment(Process& shared) noexcept {
  if (shared.segment.load(std::memory_order_acquire) != nullptr) return {};
  while (shared.segment_lock.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  const bool is_there = shared.segment.load(std::memory_order_acquire) != nullptr;
  const Outcome made = is_there ? Outcome{} : make_segment(shared);
  shared.segment_lock.store(0, std::memory_order_release);
  return made;
}

void start_recording(Process& shared) noexcept {
  SegmentHeader* header = shared.segment.load(std::memory_order_acquire);
  header->closed.store(0, std::memory_order_relaxed);
  header->epoch.store(shared.epoch.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  // Sends every thread through its slow path once, where it finds the new epoch. A thread that is on the slow path now
  // reads the epoch again after it has set its limit: one of the two stores comes last.
  const uint32_t used = header->slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i)
    if (has_memory(*header, i)) slot_page(header, i)->slot.limit.store(0, std::memory_order_seq_cst);
  set_mode(shared, kRecordingBit, true);
  call_changed(shared);
}

void call_when_wanted(void (*changed)() noexcept) noexcept {
  Process* shared = process();
  if (shared == nullptr) return;
  const uint32_t count = shared->copy_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count && i < kMaxCopies; ++i)
    if (shared->copies[i].mode.load(std::memory_order_acquire) == &kymo_mode)
      shared->copies[i].changed.store(changed, std::memory_order_release);
}

KYMO_API void watch_ranges(void (*saw)(const kymo_label* label) noexcept) noexcept {
  Process* shared = process();
  if (shared == nullptr) return;
  shared->range_watcher.store(saw, std::memory_order_seq_cst);
  call_changed(*shared);
}

void stop_recording(Process& shared) noexcept { set_mode(shared, kRecordingBit, false); }

void after_fork_in_child() noexcept {
  Process* shared = joined.load(std::memory_order_acquire);
  if (shared == nullptr) return;
  if (shared->pid == static_cast<uint32_t>(getpid())) return;  // the handler of another copy ran first
  // A process that got no segment records nothing. Its child tries again, so that the child is counted too.
  if (shared->refused.load(std::memory_order_relaxed) == shared->pid) set_mode(*shared, kRecordingBit, true);
  shared->pid = static_cast<uint32_t>(getpid());
  shared->segment_lock.store(0, std::memory_order_relaxed);
  shared->restart_lock.store(0, std::memory_order_relaxed);
  forget_flush(*shared);
  leave_parents_slot(*shared);
  leave_parents_sinks(*shared);
  if (shared->segment.load(std::memory_order_relaxed) == nullptr) return;
  // The lock on the parent's segment is not inherited. Its file is, and the child must not keep it open.
  close(shared->mapping.fd);
  shared->parent_mapping = shared->mapping;
  shared->parent_mapping.fd = -1;
  shared->mapping = {};
  shared->segment.store(nullptr, std::memory_order_release);
}

void run_flush(Process& shared) noexcept {
  const FlushLock lock(shared);
  if (shared.flushing) return;
  shared.flushing = true;
  for (const FlushHook& hook : shared.flush)
    if (hook.call != nullptr) hook.call(hook.context);
  shared.flushing = false;
}

}  // namespace kymo::record

using namespace kymo::record;

extern "C" {

int kymo_on_flush(kymo_flush flush, void* context) {
  Process* shared = process();
  if (shared == nullptr || flush == nullptr) return 0;
  const FlushLock lock(*shared);
  if (shared->exiting) return 0;
  for (FlushHook& hook : shared->flush) {
    if (hook.call != nullptr) continue;
    hook = {flush, context};
    if (!shared->flushes_at_exit) shared->flushes_at_exit = atexit(flush_at_exit) == 0;
    return 1;
  }
  return 0;
}

void kymo_remove_flush(kymo_flush flush, void* context) {
  Process* shared = process();
  if (shared == nullptr) return;
  const FlushLock lock(*shared);
  for (FlushHook& hook : shared->flush)
    if (hook.call == flush && hook.context == context) hook = {};
}

}  // extern "C"
