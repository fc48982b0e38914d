// The standard library of Metal, parsed. It is read once in a process; each translation continues from here.
#pragma once

#include "shader/diagnostic.h"
#include "shader/parse/ast.h"
#include "shader/parse/parser.h"

namespace kymo::shader {

struct StandardLibrary {
  const SourceFiles& files;
  const ast::Tree& tree;
  const Parser& parser;  // knows the names
};

// Nothing of it changes any more, so any thread may use it. It exists to the end of the process.
const StandardLibrary& standard_library();

}  // namespace kymo::shader
