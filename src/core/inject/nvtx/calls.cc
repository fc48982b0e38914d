// The functions that a program calls through the slots of the modules CORE and CORE2.
#include "inject/nvtx/chain.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/hot_path.h"
#include "inject/nvtx/message.h"
#include "inject/nvtx/thread_state.h"

namespace kymo::inject::nvtx {
namespace {

using Event = const EventAttributes*;

// ---- CORE ----------------------------------------------------------------------------------------------------------

void mark_ex(Event event) noexcept { mark(default_domain, event); }
void mark_ascii(const char* text) noexcept { mark(default_domain, Text(text).view()); }
void mark_wide(const wchar_t* text) noexcept { mark(default_domain, Text(text).view()); }
uint64_t start_ex(Event event) noexcept { return start_range(default_domain, event); }
uint64_t start_ascii(const char* text) noexcept { return start_range(default_domain, Text(text).view()); }
uint64_t start_wide(const wchar_t* text) noexcept { return start_range(default_domain, Text(text).view()); }
void end(uint64_t id) noexcept { end_range(id); }
int push_ex(Event event) noexcept { return push_event_quickly(default_domain, event); }
int push_ascii(const char* text) noexcept { return push_text_quickly(default_domain, text); }
int push_wide(const wchar_t* text) noexcept {
  const Text message(text);  // on the stack: another text may be at its address the next time
  return push_text(default_domain, message.c_str());
}
int pop_default() noexcept { return pop_quickly(default_domain); }
void name_category_ascii(uint32_t number, const char* name) noexcept {
  name_category(default_domain, number, Text(name).view());
}
void name_category_wide(uint32_t number, const wchar_t* name) noexcept {
  name_category(default_domain, number, Text(name).view());
}
void name_thread_ascii(uint32_t tid, const char* name) noexcept { name_thread(tid, name); }
void name_thread_wide(uint32_t tid, const wchar_t* name) noexcept {
  if (name != nullptr) name_thread(tid, Text(name).c_str());
}

// ---- CORE2 ---------------------------------------------------------------------------------------------------------

void domain_mark(Domain* domain, Event event) noexcept { mark(domain_of(domain), event); }
uint64_t domain_start(Domain* domain, Event event) noexcept { return start_range(domain_of(domain), event); }
void domain_end(Domain*, uint64_t id) noexcept { end_range(id); }
int domain_push(Domain* domain, Event event) noexcept { return push_event_quickly(domain_of(domain), event); }
int domain_pop(Domain* domain) noexcept { return pop_quickly(domain_of(domain)); }
void domain_category_ascii(Domain* domain, uint32_t number, const char* name) noexcept {
  name_category(domain_of(domain), number, Text(name).view());
}
void domain_category_wide(Domain* domain, uint32_t number, const wchar_t* name) noexcept {
  name_category(domain_of(domain), number, Text(name).view());
}
RegisteredString* domain_string_ascii(Domain* domain, const char* text) noexcept {
  return register_string(domain_of(domain), Text(text).view());
}
RegisteredString* domain_string_wide(Domain* domain, const wchar_t* text) noexcept {
  return register_string(domain_of(domain), Text(text).view());
}
Domain* create_ascii(const char* name) noexcept { return create_domain(Text(name).view()); }
Domain* create_wide(const wchar_t* name) noexcept { return create_domain(Text(name).view()); }
void destroy(Domain*) noexcept {}  // another image may use it, and its strings may still be in use
void initialize(const void*) noexcept {}

const Handler kCoreHandlers[] = {{},
                                 while_active(mark_ex),
                                 while_active(mark_ascii),
                                 while_active(mark_wide),
                                 while_active(start_ex),
                                 while_active(start_ascii),
                                 while_active(start_wide),
                                 while_active(end),
                                 while_active(push_ex),
                                 while_active(push_ascii),
                                 while_active(push_wide),
                                 while_active(pop_default),
                                 always(name_category_ascii),
                                 always(name_category_wide),
                                 always(name_thread_ascii),
                                 always(name_thread_wide)};

const Handler kCore2Handlers[] = {{},
                                  while_active(domain_mark),
                                  while_active(domain_start),
                                  while_active(domain_end),
                                  while_active(domain_push),
                                  while_active(domain_pop),
                                  resource_create_handler(),
                                  resource_destroy_handler(),
                                  always(domain_category_ascii),
                                  always(domain_category_wide),
                                  always(domain_string_ascii),
                                  always(domain_string_wide),
                                  always(create_ascii),
                                  always(create_wide),
                                  always(destroy),
                                  always(initialize)};

}  // namespace

namespace {

std::span<const Handler> our_handlers(uint32_t module) noexcept {
  switch (module) {
    case kCore:
      return kCoreHandlers;
    case kCore2:
      return kCore2Handlers;
    case kCuda:
      return cuda_handlers();
    case kCudaRuntime:
      return cuda_runtime_handlers();
    case kOpenCl:
      return opencl_handlers();
    case kSync:
      return sync_handlers();
    default:
      return {};
  }
}

}  // namespace

std::span<const Handler> handlers_of(uint32_t module) noexcept {
  const std::span<const Handler> ours = our_handlers(module);
  return has_chained_tool() ? chained_handlers(module, ours) : ours;
}

}  // namespace kymo::inject::nvtx
