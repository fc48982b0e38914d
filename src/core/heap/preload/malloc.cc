// libkymo_malloc.so: the C library's allocation functions, recorded. LD_PRELOAD puts them before the program's own.
//
// Each function checks whether recording is on (one load and a branch) and jumps to the real allocator. The recorded
// variants are separate functions that are reached by a jump, so that a stack begins with the caller of malloc.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>

#include "base/environment.h"
#include "heap/heap_recorder.h"
#include "heap/preload/next_allocator.h"

#define KYMO_EXPORTED extern "C" __attribute__((visibility("default")))
#define KYMO_RECORDED __attribute__((noinline)) static

namespace kymo::heap {
namespace {

inline uintptr_t address_of(const void* memory) noexcept { return reinterpret_cast<uintptr_t>(memory); }

// Records the allocation, and returns it.
inline void* noted(void* memory, size_t bytes, const unwind::Registers& caller) noexcept {
  if (memory == nullptr || is_from_start(memory)) return memory;
  const int error = errno;
  heap_allocated(address_of(memory), bytes, caller);
  errno = error;
  return memory;
}

KYMO_RECORDED void* recorded_malloc(size_t bytes) noexcept {
  return noted(next_allocator.malloc(bytes), bytes, KYMO_CALLER_REGISTERS());
}

KYMO_RECORDED void* recorded_calloc(size_t count, size_t bytes) noexcept {
  return noted(next_allocator.calloc(count, bytes), count * bytes, KYMO_CALLER_REGISTERS());
}

// Records a free that is about to happen. Keeps errno, because recording may make system calls.
inline bool returning(const void* memory) noexcept {
  const int error = errno;
  const bool is_recorded = heap_returns(address_of(memory));
  errno = error;
  return is_recorded;
}

KYMO_RECORDED void recorded_free(void* memory) noexcept {
  if (memory == nullptr || is_from_start(memory)) return;
  returning(memory);
  next_allocator.free(memory);
}

// Records a free and then an allocation. In this order, because another thread may get the old block in between.
void* reallocated(void* memory, size_t bytes, const unwind::Registers& caller) noexcept {
  if (memory == nullptr) return noted(next_allocator.malloc(bytes), bytes, caller);
  const bool is_recorded = returning(memory);
  const size_t had = is_recorded ? next_allocator.malloc_usable_size(memory) : 0;
  void* moved = next_allocator.realloc(memory, bytes);
  if (moved != nullptr || bytes == 0) return noted(moved, bytes, caller);
  const int error = errno;
  if (is_recorded) heap_keeps(address_of(memory), had, caller);
  errno = error;
  return nullptr;
}

KYMO_RECORDED void* recorded_realloc(void* memory, size_t bytes) noexcept {
  return reallocated(memory, bytes, KYMO_CALLER_REGISTERS());
}

KYMO_RECORDED void* recorded_reallocarray(void* memory, size_t count, size_t bytes) noexcept {
  size_t whole = 0;
  if (__builtin_mul_overflow(count, bytes, &whole)) {
    errno = ENOMEM;
    return nullptr;
  }
  return reallocated(memory, whole, KYMO_CALLER_REGISTERS());
}

KYMO_RECORDED int recorded_posix_memalign(void** into, size_t alignment, size_t bytes) noexcept {
  const int error = next_allocator.posix_memalign(into, alignment, bytes);
  if (error == 0) noted(*into, bytes, KYMO_CALLER_REGISTERS());
  return error;
}

KYMO_RECORDED void* recorded_aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return noted(next_allocator.aligned_alloc(alignment, bytes), bytes, KYMO_CALLER_REGISTERS());
}

KYMO_RECORDED void* recorded_memalign(size_t alignment, size_t bytes) noexcept {
  return noted(next_allocator.memalign(alignment, bytes), bytes, KYMO_CALLER_REGISTERS());
}

KYMO_RECORDED void* recorded_valloc(size_t bytes) noexcept {
  return noted(next_allocator.valloc(bytes), bytes, KYMO_CALLER_REGISTERS());
}

KYMO_RECORDED void* recorded_pvalloc(size_t bytes) noexcept {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return noted(next_allocator.pvalloc(bytes), (bytes + page - 1) / page * page, KYMO_CALLER_REGISTERS());
}

// Some allocators have their own operator new, which does not call malloc: C++ code bypasses the functions below.
void say_what_is_not_seen() noexcept {
  if (heap_recorded.load(std::memory_order_relaxed) == 0 || kymo::base::environment("KYMO_SESSION") == nullptr) return;
  Dl_info where;
  void* const found = dlsym(RTLD_DEFAULT, "_Znwm");
  if (found == nullptr || dladdr(found, &where) == 0 || where.dli_fname == nullptr) return;
  constexpr const char* kNames[] = {"jemalloc", "mimalloc", "snmalloc", "tcmalloc"};
  for (const char* name : kNames)
    if (strstr(where.dli_fname, name) != nullptr)
      fprintf(stderr, "kymo: %s has its own operator new: C++ allocations that use it are not recorded\n",
              where.dli_fname);
}

// Runs before the start of the recorder (priority 101), which may already allocate.
__attribute__((constructor(101))) void begin_hook(int, char**, char** environment) noexcept {
  if (environ == nullptr) environ = environment;  // this comes before the C library's own initialization
  read_heap_mode();
  say_what_is_not_seen();
}

}  // namespace
}  // namespace kymo::heap

