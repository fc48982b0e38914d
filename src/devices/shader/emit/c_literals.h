// Numbers that C reads back exactly to the last bit, and the constants of a program.
#pragma once

#include "shader/emit/c_types.h"

namespace kymo::shader {

// In value form: 2.5f, (uchar)7, -2147483647 - 1.
CText c_constant(const CDialect& dialect, const Type* scalar, uint64_t bits);

// The text after `=` in the definition of a program constant (see declaration()), in memory form. Throws Rejected if
// the value is not allowed there.
std::string c_initializer(CDialect& dialect, CTypes& types, const ir::Expression& value);

}  // namespace kymo::shader
