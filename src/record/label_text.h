// A label with its arguments in place, as a text: "step {}" and 7 give "step 7", just as a trace's reader puts it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kymo/kymo.h"

namespace kymo::record {

inline constexpr size_t kLabelTextBytes = 512;  // with the NUL

// Unnamed arguments fill the places; named ones are left out. What is longer is cut, not inside a UTF-8 character.
// NUL-terminated; a NUL within shows as a blank. Returns its length. Neither allocates nor depends on the locale.
size_t label_text(const kymo_label& label, const kymo_arg* args, uint32_t count,
                  char (&text)[kLabelTextBytes]) noexcept;

// What a counter carries: its argument "value", or its first; 0 where that is no number.
double counter_value(const kymo_arg* args, uint32_t count) noexcept;

}  // namespace kymo::record
