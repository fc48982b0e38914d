// The functions of NVTX's extensions: payloads, counters and memory.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <bit>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/images.h"
#include "inject/nvtx/payload_decoder.h"
#include "inject/nvtx/payload_schema.h"
#include "kymo/queue.h"
#include "record/clock.h"
#include "record/interfaces.h"
#include "record/slots.h"

namespace kymo::inject::nvtx {

// ---- Payloads ------------------------------------------------------------------------------------------------------

namespace {

// An event whose attributes are all in its payloads.
EventAttributes event_of(const PayloadData* payloads, size_t count) noexcept {
  EventAttributes event{};
  event.size = sizeof event;
  if (payloads == nullptr || count == 0) return event;
  event.payload_type = kExtended;
  event.payload_count = static_cast<int32_t>(std::min<size_t>(count, kMaxPayloads));
  event.payload.as_pointer = payloads;
  return event;
}

uint64_t schema_register(Domain* domain, const SchemaAttributes* attributes) noexcept {
  return register_schema(domain_of(domain), attributes);
}
uint64_t enum_register(Domain* domain, const EnumAttributes* attributes) noexcept {
  return register_enum(domain_of(domain), attributes);
}
void mark_payload(Domain* domain, const PayloadData* payloads, size_t count) noexcept {
  const EventAttributes event = event_of(payloads, count);
  mark(domain_of(domain), &event);
}
int push_payload(Domain* domain, const PayloadData* payloads, size_t count) noexcept {
  const EventAttributes event = event_of(payloads, count);
  return push_event(domain_of(domain), &event);
}
// What the payload at the end says is an instant just before it: the begin of the range is recorded already.
int pop_payload(Domain* domain, const PayloadData* payloads, size_t count) noexcept {
  if (count != 0) mark_payload(domain, payloads, count);
  return pop(domain_of(domain));
}
uint64_t start_payload(Domain* domain, const PayloadData* payloads, size_t count) noexcept {
  const EventAttributes event = event_of(payloads, count);
  return start_range(domain_of(domain), &event);
}
void end_payload(Domain* domain, uint64_t id, const PayloadData* payloads, size_t count) noexcept {
  if (count != 0) mark_payload(domain, payloads, count);
  end_range(id);
}

// Events with their own times.

int64_t timestamp_get() noexcept { return static_cast<int64_t>(record::ticks()); }

uint64_t new_number(Domain*, const void*) noexcept {
  static constinit std::atomic<uint64_t> next{kFirstDynamicId};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// An event that the program submits later is an instant when it is submitted; its own times are arguments of it. One
// event alone is mark_payload.
void event_batch_submit(Domain* domain, const EventBatchAttributes* batch) noexcept {
  if (batch == nullptr || batch->events == nullptr || !record::recording()) return;
  const Schema* const schema = find_schema(domain_of(domain), batch->schema);
  if (schema == nullptr || schema->size == 0) return;
  for (size_t at = 0; batch->size - at >= schema->size; at += schema->size) {
    const PayloadData one{batch->schema, schema->size, static_cast<const uint8_t*>(batch->events) + at};
    mark_payload(domain, &one, 1);
  }
}

const Handler kPayloadHandlers[] = {always(schema_register),
                                    always(enum_register),
                                    while_active(mark_payload),
                                    while_active(push_payload),
                                    while_active(pop_payload),
                                    while_active(start_payload),
                                    while_active(end_payload),
                                    {},  // nvtxDomainIsEnabled: NVTX itself says yes
                                    always(timestamp_get),
                                    always(new_number),  // a time domain
                                    {},
                                    {},
                                    always(new_number),  // a scope
                                    {},
                                    {},
                                    {},
                                    while_active(mark_payload),
                                    while_active(event_batch_submit)};

}  // namespace

// ---- Counters ------------------------------------------------------------------------------------------------------

// A counter, or a group of counters with a schema.
struct Counter {
  Counter* next;
  uint64_t id;
  uint64_t schema;
  const char* name;
};

namespace {

constinit std::atomic<uint64_t> next_counter{kFirstDynamicId};

// "queue length (requests)"
const char* name_with_unit(const CounterAttributes& attributes) noexcept {
  const char* unit = nullptr;
  int left = 16;  // a list that leads to itself ends too
  for (const SemanticsHeader* one = attributes.semantics; one != nullptr && left-- != 0; one = one->next)
    if (one->id == kCounterSemantics && one->size >= sizeof(CounterSemantics))
      unit = reinterpret_cast<const CounterSemantics*>(one)->unit;
  const Text name(attributes.name);
  if (unit == nullptr || *unit == '\0') return keep_text(name.view());
  char text[512];
  snprintf(text, sizeof text, "%.*s (%.64s)", static_cast<int>(std::min<size_t>(name.view().size(), 400)),
           name.view().data(), unit);
  return keep_text(text);
}

uint64_t counter_register(Domain* domain, const CounterAttributes* given) noexcept {
  if (given == nullptr) return 0;
  CounterAttributes known{};
  memcpy(&known, given, std::min(std::max(given->size, sizeof given->size), sizeof known));
  auto* const made = static_cast<Counter*>(calloc(1, sizeof(Counter)));
  if (made == nullptr || (made->name = name_with_unit(known)) == nullptr) return 0;
  made->schema = known.schema;
  made->id = known.id != 0 ? known.id : next_counter.fetch_add(1, std::memory_order_relaxed);
  Domain& home = domain_of(domain);
  const Lock lock;
  made->next = home.counters.load(std::memory_order_relaxed);
  home.counters.store(made, std::memory_order_release);
  return made->id;
}

const Counter* find(const Domain& domain, uint64_t id) noexcept {
  for (const Counter* one = domain.counters.load(std::memory_order_acquire); one != nullptr; one = one->next)
    if (one->id == id) return one;
  return nullptr;
}

void sample(Domain& domain, std::string_view name, kymo_type type, uint64_t bits) noexcept {
  if (!record::recording()) return idle_call();
  kymo_arg value{"value", {}, 0, static_cast<uint32_t>(type)};
  value.value.as_uint = bits;
  store_with_args(record::Kind::Counter, domain, name, &value, 1);
}

void sample_number(Domain* domain, uint64_t id, kymo_type type, uint64_t bits) noexcept {
  Domain& home = domain_of(domain);
  if (const Counter* const counter = find(home, id)) sample(home, counter->name, type, bits);
}
void sample_int(Domain* domain, uint64_t id, int64_t value) noexcept {
  sample_number(domain, id, KYMO_INT, static_cast<uint64_t>(value));
}
void sample_double(Domain* domain, uint64_t id, double value) noexcept {
  sample_number(domain, id, KYMO_DOUBLE, std::bit_cast<uint64_t>(value));
}

// Each number of a group is a counter of its own, "GROUP.FIELD".
void sample_bytes(Domain* domain, uint64_t id, const void* value, size_t size) noexcept {
  Domain& home = domain_of(domain);
  const Counter* const counter = find(home, id);
  if (counter == nullptr || value == nullptr || !record::recording()) return idle_call();
  const PayloadData payload{counter->schema, size, value};
  const DecodedPayload decoded(home, {&payload, 1});
  for (const kymo_arg& arg : decoded.args()) {
    if (arg.type == KYMO_STRING) continue;
    char name[512];
    const bool is_group = counter->schema >= kFirstStaticId;
    snprintf(name, sizeof name, is_group ? "%.250s.%.250s" : "%.250s", counter->name, arg.name);
    sample(home, name, static_cast<kymo_type>(arg.type), arg.value.as_uint);
  }
}

void sample_no_value(Domain* domain, uint64_t id, uint8_t reason) noexcept {
  if (reason == kValueIsZero) sample_int(domain, id, 0);
}

// The samples of a batch have times in the past, which a counter of a trace cannot have. The last one is recorded.
void batch_submit(Domain* domain, const CounterBatch* batch) noexcept {
  if (batch == nullptr || batch->samples == nullptr) return;
  const Domain& home = domain_of(domain);
  const Counter* const counter = find(home, batch->counter);
  if (counter == nullptr) return;
  const Schema* const schema = find_schema(home, counter->schema);
  const size_t size = schema != nullptr ? schema->size : sizeof(uint64_t);
  if (size == 0 || batch->samples_size < size) return;
  const size_t count = batch->samples_size / size;
  sample_bytes(domain, batch->counter, static_cast<const uint8_t*>(batch->samples) + (count - 1) * size, size);
  if (record::recording()) record::add_interface(record::Interface::Nvtx, 0, count - 1, 0);
}

const Handler kCounterHandlers[] = {always(counter_register),      while_active(sample_int),
                                    while_active(sample_double),   while_active(sample_bytes),
                                    while_active(sample_no_value), while_active(batch_submit)};

// ---- Memory: regions of a heap are allocations, on the device "HEAP" -----------------------------------------------

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

// A region that is registered while nothing records must be known when it is freed.
const Handler kMemoryHandlers[] = {always(heap_register),    always(heap_unregister), always(heap_reset),
                                   always(regions_register), always(regions_resize),  always(regions_unregister)};

}  // namespace

std::span<const Handler> extension_handlers_of(uint16_t module) noexcept {
  if (module == kPayloadModule) return kPayloadHandlers;
  if (module == kCountersModule) return kCounterHandlers;
  if (module == kMemoryModule) return kMemoryHandlers;
  return {};
}

}  // namespace kymo::inject::nvtx
