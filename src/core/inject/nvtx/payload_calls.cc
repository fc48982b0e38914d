// The functions of the payload extension.
#include <string.h>

#include <algorithm>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/event_args.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/payload_decoder.h"
#include "inject/nvtx/payload_schema.h"
#include "record/clock.h"
#include "record/interfaces.h"

namespace kymo::inject::nvtx {
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

// ---- Events with their own times -----------------------------------------------------------------------------------

int64_t timestamp_get() noexcept { return static_cast<int64_t>(record::ticks()); }

uint64_t new_number(Domain*, const void*) noexcept {
  static constinit std::atomic<uint64_t> next{kFirstDynamicId};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// An event that the program submits later is an instant when it is submitted; its own times are arguments of it.
void event_submit(Domain* domain, const PayloadData* payloads, size_t count) noexcept {
  mark_payload(domain, payloads, count);
}

void event_batch_submit(Domain* domain, const EventBatchAttributes* batch) noexcept {
  if (batch == nullptr || batch->events == nullptr || !record::recording()) return;
  const Schema* const schema = find_schema(domain_of(domain), batch->schema);
  if (schema == nullptr || schema->size == 0) return;
  for (size_t at = 0; batch->size - at >= schema->size; at += schema->size) {
    const PayloadData one{batch->schema, schema->size, static_cast<const uint8_t*>(batch->events) + at};
    mark_payload(domain, &one, 1);
  }
}

}  // namespace

std::span<const Handler> payload_handlers() noexcept {
  static const Handler all[] = {always(schema_register),
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
                                while_active(event_submit),
                                while_active(event_batch_submit)};
  return all;
}

}  // namespace kymo::inject::nvtx
