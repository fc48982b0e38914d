// The files that `kymo shader` reads: the source, and the headers that it includes.
#pragma once

#include <string>
#include <vector>

#include "kymo/translate.h"

namespace kymo::cli {

// "-" is standard input. Throws Error if it cannot be read, or is too large for a source.
std::string read_source(const std::string& path);

// Finds a header first in the folder of the file that includes it, then in these folders. The result is for
// shader::Options::include.
decltype(shader::Options::include) headers_in(std::vector<std::string> folders);

}  // namespace kymo::cli
