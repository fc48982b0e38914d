// The functions of NVTX's extension for payloads.
#include <algorithm>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/images.h"
#include "inject/nvtx/payload_schema.h"

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

const Handler kPayloadHandlers[] = {always(schema_register),    always(enum_register),
                                    while_active(mark_payload), while_active(push_payload),
                                    while_active(pop_payload),  while_active(start_payload),
                                    while_active(end_payload),  {}};  // nvtxDomainIsEnabled: NVTX itself says yes

}  // namespace

std::span<const Handler> extension_handlers_of(uint16_t module) noexcept {
  return module == kPayloadModule ? std::span<const Handler>(kPayloadHandlers) : std::span<const Handler>();
}

}  // namespace kymo::inject::nvtx
