#include "heap/heap_thread.h"

#include <limits.h>
#include <pthread.h>

#include <new>

#include "record/clock.h"
#include "unwind/pages.h"

namespace kymo::heap {

thread_local constinit HeapGuard heap_guard __attribute__((tls_model("initial-exec"))) = HeapGuard::Out;
thread_local constinit HeapThread* heap_thread __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

void release_heap_thread(void* pointer) noexcept;

constinit pthread_once_t heap_key_once = PTHREAD_ONCE_INIT;
constinit pthread_key_t heap_key = 0;
constinit bool heap_key_made = false;

void make_heap_key() noexcept { heap_key_made = pthread_key_create(&heap_key, release_heap_thread) == 0; }

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

}  // namespace

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

}  // namespace kymo::heap
