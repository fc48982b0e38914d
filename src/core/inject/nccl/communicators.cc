#include "inject/nccl/communicators.h"

#include <stdio.h>

#include <atomic>
#include <new>

#include "inject/nccl/abi.h"
#include "record/process.h"

namespace kymo::inject::nccl {
namespace {

constinit std::atomic<int*> process_mask{nullptr};

}  // namespace

Communicator* add(uint64_t id, const char* name, int rank, int ranks, int* mask) noexcept {
  auto* const made = new (std::nothrow) Communicator{};
  if (made == nullptr) return nullptr;
  snprintf(made->id, sizeof made->id, "%llx", static_cast<unsigned long long>(id));
  snprintf(made->name, sizeof made->name, "%s", name != nullptr && *name != '\0' ? name : made->id);
  made->rank = rank;
  made->ranks = ranks;
  if (mask != nullptr) {
    process_mask.store(mask, std::memory_order_release);
    report_events(record::recording());
  }
  return made;
}

void forget(Communicator* communicator) noexcept { delete communicator; }

// NCCL's threads read the variable at any time.
void report_events(bool on) noexcept {
  if (int* const mask = process_mask.load(std::memory_order_acquire))
    __atomic_store_n(mask, on ? static_cast<int>(kRecordedKinds) : 0, __ATOMIC_RELAXED);
}

}  // namespace kymo::inject::nccl
