#include "heap/preload/next_allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace kymo::heap {
namespace {

// ---- The buffer ----------------------------------------------------------------------------------------------------

constexpr size_t kStartBytes = 64 << 10, kStartAlignment = 16;
alignas(kStartAlignment) constinit char start_buffer[kStartBytes] = {};
constinit std::atomic<size_t> start_used{0};

void* from_start(size_t bytes) noexcept {
  if (bytes > kStartBytes) return nullptr;
  const size_t rounded = (bytes + kStartAlignment - 1) / kStartAlignment * kStartAlignment + kStartAlignment;
  const size_t at = start_used.fetch_add(rounded, std::memory_order_relaxed);
  if (at + rounded > kStartBytes) return nullptr;
  memcpy(start_buffer + at, &bytes, sizeof bytes);
  return start_buffer + at + kStartAlignment;
}

// ---- Until the functions are known ---------------------------------------------------------------------------------

// This thread is looking up the functions. The caller that allocates here is the linker, at an early stage.
thread_local constinit bool looking __attribute__((tls_model("initial-exec"))) = false;

void find_next() noexcept;

void* first_malloc(size_t bytes) noexcept {
  if (looking) return from_start(bytes);
  find_next();
  return next_allocator.malloc(bytes);
}
void first_free(void* address) noexcept {
  if (looking || is_from_start(address)) return;
  find_next();
  next_allocator.free(address);
}
void* first_calloc(size_t count, size_t bytes) noexcept {
  if (looking) return count == 0 || bytes <= SIZE_MAX / count ? from_start(count * bytes) : nullptr;
  find_next();
  return next_allocator.calloc(count, bytes);
}
void* first_realloc(void* address, size_t bytes) noexcept {
  if (looking) return address == nullptr ? from_start(bytes) : moved_from_start(address, bytes);
  find_next();
  return next_allocator.realloc(address, bytes);
}
int first_posix_memalign(void** into, size_t alignment, size_t bytes) noexcept {
  if (looking) return ENOMEM;
  find_next();
  return next_allocator.posix_memalign(into, alignment, bytes);
}
void* first_aligned_alloc(size_t alignment, size_t bytes) noexcept {
  if (looking) return nullptr;
  find_next();
  return next_allocator.aligned_alloc(alignment, bytes);
}
void* first_memalign(size_t alignment, size_t bytes) noexcept {
  if (looking) return alignment <= kStartAlignment ? from_start(bytes) : nullptr;
  find_next();
  return next_allocator.memalign(alignment, bytes);
}
void* first_valloc(size_t bytes) noexcept {
  if (looking) return nullptr;
  find_next();
  return next_allocator.valloc(bytes);
}
void* first_pvalloc(size_t bytes) noexcept {
  if (looking) return nullptr;
  find_next();
  return next_allocator.pvalloc(bytes);
}
void* first_reallocarray(void* address, size_t count, size_t bytes) noexcept {
  if (looking) return nullptr;
  find_next();
  return next_allocator.reallocarray(address, count, bytes);
}
size_t first_malloc_usable_size(void* address) noexcept {
  if (looking) return 0;
  find_next();
  return next_allocator.malloc_usable_size(address);
}
int first_dlclose(void* library) noexcept {
  if (looking) return -1;
  find_next();
  return next_allocator.dlclose(library);
}

// ---- What an allocator may not have --------------------------------------------------------------------------------

void* no_memory(size_t) noexcept {
  errno = ENOMEM;
  return nullptr;
}
void* no_aligned_memory(size_t, size_t) noexcept { return no_memory(0); }
void* no_array(void* address, size_t count, size_t bytes) noexcept {
  size_t whole = 0;
  if (__builtin_mul_overflow(count, bytes, &whole)) return no_memory(0);
  return next_allocator.realloc(address, whole);
}
size_t no_size(void*) noexcept { return 0; }

template <class Function>
void find_function(Function& function, const char* name, std::type_identity_t<Function> otherwise) noexcept {
  void* found = dlsym(RTLD_NEXT, name);
  function = found != nullptr ? reinterpret_cast<Function>(found) : otherwise;
}

void find_next() noexcept {
  looking = true;
  NextAllocator found = next_allocator;
  find_function(found.malloc, "malloc", found.malloc);
  find_function(found.free, "free", found.free);
  find_function(found.calloc, "calloc", found.calloc);
  find_function(found.realloc, "realloc", found.realloc);
  find_function(found.posix_memalign, "posix_memalign", found.posix_memalign);
  find_function(found.aligned_alloc, "aligned_alloc", no_aligned_memory);
  find_function(found.memalign, "memalign", no_aligned_memory);
  find_function(found.valloc, "valloc", no_memory);
  find_function(found.pvalloc, "pvalloc", no_memory);
  find_function(found.reallocarray, "reallocarray", no_array);
  find_function(found.malloc_usable_size, "malloc_usable_size", no_size);
  find_function(found.dlclose, "dlclose", found.dlclose);
  next_allocator = found;
  looking = false;
}

}  // namespace

constinit NextAllocator next_allocator{
    first_malloc,   first_free,   first_calloc,  first_realloc,      first_posix_memalign,     first_aligned_alloc,
    first_memalign, first_valloc, first_pvalloc, first_reallocarray, first_malloc_usable_size, first_dlclose};

const void* next_malloc() noexcept {
  if (next_allocator.malloc == first_malloc && !looking) find_next();
  return reinterpret_cast<const void*>(next_allocator.malloc);
}

bool is_from_start(const void* address) noexcept {
  const auto* at = static_cast<const char*>(address);
  return at >= start_buffer && at < start_buffer + kStartBytes;
}

void* moved_from_start(const void* address, size_t bytes) noexcept {
  size_t had = 0;
  memcpy(&had, static_cast<const char*>(address) - kStartAlignment, sizeof had);
  void* made = looking ? from_start(bytes) : next_allocator.malloc(bytes);
  if (made != nullptr) memcpy(made, address, had < bytes ? had : bytes);
  return made;
}

}  // namespace kymo::heap
