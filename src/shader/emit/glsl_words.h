// The words that a name in a GLSL text may not be.
#pragma once

#include "shader/emit/names.h"

namespace kymo::shader::glsl {

Reserved reserved_words();

}  // namespace kymo::shader::glsl
