#include "inject/nvtx/chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "base/environment.h"
#include "base/print.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/payload_schema.h"
#include "sink/open_ranges.h"

namespace kymo::inject::nvtx {
namespace {

constexpr uint32_t kMaxSlots = 64;                                        // of a module
constexpr uint32_t kSlotCounts[kModules + 1] = {0, 16, 9, 15, 7, 16, 7};  // with number 0
constexpr uint16_t kExtensionModules = 5;

using InitializeTool = int (*)(GetExportTable);
using InitializeExtension = int (*)(ExtensionInfo*);

Slot slots[kModules + 1][kMaxSlots];
Slot* tables[kModules + 1][kMaxSlots];
intptr_t extension_slots[kExtensionModules][kMaxSlots];

constinit std::atomic<bool> is_loaded{false};
constinit InitializeExtension initialize_extension = nullptr;

int get_module(uint32_t module, Slot* const** table, uint32_t* count) {
  if (module == 0 || module > kModules) return 0;
  for (uint32_t i = 1; i < kSlotCounts[module]; ++i) tables[module][i] = &slots[module][i];
  if (table != nullptr) *table = tables[module];
  if (count != nullptr) *count = kSlotCounts[module];
  return 1;
}

const void* get_table(uint32_t table) {
  static const CallbacksTable callbacks{sizeof callbacks, get_module};
  static const VersionTable version{sizeof version, 3, 0, [](uint32_t) {}};
  if (table == kCallbacksTable) return &callbacks;
  return table == kVersionTable ? &version : nullptr;
}

void complain(const char* path, const char* why) {
  base::say_to_user(std::string("NVTX calls are not passed on to ") + path + ": ", why);
}

void load(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY);
  if (library == nullptr) {
    const char* const why = dlerror();
    return complain(path, why != nullptr ? why : "it cannot be loaded");
  }
  const auto initialize = reinterpret_cast<InitializeTool>(dlsym(library, "InitializeInjectionNvtx2"));
  Dl_info own, other;
  if (initialize == nullptr) return complain(path, "it is not a tool for NVTX 3");
  const bool is_this = dladdr(reinterpret_cast<const void*>(&load_chained_tool), &own) != 0 &&
                       dladdr(reinterpret_cast<const void*>(initialize), &other) != 0 &&
                       own.dli_fbase == other.dli_fbase;
  if (is_this) return;
  if (initialize(get_table) == 0) return complain(path, "it refused to start");
  initialize_extension = reinterpret_cast<InitializeExtension>(dlsym(library, "InitializeInjectionNvtxExtension"));
  is_loaded.store(true, std::memory_order_release);
}

}  // namespace

void load_chained_tool() noexcept {
  enum : uint32_t { kNew, kLoading, kDone };
  static constinit std::atomic<uint32_t> state{kNew};
  static constinit std::atomic<pthread_t> loader{};
  uint32_t before = kNew;
  if (state.compare_exchange_strong(before, kLoading)) {
    loader.store(pthread_self());
    try {
      const char* const path = base::environment("KYMO_NVTX_CHAIN");
      if (path != nullptr && *path != '\0') load(path);
    } catch (...) {  // no memory for a message
    }
    state.store(kDone);
    return;
  }
  // The tool may use NVTX itself while it starts, which leads back here. Its own calls are not passed on to it.
  while (state.load() != kDone && loader.load() != pthread_self()) sched_yield();
}

bool has_chained_tool() noexcept { return is_loaded.load(std::memory_order_acquire); }

void load_chained_extension(const ExtensionInfo& info) noexcept {
  static constinit std::atomic<uint32_t> tried{0};
  if (!has_chained_tool() || initialize_extension == nullptr || info.module >= kExtensionModules) return;
  if ((tried.fetch_or(1u << info.module) >> info.module & 1) != 0) return;
  ExtensionSegment segment{0, kMaxSlots - 1, extension_slots[info.module]};
  ExtensionInfo copy = info;
  copy.segment_count = 1;
  copy.segments = &segment;
  if (initialize_extension(&copy) == 0) memset(extension_slots[info.module], 0, sizeof extension_slots[info.module]);
}

// ---- The functions for the slots of an image: each calls the tool and ours ------------------------------------------

