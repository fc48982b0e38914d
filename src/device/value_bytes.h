// Numbers that a caller gave, as the bytes of a kernel's parameter. Pure.
//
// What cannot be done is returned as a text that says so: "300 does not fit u8". Empty: it was done.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "kymo/shader.h"

namespace kymo::device {

bool is_number(const KernelArgument& given);
std::string_view noun(const KernelArgument& given);  // "a tensor", "a list of numbers", …
std::string type_text(const Parameter& parameter);   // "f32", "4 of f32", "24 bytes"

// Where a value's number `index` lies in it: a vector of three has the room of four, in an array of them too.
size_t place_in_value(const Parameter& parameter, size_t index);

// One number, or a list of them that fills the value; `to` has the value's bytes, all 0. What reflection cannot tell is
// taken as it was given, if it has the right size.
[[nodiscard]] std::string store_value(const KernelArgument& given, const Parameter& parameter, std::byte* to);

// A list for a buffer, or one number: element by element as the kernel declares them, or as they were given where it
// does not say.
[[nodiscard]] std::string store_elements(const KernelArgument& given, const Parameter& parameter,
                                         std::vector<std::byte>& to);

}  // namespace kymo::device
