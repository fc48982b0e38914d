// How a struct becomes something else, or something else a struct.
#pragma once

#include "shader/sema/sema.h"

namespace kymo::shader {

struct Meaning::UserConversion {
  bool by_constructor = false;
  const Symbol* symbol = nullptr;  // else: the operator
  TemplateArguments arguments;
};

}  // namespace kymo::shader
