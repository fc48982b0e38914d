// How Kymo's own device runtime and Kymo's OpenCL layer recognize each other in one process.
#pragma once

namespace kymo::base {

// The layer answers a query for the extension function of this name. No driver has it. Its type is void
// (*)(cl_context). The runtime calls it for each of its contexts: what happens there is not recorded by the layer,
// because the runtime records it itself.
inline constexpr const char* kExcludeContext = "clExcludeContextKYMO";

}  // namespace kymo::base
