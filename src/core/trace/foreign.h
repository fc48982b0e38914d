// Describes a file that is not a trace, and what to do with it: the end of an error message.
#pragma once

#include <string>

#include "base/bytes.h"

namespace kymo::trace {

// From the first bytes of the file. For example "it looks like gzip: unpack it first (gzip -d)".
std::string describe_foreign(base::Bytes beginning);

}  // namespace kymo::trace
