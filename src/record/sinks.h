// Annotations to sinks: kymo/sink.h. What is called here is off the hot path, which only tests a bit.
//
// Any thread, any time, as all of record: no allocation but a page a thread, no locks of ours, no exceptions. Sinks may
// be slower. Kymo's own threads send nothing but signposts.
#pragma once

#include <cstdint>

#include "kymo/sink_calls.h"
#include "record/process.h"

namespace kymo::record {

// Pushed ranges by their depth, scopes by themselves.
void send_push(const kymo_label& label, const kymo_arg* args, uint32_t count, int depth) noexcept;
void send_pop(int depth) noexcept;
void send_scope(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
void send_scope_end() noexcept;

// Which sinks would hear a range that is started now; the handle carries them (numbers.h).
uint32_t sinks_for_start() noexcept;
void send_start(const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t handle) noexcept;
void send_end(uint64_t handle) noexcept;

void send_mark(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
void send_counter(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;

// The sink of this name in the process's table, of whatever copy of the library it is; null: none. `on` says whether it
// is on.
const kymo_sink* sink_named(const char* name, bool& on) noexcept;

// The thread-exit hook, and what a forked child does: it ends nothing that its parent began.
void release_sent(void* sent) noexcept;
void leave_parents_sinks(Process&) noexcept;

}  // namespace kymo::record
