// The functions of the extensions if there is a chained tool. Ids of schemas and counters are those of the chained
// tool, so payloads need no translation. A handle of a string inside of a payload cannot be translated: the tool gets
// such events without their payload.
#include "inject/nvtx/chain.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/payload_schema.h"

namespace kymo::inject::nvtx {
namespace {

Slot our_payload_functions[kMaxSlots];

template <class Function>
Function* their_payload(uint32_t number) noexcept {
  return reinterpret_cast<Function*>(chained_extension_slot(kPayloadModule, number));
}
template <class Function>
Function* our_payload(uint32_t number) noexcept {
  return reinterpret_cast<Function*>(our_payload_functions[number]);
}

bool knows(Domain* domain) noexcept {
  return domain == nullptr || domain->chained.load(std::memory_order_acquire) != nullptr;
}
void* known_as(Domain* domain) noexcept { return domain != nullptr ? domain->chained.load() : nullptr; }

// Payloads that the tool can read.
struct TheirPayloads {
  const PayloadData* data;
  size_t count;
  TheirPayloads(Domain* domain, const PayloadData* given, size_t number) noexcept : data(given), count(number) {
    for (size_t i = 0; i < number && given != nullptr; ++i) {
      const Schema* const schema = find_schema(domain_of(domain), given[i].schema);
      if (schema != nullptr && schema->has_strings) count = 0;
    }
    if (count == 0) data = nullptr;
  }
};

template <uint32_t kNumber, class Attributes>
uint64_t register_with_both(Domain* domain, const Attributes* attributes) noexcept {
  auto* const call = knows(domain) ? their_payload<uint64_t(void*, const Attributes*)>(kNumber) : nullptr;
  const uint64_t id = call != nullptr ? call(known_as(domain), attributes) : 0;
  if constexpr (kNumber == 0)
    return register_schema(domain_of(domain), attributes, id);
  else
    return register_enum(domain_of(domain), attributes, id);
}

template <uint32_t kNumber, class Result>
Result with_payloads(Domain* domain, const PayloadData* data, size_t count) noexcept {
  const TheirPayloads known(domain, data, count);
  auto* const call = their_payload<Result(void*, const PayloadData*, size_t)>(kNumber);
  if (call != nullptr && knows(domain)) call(known_as(domain), known.data, known.count);
  return our_payload<Result(Domain*, const PayloadData*, size_t)>(kNumber)(domain, data, count);
}

const Handler kChainedPayload[] = {always(register_with_both<0, SchemaAttributes>),
                                   always(register_with_both<1, EnumAttributes>), always(with_payloads<2, void>),
                                   always(with_payloads<3, int>), always(with_payloads<4, int>)};

}  // namespace

// Ranges with ids, events with their own times, counters and memory go only to Kymo: their ids differ.
std::span<const Handler> chained_extension_handlers(uint16_t module, std::span<const Handler> ours) noexcept {
  if (module != kPayloadModule) return ours;
  static Handler all[kMaxSlots];
  for (size_t i = 0; i < ours.size(); ++i) {
    our_payload_functions[i] = ours[i].function;
    all[i] = i < std::size(kChainedPayload) ? kChainedPayload[i] : ours[i];
  }
  return {all, ours.size()};
}

}  // namespace kymo::inject::nvtx
