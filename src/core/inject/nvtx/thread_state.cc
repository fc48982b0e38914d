#include "inject/nvtx/thread_state.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/nvtx/domain.h"
#include "kymo/kymo.h"

namespace kymo::inject::nvtx {

thread_local constinit ThreadState* this_state __attribute__((tls_model("initial-exec"))) = nullptr;
constinit std::atomic<uint32_t> state_epoch{1};

namespace {

constexpr uint32_t kFirstBytes = 8192;

constinit std::atomic<uint32_t> activity{0};
constinit std::atomic<bool> every_call{false};

// A name for a thread that has not taken it yet.
struct PendingName {
  PendingName* next;
  std::atomic<uint32_t> tid;  // 0: the entry is free
  char name[48];
};
constinit std::atomic<PendingName*> pending_names{nullptr};
constexpr uint32_t kInUse = ~uint32_t{0};  // instead of a thread: somebody reads or writes the name

void release(void* state) noexcept {
  this_state = nullptr;
  munmap(state, static_cast<ThreadState*>(state)->bytes);
}

pthread_key_t state_key() noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, release);
    return made;
  }();
  return key;
}

// A signal handler on this thread must not see the half of it.
class WithoutSignals {
 public:
  WithoutSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

ThreadState* make_state(uint32_t domains, const ThreadState* from) noexcept {
  uint32_t bytes = kFirstBytes;
  while ((bytes - sizeof(ThreadState)) / sizeof(int32_t) < domains) bytes *= 2;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const made = static_cast<ThreadState*>(memory);
  if (from != nullptr) memcpy(made, from, from->bytes);
  made->bytes = bytes;
  made->capacity = static_cast<uint32_t>((bytes - sizeof(ThreadState)) / sizeof(int32_t));
  if (from == nullptr) made->activity = activity.load(std::memory_order_relaxed);
  pthread_setspecific(state_key(), made);
  this_state = made;
  if (from != nullptr) munmap(const_cast<ThreadState*>(from), from->bytes);
  return made;
}

void take_pending_name() noexcept {
  PendingName* waiting = pending_names.load(std::memory_order_acquire);
  if (waiting == nullptr) return;
  const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
  for (; waiting != nullptr; waiting = waiting->next) {
    uint32_t expected = tid;
    if (!waiting->tid.compare_exchange_strong(expected, kInUse)) continue;
    kymo_set_thread_name(waiting->name);
    waiting->tid.store(0, std::memory_order_release);
    return;
  }
}

}  // namespace

ThreadState* renew_state() noexcept {
  const WithoutSignals guard;
  const uint32_t epoch = state_epoch.load(std::memory_order_acquire);  // before what it announces
  ThreadState* state = this_state;
  if (state == nullptr || domain_count() > state->capacity) state = make_state(domain_count(), state);
  if (state == nullptr) return nullptr;
  state->epoch = epoch;
  const uint32_t now = activity.load(std::memory_order_acquire);
  if (state->activity != now) memset(&state->depth(0), 0, state->capacity * sizeof(int32_t));
  state->activity = now;
  take_pending_name();
  return state;
}

void begin_activity(bool from_start) noexcept {
  every_call.store(from_start, std::memory_order_relaxed);
  activity.fetch_add(1, std::memory_order_acq_rel);
  state_epoch.fetch_add(1, std::memory_order_acq_rel);
}

void announce_domain() noexcept { state_epoch.fetch_add(1, std::memory_order_acq_rel); }

bool has_every_call() noexcept { return every_call.load(std::memory_order_relaxed); }

void name_thread(uint32_t tid, const char* name) noexcept {
  if (name == nullptr) return;
  if (tid == static_cast<uint32_t>(syscall(SYS_gettid))) return kymo_set_thread_name(name);
  const Lock lock;
  // The last name counts. An entry whose thread has taken its name is used again.
  const auto find = [](uint32_t owner) noexcept -> PendingName* {
    for (PendingName* one = pending_names.load(std::memory_order_acquire); one != nullptr; one = one->next) {
      uint32_t expected = owner;
      if (one->tid.compare_exchange_strong(expected, kInUse)) return one;
    }
    return nullptr;
  };
  PendingName* entry = find(tid);
  if (entry == nullptr) entry = find(0);
  if (entry == nullptr) {
    entry = static_cast<PendingName*>(calloc(1, sizeof(PendingName)));
    if (entry == nullptr) return;
    entry->next = pending_names.load(std::memory_order_relaxed);
    pending_names.store(entry, std::memory_order_release);
  }
  memset(entry->name, 0, sizeof entry->name);
  memcpy(entry->name, name, strnlen(name, sizeof entry->name - 1));
  entry->tid.store(tid, std::memory_order_release);
  state_epoch.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace kymo::inject::nvtx
