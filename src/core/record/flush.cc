#include "record/flush.h"

#include <stdlib.h>

#include "kymo/queue.h"

namespace kymo::record {
namespace {

class Lock {
 public:
  explicit Lock(Process& shared) noexcept : mutex_(shared.flush_mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

// This is the last time: objects that a callback needs (a driver, a static object) may not exist after this.
void flush_at_exit() noexcept {
  Process* shared = process();
  if (shared == nullptr) return;
  if ((shared->mode.load(std::memory_order_relaxed) & kRecordingBit) != 0) run_flush(*shared);
  const Lock lock(*shared);
  shared->exiting = true;
  for (FlushHook& hook : shared->flush) hook = {};
}

}  // namespace

void init_flush(Process& shared) noexcept {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&shared.flush_mutex, &recursive);
  pthread_mutexattr_destroy(&recursive);
}

void forget_flush(Process& shared) noexcept {
  init_flush(shared);
  shared.flushing = false;
  for (FlushHook& hook : shared.flush) hook = {};
}

void run_flush(Process& shared) noexcept {
  const Lock lock(shared);
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
  const Lock lock(*shared);
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
  const Lock lock(*shared);
  for (FlushHook& hook : shared->flush)
    if (hook.call == flush && hook.context == context) hook = {};
}

}  // extern "C"