namespace {

Slot our_functions[kModules + 1][kMaxSlots];

// The function that the tool has put into a slot; null: none.
template <class Function>
Function* theirs(uint32_t module, uint32_t number) noexcept {
  return reinterpret_cast<Function*>(__atomic_load_n(&slots[module][number], __ATOMIC_ACQUIRE));
}
template <class Function>
Function* ours(uint32_t module, uint32_t number) noexcept {
  return reinterpret_cast<Function*>(our_functions[module][number]);
}

// For functions without handles. The result is ours: a tool need not know the depth.
template <uint32_t kModule, uint32_t kNumber, class Result, class... Args>
Result both(Args... args) noexcept {
  if (auto* call = theirs<Result(Args...)>(kModule, kNumber)) call(args...);
  return ours<Result(Args...)>(kModule, kNumber)(args...);
}

void* their_domain(Domain* domain) noexcept {
  return domain != nullptr ? domain->chained.load(std::memory_order_acquire) : nullptr;
}
// False: the tool did not create the domain, so it gets no events of it.
bool is_known(Domain* domain) noexcept { return domain == nullptr || their_domain(domain) != nullptr; }

// A handle inside of a payload cannot be translated.
bool has_handles(Domain* domain, const PayloadData* payloads, size_t count) noexcept {
  for (size_t i = 0; payloads != nullptr && i < count; ++i) {
    const Schema* const schema = find_schema(domain_of(domain), payloads[i].schema);
    if (schema != nullptr && schema->has_strings) return true;
  }
  return false;
}

// The attributes as the tool knows them.
struct TheirEvent {
  EventAttributes event{};
  TheirEvent(Domain* domain, const EventAttributes* from) noexcept {
    if (from == nullptr) return;
    memcpy(&event, from, std::min<size_t>(std::max<size_t>(from->size, 2 * sizeof from->size), sizeof event));
    event.size = static_cast<uint16_t>(std::min<size_t>(event.size, sizeof event));
    if (event.payload_type == kExtended && event.payload_count > 0 &&
        has_handles(domain, static_cast<const PayloadData*>(event.payload.as_pointer),
                    static_cast<size_t>(event.payload_count)))
      event.payload_type = kNoPayload;
    if (event.message_type != kRegistered) return;
    RegisteredString* const string = event.message.registered;
    event.message.registered = string != nullptr ? static_cast<RegisteredString*>(string->chained) : nullptr;
    if (event.message.registered == nullptr) event.message_type = kNoMessage;
  }
};
using Event = const EventAttributes*;

// ---- Ranges with ids -----------------------------------------------------------------------------------------------

struct TheirRange {
  uint64_t id;
  void* domain;
};
constinit sink::OpenRanges<TheirRange> their_ranges;

void end_theirs(const TheirRange& range) noexcept {
  if (range.domain != nullptr) {
    if (auto* call = theirs<void(void*, uint64_t)>(kCore2, 3)) call(range.domain, range.id);
  } else if (auto* call = theirs<void(uint64_t)>(kCore, 7)) {
    call(range.id);
  }
}

uint64_t keep_range(uint64_t our_id, uint64_t their_id, void* domain) noexcept {
  if (their_id != 0 && !their_ranges.add(our_id, {their_id, domain})) end_theirs({their_id, domain});
  return our_id;
}

template <uint32_t kNumber, class Character>
uint64_t start_text(const Character* text) noexcept {
  auto* const call = theirs<uint64_t(const Character*)>(kCore, kNumber);
  const uint64_t their_id = call != nullptr ? call(text) : 0;
  return keep_range(ours<uint64_t(const Character*)>(kCore, kNumber)(text), their_id, nullptr);
}

uint64_t start_default(Event event) noexcept {
  auto* const call = theirs<uint64_t(Event)>(kCore, 4);
  const TheirEvent known(nullptr, event);
  const uint64_t their_id = call != nullptr ? call(&known.event) : 0;
  return keep_range(ours<uint64_t(Event)>(kCore, 4)(event), their_id, nullptr);
}

uint64_t start_in_domain(Domain* domain, Event event) noexcept {
  auto* const call = is_known(domain) ? theirs<uint64_t(void*, Event)>(kCore2, 2) : nullptr;
  const TheirEvent known(domain, event);
  const uint64_t their_id = call != nullptr ? call(their_domain(domain), &known.event) : 0;
  return keep_range(ours<uint64_t(Domain*, Event)>(kCore2, 2)(domain, event), their_id, their_domain(domain));
}

void end_default(uint64_t id) noexcept {
  if (const auto range = their_ranges.take(id)) end_theirs(*range);
  ours<void(uint64_t)>(kCore, 7)(id);
}
void end_in_domain(Domain*, uint64_t id) noexcept { end_default(id); }

// ---- Events --------------------------------------------------------------------------------------------------------

template <uint32_t kNumber, class Result>
Result event_default(Event event) noexcept {
  const TheirEvent known(nullptr, event);
  if (auto* call = theirs<Result(Event)>(kCore, kNumber)) call(&known.event);
  return ours<Result(Event)>(kCore, kNumber)(event);
}

template <uint32_t kNumber, class Result>
Result event_in_domain(Domain* domain, Event event) noexcept {
  const TheirEvent known(domain, event);
  auto* const call = theirs<Result(void*, Event)>(kCore2, kNumber);
  if (call != nullptr && is_known(domain)) call(their_domain(domain), &known.event);
  return ours<Result(Domain*, Event)>(kCore2, kNumber)(domain, event);
}

int pop_in_domain(Domain* domain) noexcept {
  auto* const call = theirs<int(void*)>(kCore2, 5);
  if (call != nullptr && is_known(domain)) call(their_domain(domain));
  return ours<int(Domain*)>(kCore2, 5)(domain);
}

// ---- What is created -----------------------------------------------------------------------------------------------

template <uint32_t kNumber, class Character>
Domain* create_domain_of_both(const Character* name) noexcept {
  Domain* const made = ours<Domain*(const Character*)>(kCore2, kNumber)(name);
  auto* const call = theirs<void*(const Character*)>(kCore2, kNumber);
  if (made == nullptr || call == nullptr || their_domain(made) != nullptr) return made;
  void* const other = call(name);
  void* nobody = nullptr;
  made->chained.compare_exchange_strong(nobody, other, std::memory_order_acq_rel);
  return made;
}

template <uint32_t kNumber, class Character>
RegisteredString* register_string_of_both(Domain* domain, const Character* text) noexcept {
  RegisteredString* const made = ours<RegisteredString*(Domain*, const Character*)>(kCore2, kNumber)(domain, text);
  auto* const call = theirs<void*(void*, const Character*)>(kCore2, kNumber);
  if (made != nullptr && call != nullptr && is_known(domain)) made->chained = call(their_domain(domain), text);
  return made;
}

template <uint32_t kNumber, class Character>
void name_category_of_both(Domain* domain, uint32_t number, const Character* name) noexcept {
  auto* const call = theirs<void(void*, uint32_t, const Character*)>(kCore2, kNumber);
  if (call != nullptr && is_known(domain)) call(their_domain(domain), number, name);
  ours<void(Domain*, uint32_t, const Character*)>(kCore2, kNumber)(domain, number, name);
}

// An object of a domain: a resource, or a lock. `Attributes` may name it by a registered string.
template <uint32_t kModule, uint32_t kNumber, class Attributes>
Object* create_object(Domain* domain, const Attributes* attributes) noexcept {
  Object* const made = ours<Object*(Domain*, const Attributes*)>(kModule, kNumber)(domain, attributes);
  auto* const call = theirs<void*(void*, const Attributes*)>(kModule, kNumber);
  if (made == nullptr || call == nullptr || attributes == nullptr || !is_known(domain)) return made;
  Attributes known{};
  memcpy(&known, attributes, std::min<size_t>(std::max<size_t>(attributes->size, 4), sizeof known));
  if (known.message_type == kRegistered && known.message.registered != nullptr)
    known.message.registered = static_cast<RegisteredString*>(known.message.registered->chained);
  if (known.message_type == kRegistered && known.message.registered == nullptr) known.message_type = kNoMessage;
  made->chained = call(their_domain(domain), &known);
  return made;
}

template <uint32_t kModule, uint32_t kNumber>
void with_object(Object* object) noexcept {
  auto* const call = theirs<void(void*)>(kModule, kNumber);
  if (call != nullptr && object != nullptr && object->chained != nullptr) call(object->chained);
  ours<void(Object*)>(kModule, kNumber)(object);
}

using Text8 = const char*;
using TextW = const wchar_t*;
using Anything = const void*;

const Handler kChainedCore[] = {{},
                                always(event_default<1, void>),
                                always(both<kCore, 2, void, Text8>),
                                always(both<kCore, 3, void, TextW>),
                                always(start_default),
                                always(start_text<5, char>),
                                always(start_text<6, wchar_t>),
                                always(end_default),
                                always(event_default<8, int>),
                                always(both<kCore, 9, int, Text8>),
                                always(both<kCore, 10, int, TextW>),
                                always(both<kCore, 11, int>),
                                always(both<kCore, 12, void, uint32_t, Text8>),
                                always(both<kCore, 13, void, uint32_t, TextW>),
                                always(both<kCore, 14, void, uint32_t, Text8>),
                                always(both<kCore, 15, void, uint32_t, TextW>)};

const Handler kChainedCore2[] = {{},
                                 always(event_in_domain<1, void>),
                                 always(start_in_domain),
                                 always(end_in_domain),
                                 always(event_in_domain<4, int>),
                                 always(pop_in_domain),
                                 always(create_object<kCore2, 6, ResourceAttributes>),
                                 always(with_object<kCore2, 7>),
                                 always(name_category_of_both<8, char>),
                                 always(name_category_of_both<9, wchar_t>),
                                 always(register_string_of_both<10, char>),
                                 always(register_string_of_both<11, wchar_t>),
                                 always(create_domain_of_both<12, char>),
                                 always(create_domain_of_both<13, wchar_t>),
                                 {},  // a destroyed domain may be created again
                                 always(both<kCore2, 15, void, Anything>)};

const Handler kChainedSync[] = {{},
                                always(create_object<kSync, 1, SyncAttributes>),
                                always(with_object<kSync, 2>),
                                always(with_object<kSync, 3>),
                                always(with_object<kSync, 4>),
                                always(with_object<kSync, 5>),
                                always(with_object<kSync, 6>)};

template <uint32_t kModule, uint32_t... kNumbers>
std::span<const Handler> naming(std::integer_sequence<uint32_t, kNumbers...>) noexcept {
  // The first two name a device by its number.
  static const Handler all[] = {{},
                                always(both<kModule, 1, void, int, Anything>),
                                always(both<kModule, 2, void, int, Anything>),
                                always(both<kModule, kNumbers + 3, void, Anything, Anything>)...};
  return all;
}

template <uint32_t... kNumbers>
std::span<const Handler> opencl_naming(std::integer_sequence<uint32_t, kNumbers...>) noexcept {
  static const Handler all[] = {{}, always(both<kOpenCl, kNumbers + 1, void, Anything, Anything>)...};
  return all;
}

}  // namespace

