// The words that cannot be names in a GLSL text.
#pragma once

#include "shader/emit/names.h"

namespace kymo::shader::glsl {

Reserved reserved_words();

}  // namespace kymo::shader::glsl
