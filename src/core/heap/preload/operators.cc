// C++'s operator new and delete. Those of the C++ library call malloc and free, which record: they are only passed on.
// Allocators such as jemalloc, tcmalloc and mimalloc have operators of their own, which do not: these are recorded
// here.
#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <cstdint>

#include "heap/heap_recorder.h"
#include "heap/preload/next_allocator.h"
#include "heap/preload/recorded.h"

namespace kymo::heap {

thread_local constinit uint32_t noted_count __attribute__((tls_model("initial-exec"))) = 0;
thread_local constinit const void* being_deleted __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// ---- What comes next -----------------------------------------------------------------------------------------------

const void* library_of(const void* function) noexcept {
  Dl_info found;
  return dladdr(function, &found) != 0 ? found.dli_fbase : nullptr;
}

// Null: there is no C++ library. One that a plug-in brought is found only by its name.
void* find_operator(const char* name) noexcept {
  if (void* const found = dlsym(RTLD_NEXT, name)) return found;
  for (const char* const library : {"libstdc++.so.6", "libc++.so.1"}) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const found = dlsym(handle, name);
    next_allocator.dlclose(handle);
    if (found != nullptr) return found;
  }
  return nullptr;
}

// An operator with these parameters. The first call finds the next one, and whether it must be recorded.
template <class Function>
struct Operator {
  const char* name;
  Function otherwise;  // without a C++ library
  std::atomic<Function> next{nullptr};
  std::atomic<bool> is_of_allocator{false};

  Function find() noexcept {
    const OwnWork own;  // the linker may allocate
    void* const found = find_operator(name);
    is_of_allocator.store(found != nullptr && library_of(found) == library_of(next_malloc()),
                          std::memory_order_relaxed);
    const auto function = found != nullptr ? reinterpret_cast<Function>(found) : otherwise;
    next.store(function, std::memory_order_release);
    return function;
  }
  Function get() noexcept {
    const Function known = next.load(std::memory_order_acquire);
    return __builtin_expect(known != nullptr, 1) ? known : find();
  }
  bool is_recorded() const noexcept { return is_of_allocator.load(std::memory_order_relaxed) && heap_is_watched(); }
};

// ---- New -----------------------------------------------------------------------------------------------------------

using Nothrow = const void*;  // a reference to std::nothrow

void* new_by_malloc(size_t bytes) {
  void* const made = malloc(bytes != 0 ? bytes : 1);
  if (made == nullptr) abort();  // without a C++ library, nobody could catch an exception
  return made;
}
void* new_by_malloc(size_t bytes, Nothrow) { return malloc(bytes != 0 ? bytes : 1); }
void* new_by_malloc(size_t bytes, size_t alignment, Nothrow) {
  void* made = nullptr;
  const size_t least = sizeof(void*);
  return posix_memalign(&made, alignment < least ? least : alignment, bytes) == 0 ? made : nullptr;
}
void* new_by_malloc(size_t bytes, size_t alignment) {
  void* const made = new_by_malloc(bytes, alignment, nullptr);
  if (made == nullptr) abort();
  return made;
}

template <class... Rest>
using New = Operator<void* (*)(size_t, Rest...)>;

template <class... Rest>
KYMO_RECORDED void* recorded_new(New<Rest...>& one, size_t bytes, Rest... rest) {
  const uint32_t before = noted_count;
  void* const made = one.get()(bytes, rest...);
  return noted_count == before ? noted(made, bytes, KYMO_CALLER_REGISTERS()) : made;
}

template <class... Rest>
__attribute__((always_inline)) inline void* call_new(New<Rest...>& one, size_t bytes, Rest... rest) {
  const auto next = one.get();
  return one.is_recorded() ? recorded_new<Rest...>(one, bytes, rest...) : next(bytes, rest...);
}

constinit New<> new_one{"_Znwm", new_by_malloc}, new_many{"_Znam", new_by_malloc};
constinit New<Nothrow> new_one_or_null{"_ZnwmRKSt9nothrow_t", new_by_malloc},
    new_many_or_null{"_ZnamRKSt9nothrow_t", new_by_malloc};
constinit New<size_t> new_aligned{"_ZnwmSt11align_val_t", new_by_malloc},
    new_many_aligned{"_ZnamSt11align_val_t", new_by_malloc};
constinit New<size_t, Nothrow> new_aligned_or_null{"_ZnwmSt11align_val_tRKSt9nothrow_t", new_by_malloc},
    new_many_aligned_or_null{"_ZnamSt11align_val_tRKSt9nothrow_t", new_by_malloc};

// ---- Delete --------------------------------------------------------------------------------------------------------

template <class... Rest>
void delete_by_free(void* memory, Rest...) noexcept {
  free(memory);
}

template <class... Rest>
using Delete = Operator<void (*)(void*, Rest...)>;

template <class... Rest>
__attribute__((always_inline)) inline void call_delete(Delete<Rest...>& one, void* memory, Rest... rest) {
  if (__builtin_expect(is_from_start(memory), 0)) return;
  const auto next = one.get();
  if (!one.is_recorded() || memory == nullptr) return next(memory, rest...);
  returning(memory);
  being_deleted = memory;
  next(memory, rest...);
  being_deleted = nullptr;
}

