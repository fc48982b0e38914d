// A module in a dialect of C.
#pragma once

#include "shader/emit/c_dialect.h"
#include "shader/emit/emit.h"

namespace kymo::shader {

Emitted emit_c(const ir::Module& module, CDialect& dialect);

}  // namespace kymo::shader
