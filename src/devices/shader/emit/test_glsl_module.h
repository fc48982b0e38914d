// Modules for tests of the GLSL emitter, in few words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shader/emit/emit.h"
#include "shader/ir/ir.h"
#include "shader/test_support/test_builder.h"

namespace kymo::shader::glsl_tests {

using ir::BindingKind;
using ir::Block;
using ir::Function;
using ir::Intrinsic;
using ir::Operator;
using ir::Variable;
using Value = const ir::Expression*;

class GlslModule : public ir::TestBuilder {
 public:
  GlslModule() : TestBuilder(own_) {}

  const Type* number(TypeKind kind, uint32_t count = 1) { return count == 1 ? type(kind) : vector(kind, count); }
  const Type* array(const Type* element, uint32_t count) { return types().array(element, count); }
  const Type* structure(std::string name, std::vector<Field> fields) {
    Type* made = types().make_struct(std::move(name), nullptr);
    types().complete(*made, std::move(fields));
    return made;
  }
  const Type* to(const Type* pointee, Space space = Space::Device) { return types().pointer(pointee, space); }

  Variable& buffer(Function& kernel, std::string name, const Type* of) {
    return binding(kernel, std::move(name), BindingKind::Buffer, to(of));
  }
  Variable& constant_value(Function& kernel, std::string name, const Type* of) {
    return binding(kernel, std::move(name), BindingKind::Value, of);
  }
  Variable& group_memory(Function& kernel, std::string name, const Type* of) {
    return binding(kernel, std::move(name), BindingKind::Threadgroup, to(of, Space::Threadgroup));
  }
  Variable& shared(std::string name, const Type* of) {
    return own_.make_variable(std::move(name), of, Space::Threadgroup);
  }

  Value v(const Variable& of) { return variable(of); }
  Value i(int32_t value) { return constant_int(value); }
  Value u(uint32_t value) { return constant_uint(value); }
  Value f(float value) { return constant_float(value); }
  Value add(Value a, Value b) { return binary(Operator::Add, a, b); }
  Value sub(Value a, Value b) { return binary(Operator::Subtract, a, b); }
  Value mul(Value a, Value b) { return binary(Operator::Multiply, a, b); }
  Value div(Value a, Value b) { return binary(Operator::Divide, a, b); }
  Value rem(Value a, Value b) { return binary(Operator::Remainder, a, b); }
  Value lt(Value a, Value b) { return binary(Operator::Less, a, b); }
  Value gt(Value a, Value b) { return binary(Operator::Greater, a, b); }
  Value eq(Value a, Value b) { return binary(Operator::Equal, a, b); }
  Value ne(Value a, Value b) { return binary(Operator::NotEqual, a, b); }
  Value thread() { return index(intrinsic(Intrinsic::GridPosition), 0); }
  Value as(TypeKind kind, Value value) { return convert(types().with_scalar(value->type, type(kind)), value); }
  ir::Statement* set(Value place, Value value) { return assign(place, value); }
  ir::Statement* increase(const Variable& variable_, Value by) { return assign(v(variable_), add(v(variable_), by)); }

 private:
  ir::Module own_;
};

}  // namespace kymo::shader::glsl_tests
