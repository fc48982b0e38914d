// The functions of the counter extension.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <bit>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/message.h"
#include "inject/nvtx/payload_decoder.h"
#include "record/interfaces.h"

namespace kymo::inject::nvtx {

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

}  // namespace

std::span<const Handler> counter_handlers() noexcept {
  static const Handler all[] = {always(counter_register),   while_active(sample_int),      while_active(sample_double),
                                while_active(sample_bytes), while_active(sample_no_value), while_active(batch_submit)};
  return all;
}

}  // namespace kymo::inject::nvtx