using namespace kymo::heap;

KYMO_EXPORTED void* malloc(size_t bytes) noexcept {
  return heap_is_watched() ? recorded_malloc(bytes) : next_allocator.malloc(bytes);
}
KYMO_EXPORTED void free(void* memory) noexcept {
  if (heap_is_watched()) return recorded_free(memory);
  if (__builtin_expect(!is_from_start(memory), 1)) next_allocator.free(memory);
}
KYMO_EXPORTED void* calloc(size_t count, size_t bytes) noexcept {
  return heap_is_watched() ? recorded_calloc(count, bytes) : next_allocator.calloc(count, bytes);
}
KYMO_EXPORTED void* realloc(void* memory, size_t bytes) noexcept {
  if (__builtin_expect(is_from_start(memory), 0)) return moved_from_start(memory, bytes);
  return heap_is_watched() ? recorded_realloc(memory, bytes) : next_allocator.realloc(memory, bytes);
}
KYMO_EXPORTED void* reallocarray(void* memory, size_t count, size_t bytes) noexcept {
  return heap_is_watched() ? recorded_reallocarray(memory, count, bytes)
                           : next_allocator.reallocarray(memory, count, bytes);
}
KYMO_EXPORTED int posix_memalign(void** into, size_t alignment, size_t bytes) noexcept {
  return heap_is_watched() ? recorded_posix_memalign(into, alignment, bytes)
                           : next_allocator.posix_memalign(into, alignment, bytes);
}
KYMO_EXPORTED void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return heap_is_watched() ? recorded_aligned_alloc(alignment, bytes) : next_allocator.aligned_alloc(alignment, bytes);
}
KYMO_EXPORTED void* memalign(size_t alignment, size_t bytes) noexcept {
  return heap_is_watched() ? recorded_memalign(alignment, bytes) : next_allocator.memalign(alignment, bytes);
}
KYMO_EXPORTED void* valloc(size_t bytes) noexcept {
  return heap_is_watched() ? recorded_valloc(bytes) : next_allocator.valloc(bytes);
}
KYMO_EXPORTED void* pvalloc(size_t bytes) noexcept {
  return heap_is_watched() ? recorded_pvalloc(bytes) : next_allocator.pvalloc(bytes);
}
// Not an allocation, but it makes code addresses in stacks invalid.
KYMO_EXPORTED int dlclose(void* library) noexcept {
  const int error = next_allocator.dlclose(library);
  if (error == 0) heap_code_unloaded();
  return error;
}

// For the program and its libraries: turns the recording of the heap off and on.
KYMO_EXPORTED void kymo_malloc_record(int on) noexcept {
  heap_recorded.store(on != 0 ? 1 : 0, std::memory_order_relaxed);
}

// Nothing here throws. The function of the C++ library would also add its memory for exceptions to every heap.
extern "C" int __gxx_personality_v0() noexcept;
extern "C" int __gxx_personality_v0() noexcept {
  constexpr int kGoOn = 8;  // _URC_CONTINUE_UNWIND
  return kGoOn;
}

// The C++ library keeps emergency memory for exceptions and never frees it. This is not a leak of the program.
__attribute__((destructor)) static void return_runtimes_memory() noexcept {
  if (!heap_is_watched()) return;
  if (void* found = dlsym(RTLD_DEFAULT, "_ZN9__gnu_cxx9__freeresEv")) reinterpret_cast<void (*)()>(found)();
}
