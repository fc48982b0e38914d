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
#include "base/hex.h"
#include "heap/heap_recorder.h"
#include "heap/preload/next_allocator.h"
#include "heap/preload/recorded.h"
#include "record/refusal.h"

namespace kymo::heap {
namespace {

KYMO_RECORDED void* recorded_malloc(size_t bytes) noexcept {
  return noted(next_allocator.malloc(bytes), bytes, KYMO_CALLER_REGISTERS());
}

KYMO_RECORDED void* recorded_calloc(size_t count, size_t bytes) noexcept {
  return noted(next_allocator.calloc(count, bytes), count * bytes, KYMO_CALLER_REGISTERS());
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

// A program that contains an allocator (jemalloc, linked statically) does not call the functions below.
constinit decltype(NextAllocator::malloc) probed_malloc = nullptr;
constinit bool is_reached = false;
void* probe(size_t bytes) noexcept {
  is_reached = true;
  return probed_malloc(bytes);
}

// True if the malloc that the program calls leads here, also by way of one of its own.
bool sees_allocations(Dl_info& where) noexcept {
  void* const found = dlsym(RTLD_DEFAULT, "malloc");
  Dl_info own{};
  const auto here = reinterpret_cast<const void*>(&probe);
  if (found == nullptr || dladdr(found, &where) == 0 || dladdr(here, &own) == 0) return true;
  if (where.dli_fbase == own.dli_fbase) return true;
  next_malloc();
  probed_malloc = next_allocator.malloc;
  next_allocator.malloc = probe;
  void* const memory = reinterpret_cast<void* (*)(size_t)>(found)(1);
  next_allocator.malloc = probed_malloc;
  if (void* const release = dlsym(RTLD_DEFAULT, "free")) reinterpret_cast<void (*)(void*)>(release)(memory);
  return is_reached;
}

// The trace says it too: nothing else in it shows that something is missing.
void say_what_is_not_seen() noexcept {
  const char* const session = kymo::base::environment("KYMO_SESSION");
  if (heap_recorded.load(std::memory_order_relaxed) == 0 || session == nullptr) return;
  Dl_info where{};
  if (sees_allocations(where)) return;
  char why[record::kMaxRefusalBytes];
  snprintf(why, sizeof why, "%s contains an allocator (a malloc that is linked statically): its heap is not recorded",
           where.dli_fname != nullptr ? where.dli_fname : "the program");
  uint8_t id[16];
  if (!base::read_hex(session, id, sizeof id) || !record::send_refusal(id, why)) fprintf(stderr, "kymo: %s\n", why);
}

// Runs before the start of the recorder (priority 101), which may already allocate.
__attribute__((constructor(101))) void begin_hook(int, char**, char** environment) noexcept {
  if (environ == nullptr) environ = environment;  // this comes before the C library's own initialization
  const OwnWork own;                              // the linker allocates for a name that it does not find
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
  void* found = nullptr;
  {
    const OwnWork own;
    found = dlsym(RTLD_DEFAULT, "_ZN9__gnu_cxx9__freeresEv");
  }
  if (found != nullptr) reinterpret_cast<void (*)()>(found)();
}
