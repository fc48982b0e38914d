// How the work of a pipeline is called in the trace.
//
// By the name that the program gave to the pipeline, or to its shader. Otherwise by the function in the shader, if that
// is not just "main"; otherwise by a hash of the shader's code, which is the same in every run.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::inject::vulkan {

// The program has given a name to a pipeline that exists.
void rename_pipeline(uint64_t pipeline, std::string_view name);

}  // namespace kymo::inject::vulkan
