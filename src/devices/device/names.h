// Texts that stay valid: a trace may contain the name of a kernel after its library is gone.
#pragma once

#include <string_view>

#include "kymo/annotate.h"

namespace kymo::device {

// A copy of the text that lives as long as the process. Thread-safe.
std::string_view keep_name(std::string_view name);

// The site for the executions of a kernel, one per name. It lives as long as the process.
Site& keep_kernel_site(std::string_view name);

}  // namespace kymo::device
