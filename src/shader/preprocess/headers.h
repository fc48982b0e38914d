// The headers that shaders may include without bringing them.
//
//   <metal_stdlib> and its parts (metal_math, metal_atomic, …): nothing to read, as all of it is always there.
//   <c10/metal/*.h>: the helpers people know from PyTorch, written here (library/c10/).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace kymo::shader {

// The text of a header; empty text for one whose content is always there; nothing for one that there is not.
std::optional<std::string_view> builtin_header(std::string_view name);
std::vector<std::string_view> builtin_header_names();

// What every translation begins with: namespace metal, written in Metal (library/stdlib*.metal), in reading order.
std::vector<std::string_view> standard_library();

}  // namespace kymo::shader
