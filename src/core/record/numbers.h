// Numbers that are unique in the process, for ranges across threads and for correlations. Each thread takes them in
// blocks, so that one costs about an addition. Safe in a signal handler.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// Never 0.
uint64_t next_number() noexcept;

// A handle contains the recording in which its range was started, if any. An end in another recording is ignored, and
// is not a loss. A handle also contains the sinks that received the start, one bit each (sinks.h).
uint64_t next_handle(bool recorded, uint32_t sinks = 0) noexcept;
uint32_t sinks_of_handle(uint64_t handle) noexcept;
// False: it is from the parent process, or was never given out.
bool is_own_handle(const Process&, uint64_t handle) noexcept;

enum class HandleOrigin : uint8_t { ThisRecording, NotThisRecording, Unknown };
HandleOrigin origin_of_handle(const Process&, uint64_t handle) noexcept;

}  // namespace kymo::record
