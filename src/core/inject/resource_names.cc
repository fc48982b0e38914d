#include "inject/resource_names.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>

namespace kymo::inject {
namespace {

constexpr size_t kNameBytes = 128;
constexpr uint32_t kMaxNames = 65'536;  // a program may name each of its events

struct Named {
  Named* next;
  Resource kind;
  uint64_t id;
  char name[kNameBytes];
};

constexpr uint32_t kBuckets = 1024;
constinit Named* buckets[kBuckets];
constinit uint32_t count = 0;
constinit std::atomic<uint32_t> locked{0};
constinit std::atomic<uint32_t> version{0};

class NamesLock {
 public:
  NamesLock() noexcept {
    // A forked child continues with the list as it is: an entry is linked after it is complete.
    static const int registered = pthread_atfork(nullptr, nullptr, [] { locked.store(0, std::memory_order_relaxed); });
    (void)registered;
    while (locked.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  ~NamesLock() { locked.store(0, std::memory_order_release); }
  NamesLock(const NamesLock&) = delete;
  NamesLock& operator=(const NamesLock&) = delete;
};

Named*& bucket_of(Resource kind, uint64_t id) noexcept {
  return buckets[((id ^ static_cast<uint64_t>(kind) << 40) * 0x9e3779b97f4a7c15u) >> 54];
}

Named* find(Resource kind, uint64_t id) noexcept {
  for (Named* one = bucket_of(kind, id); one != nullptr; one = one->next)
    if (one->kind == kind && one->id == id) return one;
  return nullptr;
}

}  // namespace

std::string_view text_of(Resource kind) noexcept {
  constexpr std::string_view kTexts[] = {"object",         "CUDA device",    "CUDA context", "CUDA stream",
                                         "CUDA event",     "CUDA device",    "CUDA stream",  "CUDA event",
                                         "OpenCL device",  "OpenCL context", "OpenCL queue", "OpenCL memory",
                                         "OpenCL sampler", "OpenCL program", "OpenCL event"};
  const auto index = static_cast<size_t>(kind);
  return kTexts[index < std::size(kTexts) ? index : 0];
}

void set_resource_name(Resource kind, uint64_t id, std::string_view name) noexcept {
  const NamesLock lock;
  Named* named = find(kind, id);
  if (named == nullptr) {
    if (count == kMaxNames) return;
    named = static_cast<Named*>(calloc(1, sizeof(Named)));
    if (named == nullptr) return;
    ++count;
    named->kind = kind;
    named->id = id;
    named->next = bucket_of(kind, id);
    bucket_of(kind, id) = named;
  }
  const size_t length = std::min(name.size(), kNameBytes - 1);
  memcpy(named->name, name.data(), length);
  named->name[length] = '\0';
  version.fetch_add(1, std::memory_order_relaxed);
}

uint32_t resource_names_version() noexcept { return version.load(std::memory_order_relaxed); }

size_t get_resource_name(Resource kind, uint64_t id, char* into, size_t bytes) noexcept {
  const NamesLock lock;
  const Named* const named = find(kind, id);
  if (named == nullptr || bytes == 0) return 0;
  const size_t length = std::min(strlen(named->name), bytes - 1);
  memcpy(into, named->name, length);
  into[length] = '\0';
  return length;
}

}  // namespace kymo::inject
