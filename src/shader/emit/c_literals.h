// Numbers as C reads them back to the last bit, and the constants of a program.
#pragma once

#include "shader/emit/c_types.h"

namespace kymo::shader {

// In value form: 2.5f, (uchar)7, -2147483647 - 1.
CText c_constant(const CDialect& dialect, const Type* scalar, uint64_t bits);

// What stands behind `=` where a constant of the program is defined as declaration() does, in memory form. Throws
// Rejected where the value is not one that can stand there.
std::string c_initializer(CDialect& dialect, CTypes& types, const ir::Expression& value);

}  // namespace kymo::shader