constinit Delete<> delete_one{"_ZdlPv", delete_by_free<>}, delete_many{"_ZdaPv", delete_by_free<>};
constinit Delete<size_t> delete_sized{"_ZdlPvm", delete_by_free<size_t>},
    delete_many_sized{"_ZdaPvm", delete_by_free<size_t>},
    delete_aligned{"_ZdlPvSt11align_val_t", delete_by_free<size_t>},
    delete_many_aligned{"_ZdaPvSt11align_val_t", delete_by_free<size_t>};
constinit Delete<Nothrow> delete_nothrow{"_ZdlPvRKSt9nothrow_t", delete_by_free<Nothrow>},
    delete_many_nothrow{"_ZdaPvRKSt9nothrow_t", delete_by_free<Nothrow>};
constinit Delete<size_t, size_t> delete_sized_aligned{"_ZdlPvmSt11align_val_t", delete_by_free<size_t, size_t>},
    delete_many_sized_aligned{"_ZdaPvmSt11align_val_t", delete_by_free<size_t, size_t>};
constinit Delete<size_t, Nothrow> delete_aligned_nothrow{"_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                                         delete_by_free<size_t, Nothrow>},
    delete_many_aligned_nothrow{"_ZdaPvSt11align_val_tRKSt9nothrow_t", delete_by_free<size_t, Nothrow>};

}  // namespace
}  // namespace kymo::heap

using namespace kymo::heap;

// By the names that the linker knows: the parameters are those of the C++ library.
KYMO_EXPORTED void* _Znwm(size_t bytes) { return call_new<>(new_one, bytes); }
KYMO_EXPORTED void* _Znam(size_t bytes) { return call_new<>(new_many, bytes); }
KYMO_EXPORTED void* _ZnwmRKSt9nothrow_t(size_t bytes, Nothrow n) {
  return call_new<Nothrow>(new_one_or_null, bytes, n);
}
KYMO_EXPORTED void* _ZnamRKSt9nothrow_t(size_t bytes, Nothrow n) {
  return call_new<Nothrow>(new_many_or_null, bytes, n);
}
KYMO_EXPORTED void* _ZnwmSt11align_val_t(size_t bytes, size_t alignment) {
  return call_new<size_t>(new_aligned, bytes, alignment);
}
KYMO_EXPORTED void* _ZnamSt11align_val_t(size_t bytes, size_t alignment) {
  return call_new<size_t>(new_many_aligned, bytes, alignment);
}
KYMO_EXPORTED void* _ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t alignment, Nothrow n) {
  return call_new<size_t, Nothrow>(new_aligned_or_null, bytes, alignment, n);
}
KYMO_EXPORTED void* _ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t alignment, Nothrow n) {
  return call_new<size_t, Nothrow>(new_many_aligned_or_null, bytes, alignment, n);
}

KYMO_EXPORTED void _ZdlPv(void* memory) { call_delete<>(delete_one, memory); }
KYMO_EXPORTED void _ZdaPv(void* memory) { call_delete<>(delete_many, memory); }
KYMO_EXPORTED void _ZdlPvm(void* memory, size_t bytes) { call_delete<size_t>(delete_sized, memory, bytes); }
KYMO_EXPORTED void _ZdaPvm(void* memory, size_t bytes) { call_delete<size_t>(delete_many_sized, memory, bytes); }
KYMO_EXPORTED void _ZdlPvRKSt9nothrow_t(void* memory, Nothrow n) { call_delete<Nothrow>(delete_nothrow, memory, n); }
KYMO_EXPORTED void _ZdaPvRKSt9nothrow_t(void* memory, Nothrow n) {
  call_delete<Nothrow>(delete_many_nothrow, memory, n);
}
KYMO_EXPORTED void _ZdlPvSt11align_val_t(void* memory, size_t alignment) {
  call_delete<size_t>(delete_aligned, memory, alignment);
}
KYMO_EXPORTED void _ZdaPvSt11align_val_t(void* memory, size_t alignment) {
  call_delete<size_t>(delete_many_aligned, memory, alignment);
}
KYMO_EXPORTED void _ZdlPvmSt11align_val_t(void* memory, size_t bytes, size_t alignment) {
  call_delete<size_t, size_t>(delete_sized_aligned, memory, bytes, alignment);
}
KYMO_EXPORTED void _ZdaPvmSt11align_val_t(void* memory, size_t bytes, size_t alignment) {
  call_delete<size_t, size_t>(delete_many_sized_aligned, memory, bytes, alignment);
}
KYMO_EXPORTED void _ZdlPvSt11align_val_tRKSt9nothrow_t(void* memory, size_t alignment, Nothrow n) {
  call_delete<size_t, Nothrow>(delete_aligned_nothrow, memory, alignment, n);
}
KYMO_EXPORTED void _ZdaPvSt11align_val_tRKSt9nothrow_t(void* memory, size_t alignment, Nothrow n) {
  call_delete<size_t, Nothrow>(delete_many_aligned_nothrow, memory, alignment, n);
}
