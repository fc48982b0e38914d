#include "hook/heap_thread.h"

#include <limits.h>
#include <pthread.h>

#include <new>

#include "hook/pages.h"
#include "record/clock.h"

namespace kymo::hook {

thread_local constinit HeapGuard heap_guard = HeapGuard::Out;
thread_local constinit HeapThread* heap_thread = nullptr;

namespace {

void release_heap_thread(void* pointer) noexcept;

constinit pthread_once_t heap_key_once = PTHREAD_ONCE_INIT;
constinit pthread_key_t heap_key = 0;
constinit bool heap_key_made = false;

void make_heap_key() noexcept { heap_key_made = pthread_key_create(&heap_key, release_heap_thread) == 0; }

// Other exit hooks of the thread return memory too, so this one waits until the last round of them.
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
  give_back_pages(thread, sizeof *thread);
}

StackBounds stack_of_this_thread() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<uintptr_t>(low);
  return {begin, begin + bytes};
}

}  // namespace

HeapThread* make_heap_thread() noexcept {
  void* memory = take_pages(sizeof(HeapThread));
  if (memory == nullptr) return nullptr;
  auto* made = new (memory) HeapThread;
  made->stacks.own = stack_of_this_thread();
  made->sampler = Sampler(record::ticks() ^ reinterpret_cast<uintptr_t>(made) * 0x9e3779b97f4a7c15u);
  pthread_once(&heap_key_once, make_heap_key);
  if (heap_key_made) pthread_setspecific(heap_key, made);
  heap_thread = made;
  return made;
}

}  // namespace kymo::hook
