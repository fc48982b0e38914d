// The built-in headers, which shaders can include without passing them.
//
//   <metal_stdlib> and its parts (metal_math, metal_atomic, …): empty, because all of it is always available.
//   <c10/metal/*.h>: the helpers known from PyTorch, written here (library/c10/).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace kymo::shader {

// The text of a header; an empty text if its content is always available; empty optional if there is no such header.
std::optional<std::string_view> builtin_header(std::string_view name);
std::vector<std::string_view> builtin_header_names();  // of those with a text

// The beginning of every translation: namespace metal, written in Metal (library/stdlib*.metal), in reading order.
std::vector<std::string_view> standard_library_texts();

}  // namespace kymo::shader
