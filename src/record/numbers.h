// Numbers that are unique in the process, for ranges across threads and for correlations: taken by each thread in runs,
// so that one costs about an addition. Safe in a signal handler.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// Never 0.
uint64_t next_number() noexcept;

// A handle says in which recording its range was started, if in one: an end in another one is none of its business, and
// no loss. It also says which sinks heard it, a bit each (sinks.h).
uint64_t next_handle(bool recorded, uint32_t sinks = 0) noexcept;
uint32_t sinks_of_handle(uint64_t handle) noexcept;
// False: of the process that forked this one, or never given.
bool is_own_handle(const Process&, uint64_t handle) noexcept;

enum class HandleOrigin : uint8_t { ThisRecording, NotThisRecording, Unknown };
HandleOrigin origin_of_handle(const Process&, uint64_t handle) noexcept;

}  // namespace kymo::record
