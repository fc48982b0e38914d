// Formats a label with its arguments as text: "step {}" and 7 give "step 7". A reader of a trace gives the same text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kymo/kymo.h"

namespace kymo::record {

inline constexpr size_t kLabelTextBytes = 512;  // with the NUL

// Arguments fill their places (base/name_places.h); others are omitted. A longer text is truncated, but not inside a
// UTF-8 character. The result is NUL-terminated; a NUL inside becomes a blank. Returns its length. Does not allocate,
// and does not depend on the locale.
size_t label_text(const kymo_label& label, const kymo_arg* args, uint32_t count,
                  char (&text)[kLabelTextBytes]) noexcept;

// The value of a counter: its argument "value", or its first one; 0 if that is not a number.
double counter_value(const kymo_arg* args, uint32_t count) noexcept;

}  // namespace kymo::record
