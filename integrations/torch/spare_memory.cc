#include "spare_memory.h"

#include <cstdint>
#include <new>

namespace kymo::edge {

namespace {

constexpr uint32_t kMaxSpares = 64;

struct Spare {
  Spare* next;
};

// Without a destructor, so that access is fast; SpareKeeper cleans up.
struct Spares {
  Spare* first;
  uint32_t count;
  uint32_t most;  // max count; 0 before the first piece and after the thread's end: then none is kept
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Spares spares{};

struct SpareKeeper {
  SpareKeeper() { spares.most = kMaxSpares; }
  ~SpareKeeper() {
    spares.most = 0;
    while (Spare* const spare = spares.first) {
      spares.first = spare->next;
      ::operator delete(spare);
    }
    spares.count = 0;
  }
};

void* take_new(size_t size) {
  thread_local SpareKeeper keeper;
  static_cast<void>(keeper);
  return ::operator new(size);
}

}  // namespace

void* take_spare(size_t size) {
  Spare* const spare = spares.first;
  if (spare == nullptr) return take_new(size);
  spares.first = spare->next;
  --spares.count;
  return spare;
}

void keep_spare(void* memory, size_t) noexcept {
  if (spares.count >= spares.most) return ::operator delete(memory);  // clang has no sized one by default
  spares.first = new (memory) Spare{spares.first};
  ++spares.count;
}

}  // namespace kymo::edge
