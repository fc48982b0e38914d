// The functions that a program calls through the slots of the modules of NVTX.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/hot_path.h"
#include "inject/nvtx/images.h"
#include "inject/nvtx/thread_state.h"
#include "inject/resource_names.h"
#include "record/interfaces.h"

namespace kymo::inject::nvtx {
namespace {

using Event = const EventAttributes*;

// ---- CORE ----------------------------------------------------------------------------------------------------------
// `Character` is char or wchar_t: most functions exist for both.

void mark_ex(Event event) noexcept { mark(default_domain, event); }
template <class Character>
void mark_text(const Character* text) noexcept {
  mark(default_domain, Text(text).view());
}
uint64_t start_ex(Event event) noexcept { return start_range(default_domain, event); }
template <class Character>
uint64_t start_text(const Character* text) noexcept {
  return start_range(default_domain, Text(text).view());
}
KYMO_AT_CACHE_LINE int push_ex(Event event) noexcept { return push_event_quickly(default_domain, event); }
KYMO_AT_CACHE_LINE int push_ascii(const char* text) noexcept { return push_text_quickly(default_domain, text); }
int push_wide(const wchar_t* text) noexcept {
  const Text message(text);  // on the stack: another text may be at its address the next time
  return push_text(default_domain, message.c_str());
}
KYMO_AT_CACHE_LINE int pop_default() noexcept { return pop_quickly(default_domain); }
template <class Character>
void name_default_category(uint32_t number, const Character* name) noexcept {
  name_category(default_domain, number, Text(name).view());
}
void name_thread_wide(uint32_t tid, const wchar_t* name) noexcept {
  if (name != nullptr) name_thread(tid, Text(name).c_str());
}

// ---- CORE2 ---------------------------------------------------------------------------------------------------------

void domain_mark(Domain* domain, Event event) noexcept { mark(domain_of(domain), event); }
uint64_t domain_start(Domain* domain, Event event) noexcept { return start_range(domain_of(domain), event); }
void domain_end(Domain*, uint64_t id) noexcept { end_range(id); }
KYMO_AT_CACHE_LINE int domain_push(Domain* domain, Event event) noexcept {
  return push_event_quickly(domain_of(domain), event);
}
KYMO_AT_CACHE_LINE int domain_pop(Domain* domain) noexcept { return pop_quickly(domain_of(domain)); }
template <class Character>
void domain_category(Domain* domain, uint32_t number, const Character* name) noexcept {
  name_category(domain_of(domain), number, Text(name).view());
}
template <class Character>
RegisteredString* domain_string(Domain* domain, const Character* text) noexcept {
  return register_string(domain_of(domain), Text(text).view());
}
template <class Character>
Domain* create(const Character* name) noexcept {
  return create_domain(Text(name).view());
}
void destroy(Domain*) noexcept {}  // another image may use it, and its strings may still be in use
void initialize(const void*) noexcept {}

// ---- Names of objects: CUDA, CUDART, OPENCL, and resources of a domain ---------------------------------------------

// The name is kept for other adapters, and is an event of the trace.
void name(Resource kind, uint64_t id, const Text& text) noexcept {
  set_resource_name(kind, id, text.view());
  if (!record::recording()) return;
  const std::string_view what = text_of(kind);
  kymo_arg args[3] = {{"kind", {}, static_cast<uint32_t>(what.size()), KYMO_STRING},
                      {"id", {}, 0, KYMO_POINTER},
                      {"name", {}, static_cast<uint32_t>(text.view().size()), KYMO_STRING}};
  args[0].value.as_text = what.data();
  args[1].value.as_uint = id;
  args[2].value.as_text = text.view().data();
  store_with_args(record::Kind::Instant, default_domain, "name of {kind}: {name}", args, 3);
}

using enum Resource;

template <Resource kKind, class Character>
void name_object(std::conditional_t<kKind == CudaDevice || kKind == CudaRuntimeDevice, int, const void*> id,
                 const Character* text) noexcept {
  name(kKind, (uint64_t)id, Text(text));
}

// Two functions for each kind of object: for narrow and wide strings.
template <Resource... kKinds>
std::span<const Handler> naming_handlers() noexcept {
  static const auto all = [] {
    std::array<Handler, 1 + 2 * sizeof...(kKinds)> made{};
    size_t at = 0;
    ((made[++at] = always(name_object<kKinds, char>), made[++at] = always(name_object<kKinds, wchar_t>)), ...);
    return made;
  }();
  return all;
}

enum ResourceClass : int32_t { kGeneric = 1, kClassCuda = 4, kClassCudaRuntime = 5, kClassOpenCl = 6 };
inline constexpr int32_t kNativeThread = 3;  // the index of a generic resource

Resource kind_of_identifier(int32_t type) noexcept {
  const int32_t index = type & 0xffff;
  switch (type >> 16) {
    case kClassCuda:
      return index >= 1 && index <= 4 ? static_cast<Resource>(static_cast<int32_t>(CudaDevice) + index - 1) : Other;
    case kClassCudaRuntime:
      return index >= 0 && index <= 2 ? static_cast<Resource>(static_cast<int32_t>(CudaRuntimeDevice) + index) : Other;
    case kClassOpenCl:
      return index >= 1 && index <= 7 ? static_cast<Resource>(static_cast<int32_t>(OpenClDevice) + index - 1) : Other;
    default:
      return Other;
  }
}

const void* create_resource(Domain*, const ResourceAttributes* given) noexcept {
  static const char handle = 0;  // of all resources: they only have names
  if (given == nullptr) return nullptr;
  ResourceAttributes known{};
  memcpy(&known, given, std::min<size_t>(std::max<size_t>(given->size, 2 * sizeof given->size), sizeof known));
  const Text text(known.message_type, known.message);
  const int32_t index = known.identifier_type & 0xffff;
  const bool is_thread = known.identifier_type >> 16 == kGeneric && index == kNativeThread;
  if (is_thread) {
    name_thread(static_cast<uint32_t>(known.identifier), text.c_str());
  } else {
    name(kind_of_identifier(known.identifier_type), known.identifier, text);
  }
  return &handle;
}
void destroy_resource(const void*) noexcept {}

// ---- SYNC: locks and similar objects that a program implements itself ----------------------------------------------
// Waiting for the object is a range of the thread, "acquire NAME". Holding it is a range across threads, "hold NAME".

constexpr size_t kNameBytes = 256;

struct SyncObject {
  Domain* domain;
  char acquire[kNameBytes], hold[kNameBytes], failed[kNameBytes];
  std::atomic<uint64_t> held;  // the handle of the range; 0: not held
};

SyncObject* create_sync(Domain* domain, const SyncAttributes* given) noexcept {
  auto* const made = static_cast<SyncObject*>(calloc(1, sizeof(SyncObject)));
  if (made == nullptr || given == nullptr) return made;
  SyncAttributes known{};
  memcpy(&known, given, std::min<size_t>(std::max<size_t>(given->size, 2 * sizeof given->size), sizeof known));
  const Text text(known.message_type, known.message);
  const auto length = static_cast<int>(std::min(text.view().size(), kNameBytes));
  made->domain = &domain_of(domain);
  snprintf(made->acquire, kNameBytes, "acquire %.*s", length, text.view().data());
  snprintf(made->hold, kNameBytes, "hold %.*s", length, text.view().data());
  snprintf(made->failed, kNameBytes, "failed to acquire %.*s", length, text.view().data());
  return made;
}

void destroy_sync(SyncObject* object) noexcept { free(object); }

void acquire_start(SyncObject* object) noexcept {
  if (object != nullptr && record::recording()) begin_on_stack(*object->domain, object->acquire, kSyncStack);
}
void acquire_end() noexcept {
  if (record::recording()) end_on_stack(kSyncStack);
}
void acquire_failed(SyncObject* object) noexcept {
  if (object == nullptr) return;
  acquire_end();
  mark(*object->domain, object->failed);
}
void acquire_success(SyncObject* object) noexcept {
  if (object == nullptr) return;
  acquire_end();
  object->held.store(start_range(*object->domain, object->hold), std::memory_order_relaxed);
}
void releasing(SyncObject* object) noexcept {
  if (object == nullptr) return;
  if (const uint64_t handle = object->held.exchange(0, std::memory_order_relaxed); handle != 0) end_range(handle);
}

// ---- Tables --------------------------------------------------------------------------------------------------------

const Handler kCoreHandlers[] = {{},
                                 while_active(mark_ex),
                                 while_active(mark_text<char>),
                                 while_active(mark_text<wchar_t>),
                                 while_active(start_ex),
                                 while_active(start_text<char>),
                                 while_active(start_text<wchar_t>),
                                 while_active(end_range),
                                 while_active(push_ex),
                                 while_active(push_ascii),
                                 while_active(push_wide),
                                 while_active(pop_default),
                                 always(name_default_category<char>),
                                 always(name_default_category<wchar_t>),
                                 always(name_thread),
                                 always(name_thread_wide)};

const Handler kCore2Handlers[] = {{},
                                  while_active(domain_mark),
                                  while_active(domain_start),
                                  while_active(domain_end),
                                  while_active(domain_push),
                                  while_active(domain_pop),
                                  always(create_resource),
                                  always(destroy_resource),
                                  always(domain_category<char>),
                                  always(domain_category<wchar_t>),
                                  always(domain_string<char>),
                                  always(domain_string<wchar_t>),
                                  always(create<char>),
                                  always(create<wchar_t>),
                                  always(destroy),
                                  always(initialize)};

const Handler kSyncHandlers[] = {{},
                                 always(create_sync),
                                 always(destroy_sync),
                                 while_active(acquire_start),
                                 while_active(acquire_failed),
                                 while_active(acquire_success),
                                 while_active(releasing)};

}  // namespace

std::span<const Handler> handlers_of(uint32_t module) noexcept {
  switch (module) {
    case kCore:
      return kCoreHandlers;
    case kCore2:
      return kCore2Handlers;
    case kCuda:
      return naming_handlers<CudaDevice, CudaContext, CudaStream, CudaEvent>();
    case kCudaRuntime:
      return naming_handlers<CudaRuntimeDevice, CudaRuntimeStream, CudaRuntimeEvent>();
    case kOpenCl:
      return naming_handlers<OpenClDevice, OpenClContext, OpenClQueue, OpenClMemory, OpenClSampler, OpenClProgram,
                             OpenClEvent>();
    case kSync:
      return kSyncHandlers;
    default:
      return {};
  }
}

}  // namespace kymo::inject::nvtx
