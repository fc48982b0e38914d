// The bytes of constants: tables that a kernel reads as another type are arrays of uint.
#pragma once

#include <string>

#include "shader/ir/ir.h"

namespace kymo::shader::glsl {

bool has_known_bytes(const ir::Variable& constant);
std::string words_text(const ir::Variable& constant);  // uint[](…); its bytes are known

}  // namespace kymo::shader::glsl
