// How a struct is converted to another type, or another type to a struct.
#pragma once

#include "shader/sema/sema.h"

namespace kymo::shader {

struct Meaning::UserConversion {
  bool by_constructor = false;
  const Symbol* symbol = nullptr;  // else: the operator
  TemplateArguments arguments;
};

}  // namespace kymo::shader
