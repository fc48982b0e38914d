// Annotations beside those of kymo/kymo.h: ranges that nest on a stack of their own, beside the pushed ranges of the
// thread (the domains of other interfaces), and a shorter way to push a range that nobody receives.
//
// For libraries that offer such an interface (the Python package, for NVTX domains). The numbers are theirs, from
// kFirstLibraryStack on; lower numbers belong to the adapters in the same process.
#pragma once

#include <cstdint>

#include "kymo/kymo.h"

namespace kymo::record {

inline constexpr uint16_t kFirstLibraryStack = 0x8000;
inline constexpr uint16_t kLastLibraryStack = 0xf000;
inline constexpr uint16_t kFunctionStack = 0xf001;  // the functions of an interpreter

// Sends a range to `receivers`, the bits of KYMO_MODE_HEARD. Pass the same value at its end. Does nothing if it is 0.
// Called from any thread, at any time, as the functions of kymo/kymo.h.
KYMO_API void begin_on_stack(const kymo_label& label, const kymo_arg* args, uint32_t count, uint16_t stack,
                             uint32_t receivers) noexcept;
KYMO_API void end_on_stack(uint16_t stack, uint32_t receivers) noexcept;

// The same for a site, which looks up its class only once: for recordings alone, not for sinks. Does nothing if nothing
// records.
KYMO_API void begin_site_on_stack(kymo_site& site, uint16_t stack) noexcept;
KYMO_API void end_site_on_stack(uint16_t stack) noexcept;

// kymo_range_push_label of a range that nobody receives: only the depth counts. For callers that have seen that
// KYMO_MODE_HEARD is 0 and save the work of making a label. If a recording begins meanwhile, the range began before it.
KYMO_API int push_unheard() noexcept;

}  // namespace kymo::record
