// Whether the system can run a file, as far as its beginning says.
#pragma once

#include <string>

namespace kymo::cli {

// Throws CannotRun, as starting the file would: a damaged program, or an interpreter that is not there. `name` is what
// the user called it. A file that passes may still be refused when it is started.
void refuse_unrunnable(const std::string& path, const std::string& name);

}  // namespace kymo::cli
