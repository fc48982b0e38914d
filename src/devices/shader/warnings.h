// Warnings about sources that translate, but may not do what their author expects.
#pragma once

#include <cstdint>
#include <vector>

#include "kymo/translate.h"
#include "shader/diagnostic.h"
#include "shader/ir/ir.h"
#include "shader/parse/ast.h"

namespace kymo::shader {

// Attributes of the source that the translator does not know: they have no effect.
void warn_about_attributes(const ast::Tree& tree, uint32_t user_file, Diagnostics& diagnostics);

// Barriers that some threads of a group may not reach: on some devices the others wait for them forever. The module is
// as analyze() made it.
void warn_about_barriers(const ir::Module& module, Diagnostics& diagnostics);

// Kernels that declare more group memory than Metal allows, and than many devices have.
void warn_about_group_memory(const ir::Module& module, const std::vector<Kernel>& kernels, Diagnostics& diagnostics);

}  // namespace kymo::shader
