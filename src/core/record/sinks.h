// Sends annotations to sinks: kymo/sink.h. These functions are not on the hot path, which only tests a bit.
//
// Any thread may call them at any time, as everything in record: no allocation except one page per thread, no locks of
// Kymo, no exceptions. Sinks may be slower. Kymo's own threads send only signposts.
#pragma once

#include <cstdint>

#include "kymo/sink_calls.h"
#include "record/process.h"

namespace kymo::record {

// Pushed ranges are identified by their depth; scopes remember their own state.
void send_push(const kymo_label& label, const kymo_arg* args, uint32_t count, int depth) noexcept;
void send_pop(int depth) noexcept;
void send_scope(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
void send_scope_end() noexcept;

// The sinks that get a range that is started now. Its handle contains them (numbers.h).
uint32_t sinks_for_start() noexcept;
void send_start(const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t handle) noexcept;
void send_end(uint64_t handle) noexcept;

void send_mark(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
void send_counter(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;

// The sink with this name in the table of the process, from any copy of the library; null: not found. `on` is set to
// its state.
const kymo_sink* sink_named(const char* name, bool& on) noexcept;

// The thread-exit hook, and the handler in a forked child: the child does not end ranges that its parent started.
void release_sent(void* sent) noexcept;
void leave_parents_sinks(Process&) noexcept;

}  // namespace kymo::record
