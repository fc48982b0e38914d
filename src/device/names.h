// Texts that stay: a trace may mention a kernel after its library is gone.
#pragma once

#include <string_view>

#include "kymo/annotate.h"

namespace kymo::device {

// The same text, for as long as the process lives. Any thread.
std::string_view keep_name(std::string_view name);

// The site of a kernel's executions, one for each name, for as long as the process lives.
Site& keep_kernel_site(std::string_view name);

}  // namespace kymo::device
