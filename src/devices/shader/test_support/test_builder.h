// Builds functions, kernels and constants for tests. Lowering makes its own, with more in them.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "shader/ir/build.h"

namespace kymo::shader::ir {

class TestBuilder : public Builder {
 public:
  using Builder::Builder;

  Value element(Value pointer, Value position) {  // pointer[position]
    if (pointer->kind == ExpressionKind::Decay) return index(pointer->operands[0], position);
    return deref(pointer_add(pointer, position));
  }

  using Builder::member;
  Value member(Value structure, std::string_view field) {
    const auto& fields = structure->type->fields;
    uint32_t number = 0;
    while (number + 1 < fields.size() && fields[number].name != field) ++number;
    return member(structure, number);
  }

  // Created, and listed in the module.
  Function& function(std::string name, const Type* result) {
    Function& made = module().make_function(std::move(name));
    made.result = result;
    made.is_defined = true;
    made.at = at;
    module().functions.push_back(&made);
    return made;
  }
  Function& kernel(std::string name) {
    Function& made = function(name, type(TypeKind::Void));
    made.host_name = std::move(name);
    made.is_kernel = true;
    return made;
  }
  Variable& parameter(Function& function, std::string name, const Type* type) {
    Variable& made = module().make_variable(std::move(name), type);
    made.is_parameter = true;
    function.parameters.push_back(&made);
    return made;
  }
  // For a kernel: `type` is the type of the variable, a pointer except for a Value.
  Variable& binding(Function& kernel, std::string name, BindingKind kind, const Type* type) {
    Variable& made = parameter(kernel, std::move(name), type);
    Binding bound;
    bound.variable = &made;
    bound.kind = kind;
    for (const Binding& other : kernel.bindings)
      if ((other.kind == BindingKind::Threadgroup) == (kind == BindingKind::Threadgroup)) ++bound.index;
    bound.is_const = kind == BindingKind::Value || (type->is_pointer() && type->is_const);
    kernel.bindings.push_back(bound);
    return made;
  }
  Variable& program_constant(std::string name, Value value) {  // listed among the module's constants
    Variable& made = module().make_variable(std::move(name), value->type, Space::Program);
    made.value = value;
    module().constants.push_back(&made);
    return made;
  }
};

}  // namespace kymo::shader::ir
