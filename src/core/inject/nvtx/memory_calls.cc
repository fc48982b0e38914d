// The functions of the memory extension: regions of a heap are allocations, on the device "HEAP".
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/message.h"
#include "inject/nvtx/payload_abi.h"
#include "kymo/queue.h"
#include "record/interfaces.h"
#include "record/thread.h"

namespace kymo::inject::nvtx {
namespace {

struct Heap {
  Domain* domain;
  const char* name;
};

struct Region {
  Region* next;
  const Heap* heap;
  uint64_t address, bytes;
};

constexpr uint32_t kBuckets = 4096;
constinit Region* regions[kBuckets];  // by address; under the Lock
constinit Heap process_heap{nullptr, "process"};

Region** bucket_of(uint64_t address) noexcept { return &regions[(address * 0x9e3779b97f4a7c15u) >> 52]; }

void record_region(record::Kind kind, const Region& region) noexcept {
  if (!record::recording()) return;
  const Heap& heap = *region.heap;
  const Domain& domain = domain_of(heap.domain);
  kymo_arg args[2] = {{"bytes", {}, 0, KYMO_BYTES},
                      {"device", {}, static_cast<uint32_t>(strlen(heap.name)), KYMO_STRING}};
  args[0].value.as_uint = region.bytes;
  args[1].value.as_text = heap.name;
  const kymo_label label{"region", domain.name, 6, domain.name_length, 0};
  (kind == record::Kind::Allocation ? kymo_allocation : kymo_free)(&label, args, 2, region.address);
  if (record::Slot* const slot = record::this_slot) record::count_delivered(*slot, record::Interface::Nvtx);
}

// Removes the region at this address from the table. Null: there is none.
Region* take(uint64_t address) noexcept {
  const Lock lock;
  for (Region** one = bucket_of(address); *one != nullptr; one = &(*one)->next) {
    if ((*one)->address != address) continue;
    Region* const found = *one;
    *one = found->next;
    return found;
  }
  return nullptr;
}

void put(Region* region) noexcept {
  const Lock lock;
  Region** const bucket = bucket_of(region->address);
  region->next = *bucket;
  *bucket = region;
}

void add(const Heap& heap, const VirtualRange& range) noexcept {
  auto* const made = static_cast<Region*>(calloc(1, sizeof(Region)));
  if (made == nullptr) return;
  made->heap = &heap;
  made->address = reinterpret_cast<uintptr_t>(range.address);
  made->bytes = range.size;
  record_region(record::Kind::Allocation, *made);
  put(made);
}

void remove(uint64_t address) noexcept {
  Region* const region = take(address);
  if (region == nullptr) return;
  record_region(record::Kind::Free, *region);
  free(region);
}

// Element `i` of a batch whose elements have this size, which may be larger than what is known here.
template <class T>
bool read_element(const void* elements, size_t element_size, size_t i, T& into) noexcept {
  if (elements == nullptr || element_size < sizeof into) return false;
  memcpy(&into, static_cast<const uint8_t*>(elements) + i * element_size, sizeof into);
  return true;
}

Heap* heap_register(Domain* domain, const HeapAttributes* heap) noexcept {
  auto* const made = static_cast<Heap*>(calloc(1, sizeof(Heap)));
  if (made == nullptr) return nullptr;
  made->domain = &domain_of(domain);
  const bool has_name = heap != nullptr && heap->size >= sizeof *heap && heap->message_type != kNoMessage;
  made->name = has_name ? keep_text(Text(static_cast<int32_t>(heap->message_type), heap->message).view()) : nullptr;
  if (made->name == nullptr) made->name = "heap";
  return made;
}

void heap_reset(Domain*, Heap* heap) noexcept {
  for (Region*& bucket : regions) {
    for (;;) {
      uint64_t address = 0;
      bool found = false;
      {
        const Lock lock;
        for (const Region* one = bucket; one != nullptr && !found; one = one->next) {
          found = one->heap == (heap != nullptr ? heap : &process_heap);
          address = one->address;
        }
      }
      if (!found) break;
      remove(address);
    }
  }
}
void heap_unregister(Domain* domain, Heap* heap) noexcept {
  if (heap != nullptr) heap_reset(domain, heap);
}

// The handle of a region is its address.
void regions_register(Domain*, const RegionsRegister* batch) noexcept {
  if (batch == nullptr || batch->type != kVirtualAddressType) return;
  const Heap& heap = batch->heap != nullptr ? *static_cast<const Heap*>(batch->heap) : process_heap;
  for (size_t i = 0; i < batch->count; ++i) {
    VirtualRange range{};
    if (!read_element(batch->elements, batch->element_size, i, range)) return;
    add(heap, range);
    if (batch->handles != nullptr) batch->handles[i] = const_cast<void*>(range.address);
  }
}

void regions_resize(Domain*, const RegionsResize* batch) noexcept {
  if (batch == nullptr || batch->type != kVirtualAddressType) return;
  for (size_t i = 0; i < batch->count; ++i) {
    VirtualRange range{};
    if (!read_element(batch->elements, batch->element_size, i, range)) return;
    Region* const region = take(reinterpret_cast<uintptr_t>(range.address));
    if (region == nullptr) continue;
    record_region(record::Kind::Free, *region);
    region->bytes = range.size;
    record_region(record::Kind::Allocation, *region);
    put(region);
  }
}

void regions_unregister(Domain*, const RegionsUnregister* batch) noexcept {
  if (batch == nullptr) return;
  for (size_t i = 0; i < batch->count; ++i) {
    uint64_t address = 0;
    if (read_element(batch->elements, batch->element_size, i, address)) remove(address);
  }
}

}  // namespace

std::span<const Handler> memory_handlers() noexcept {
  // A region that is registered while nothing records must be known when it is freed.
  static const Handler all[] = {always(heap_register),    always(heap_unregister), always(heap_reset),
                                always(regions_register), always(regions_resize),  always(regions_unregister)};
  return all;
}

}  // namespace kymo::inject::nvtx
