// Records the events of NVTX: from a domain and a message to records in the ring of the calling thread.
//
// All functions may be called from any thread, also in a signal handler, and at any time. If nothing records they only
// keep the depths.
#pragma once

#include <cstdint>
#include <string_view>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/domain.h"
#include "kymo/kymo.h"
#include "record/layout.h"

namespace kymo::inject::nvtx {

// Nested ranges. Return the depth on this thread and in this domain; kNoTracking if there is no memory.
int push_text(Domain& domain, const char* text) noexcept;
int push_event(Domain& domain, const EventAttributes* event) noexcept;
int pop(Domain& domain) noexcept;

// Ranges across threads. The id is unique in the process and never 0.
uint64_t start_range(Domain& domain, std::string_view text) noexcept;
uint64_t start_range(Domain& domain, const EventAttributes* event) noexcept;
void end_range(uint64_t handle) noexcept;

void mark(Domain& domain, std::string_view text) noexcept;
void mark(Domain& domain, const EventAttributes* event) noexcept;

// An event with arguments. `name` is a name of Kymo: it may have places for them. Only while recording.
void store_with_args(record::Kind kind, Domain& domain, std::string_view name, const kymo_arg* args, uint32_t count,
                     uint64_t handle = 0, uint32_t colour = 0) noexcept;

// A nested range on a stack of its own. Only while recording.
inline constexpr uint16_t kSyncStack = record::kAnyStack - 1;
void begin_on_stack(Domain& domain, std::string_view text, uint16_t stack) noexcept;
void end_on_stack(uint16_t stack) noexcept;

// A call although nothing records: the adapter becomes dormant.
void idle_call() noexcept;

}  // namespace kymo::inject::nvtx
