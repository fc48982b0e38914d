// Reads manifest.json.
#pragma once

#include <string_view>

#include "capture/manifest.h"

namespace kymo::capture {

// Throws Error if it is damaged, has another version, or names files that a capture does not have.
Manifest parse_manifest(std::string_view untrusted);

}  // namespace kymo::capture
