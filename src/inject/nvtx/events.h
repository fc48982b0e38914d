// Records the events of NVTX: from a domain and a message to records in the ring of the calling thread.
//
// All functions may be called from any thread, also in a signal handler, and at any time. If nothing records they only
// keep the depths.
#pragma once

#include <string.h>

#include <cstdint>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/thread_state.h"
#include "record/interfaces.h"
#include "record/name_cache.h"
#include "record/store.h"

namespace kymo::inject::nvtx {

// ---- Slow paths ----------------------------------------------------------------------------------------------------

// Store an event in every case. `kind`: Begin, Instant or AsyncBegin, which has a handle. A pushed range goes to the
// stack of its domain.
void store_text(record::Kind kind, Domain& domain, std::string_view text, uint64_t handle) noexcept;
void store_attributes(record::Kind kind, Domain& domain, const EventAttributes* event, uint64_t handle) noexcept;
// The same for an event with arguments. `name` may have places for them. `name` is a name of Kymo.
void store_with_args(record::Kind kind, Domain& domain, std::string_view name, const kymo_arg* args, uint32_t count,
                     uint64_t handle = 0, uint32_t colour = 0) noexcept;
// A nested range on a stack of its own.
inline constexpr uint16_t kSyncStack = record::kAnyStack - 1;
void store_on_stack(Domain& domain, std::string_view text, uint16_t stack) noexcept;
int store_pushed_text(Domain& domain, const char* text, int depth) noexcept;
int store_pushed(Domain& domain, const EventAttributes* event, int depth) noexcept;
int store_popped(Domain& domain, int depth) noexcept;
int pop_without_push() noexcept;
void store_end(uint64_t handle) noexcept;

// A call although nothing records: the adapter becomes dormant.
void idle_call() noexcept;

// ---- Nested ranges -------------------------------------------------------------------------------------------------

// One cell in the ring, and the count.
__attribute__((always_inline)) inline bool try_cell(record::Slot* slot, record::Kind kind, uint32_t word) noexcept {
  if (!record::try_store<0>(slot, kind, word, nullptr)) return false;
  record::count_delivered(*slot, record::Interface::Nvtx);
  return true;
}

// The class of a text that this thread used recently in this domain; 0: not known.
__attribute__((always_inline)) inline uint32_t known_class(record::Slot* slot, const Domain& domain,
                                                           const char* text) noexcept {
  const kymo_label label{text, nullptr, static_cast<uint32_t>(strlen(text)), 0, 0};
  const record::Ends ends = record::ends_of(text, label.name_length);
  const record::CachedName& place =
      record::place_of(*reinterpret_cast<record::SlotPage*>(slot), ends, label.name_length, domain.signature);
  return record::class_in(place, label, ends, domain.signature);
}

__attribute__((always_inline)) inline int push_text(Domain& domain, const char* text) noexcept {
  ThreadState* const state = state_for(domain.index);
  if (__builtin_expect(state == nullptr, 0)) return kNoTracking;
  const int depth = state->depth(domain.index)++;
  record::Slot* const slot = record::this_slot;
  if (__builtin_expect(slot != nullptr && text != nullptr && record::recording() && domain.stack != 0, 1)) {
    const uint32_t id = known_class(slot, domain, text);
    if (__builtin_expect(id != 0 && try_cell(slot, record::Kind::Begin, record::on_stack(id, domain.stack)), 1))
      return depth;
  }
  return store_pushed_text(domain, text, depth);
}

// True if the event is only a registered string: then its class is known without a lookup.
inline bool is_only_string(const EventAttributes* event) noexcept {
  return event != nullptr && event->size >= sizeof *event && event->message_type == kRegistered &&
         event->message.registered != nullptr &&
         (event->category | static_cast<uint32_t>(event->colour_type) | static_cast<uint32_t>(event->payload_type)) ==
             0;
}
inline bool is_only_text(const EventAttributes* event) noexcept {
  return event != nullptr && event->size >= sizeof *event && event->message_type == kAscii &&
         (event->category | static_cast<uint32_t>(event->colour_type) | static_cast<uint32_t>(event->payload_type)) ==
             0;
}

__attribute__((always_inline)) inline int push_event(Domain& domain, const EventAttributes* event) noexcept {
  if (is_only_text(event)) return push_text(domain, event->message.ascii);
  ThreadState* const state = state_for(domain.index);
  if (__builtin_expect(state == nullptr, 0)) return kNoTracking;
  const int depth = state->depth(domain.index)++;
  record::Slot* const slot = record::this_slot;
  if (__builtin_expect(slot != nullptr && is_only_string(event) && record::recording() && domain.stack != 0, 1)) {
    const uint32_t id = event->message.registered->site.class_id.load(std::memory_order_relaxed);
    if (__builtin_expect(id - 1 < record::kInlineSite - 1, 1) &&
        try_cell(slot, record::Kind::Begin, record::on_stack(id, domain.stack)))
      return depth;
  }
  return store_pushed(domain, event, depth);
}

__attribute__((always_inline)) inline int pop(Domain& domain) noexcept {
  ThreadState* const state = state_for(domain.index);
  if (__builtin_expect(state == nullptr, 0)) return kNoTracking;
  if (__builtin_expect(state->depth(domain.index) == 0, 0)) return pop_without_push();
  const int depth = --state->depth(domain.index);
  record::Slot* const slot = record::this_slot;
  if (__builtin_expect(slot != nullptr && record::recording() && domain.stack != 0, 1) &&
      record::try_store<0>(slot, record::Kind::End, record::on_stack(0, domain.stack), nullptr))
    return depth;
  return store_popped(domain, depth);
}

// ---- Other events --------------------------------------------------------------------------------------------------

// The id is unique in the process and never 0.
uint64_t start_range(Domain& domain, std::string_view text) noexcept;
uint64_t start_range(Domain& domain, const EventAttributes* event) noexcept;
inline void end_range(uint64_t id) noexcept { store_end(id); }

void mark(Domain& domain, std::string_view text) noexcept;
void mark(Domain& domain, const EventAttributes* event) noexcept;

}  // namespace kymo::inject::nvtx
