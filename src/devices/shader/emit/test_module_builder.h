// Builds modules for the tests of emitters, a statement at a time.
#pragma once

#include <string>
#include <utility>

#include "shader/test_support/test_builder.h"

namespace kymo::shader::test {

using ir::BindingKind;
using ir::Builder;
using ir::Intrinsic;
using ir::Operator;
using ir::TestBuilder;

// With a kernel and the number of its thread, `i`.
class ModuleBuilder : public TestBuilder {
 public:
  explicit ModuleBuilder(ir::Module& module, std::string name = "test")
      : TestBuilder(module), kernel(TestBuilder::kernel(std::move(name))) {}

  const Type* pointer(const Type* to, Space space = Space::Device) { return types().pointer(to, space); }
  const Type* pointer(TypeKind to, Space space = Space::Device) { return pointer(type(to), space); }
  Value buffer(std::string name, const Type* of, Space space = Space::Device) {
    return variable(binding(kernel, std::move(name), BindingKind::Buffer, pointer(of, space)));
  }
  Value buffer(std::string name, TypeKind of) { return buffer(std::move(name), type(of)); }
  Value given(std::string name, const Type* type) {
    return variable(binding(kernel, std::move(name), BindingKind::Value, type));
  }
  // A variable of the kernel, declared.
  Value let(std::string name, Value value) { return let(std::move(name), value->type, value); }
  Value let(std::string name, const Type* type, Value value = nullptr) {
    ir::Variable& made = local(std::move(name), type);
    kernel.body.push_back(declare(made, value));
    return variable(made);
  }
  Value group_array(std::string name, const Type* type) {
    ir::Variable& made = module().make_variable(std::move(name), type, Space::Threadgroup);
    kernel.body.push_back(declare(made));
    return variable(made);
  }
  Value thread() { return let("i", position(Intrinsic::GridPosition, 0)); }
  Value position(Intrinsic which, int32_t component) { return index(intrinsic(which), component); }
  void put(Value place, Value value) { kernel.body.push_back(assign(place, value)); }
  void add(ir::Statement* statement) { kernel.body.push_back(statement); }
  Value number(int64_t value) { return constant_int(value); }
  Value plus(Value a, Value b) { return binary(Operator::Add, a, b); }
  Value times(Value a, Value b) { return binary(Operator::Multiply, a, b); }
  Value less(Value a, Value b) { return binary(Operator::Less, a, b); }

  ir::Function& kernel;
};

}  // namespace kymo::shader::test