std::span<const Handler> chained_handlers(uint32_t module, std::span<const Handler> ours) noexcept {
  for (size_t i = 0; i < ours.size(); ++i) our_functions[module][i] = ours[i].function;
  switch (module) {
    case kCore:
      return kChainedCore;
    case kCore2:
      return kChainedCore2;
    case kCuda:
      return naming<kCuda>(std::make_integer_sequence<uint32_t, 6>());
    case kCudaRuntime:
      return naming<kCudaRuntime>(std::make_integer_sequence<uint32_t, 4>());
    case kOpenCl:
      return opencl_naming(std::make_integer_sequence<uint32_t, 14>());
    case kSync:
      return kChainedSync;
    default:
      return {};
  }
}

// ---- The functions of the extensions --------------------------------------------------------------------------------
// Ids of schemas and counters are those of the chained tool, so payloads need no translation. A handle of a string
// inside of a payload cannot be translated: the tool gets such events without their payload.

namespace {

Slot our_payload_functions[kMaxSlots];

template <class Function>
Function* their_payload(uint32_t number) noexcept {
  const intptr_t function = __atomic_load_n(&extension_slots[kPayloadModule][number], __ATOMIC_ACQUIRE);
  return function == kDisabledSlot ? nullptr : reinterpret_cast<Function*>(function);
}

template <uint32_t kNumber, class Attributes>
uint64_t register_with_both(Domain* domain, const Attributes* attributes) noexcept {
  auto* const call = is_known(domain) ? their_payload<uint64_t(void*, const Attributes*)>(kNumber) : nullptr;
  const uint64_t id = call != nullptr ? call(their_domain(domain), attributes) : 0;
  if constexpr (kNumber == 0)
    return register_schema(domain_of(domain), attributes, id);
  else
    return register_enum(domain_of(domain), attributes, id);
}

template <uint32_t kNumber, class Result>
Result with_payloads(Domain* domain, const PayloadData* data, size_t count) noexcept {
  auto* const call = their_payload<Result(void*, const PayloadData*, size_t)>(kNumber);
  const bool is_hidden = count == 0 || has_handles(domain, data, count);
  if (call != nullptr && is_known(domain))
    call(their_domain(domain), is_hidden ? nullptr : data, is_hidden ? 0 : count);
  return reinterpret_cast<Result (*)(Domain*, const PayloadData*, size_t)>(our_payload_functions[kNumber])(domain, data,
                                                                                                           count);
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
