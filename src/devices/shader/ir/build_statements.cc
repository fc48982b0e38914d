#include <utility>

#include "shader/ir/build.h"

namespace kymo::shader::ir {

Variable& Builder::local(std::string name, const Type* type) { return module_.make_variable(std::move(name), type); }

Statement* Builder::declare(const Variable& variable, Value value) {
  Statement& made = module_.make_statement(StatementKind::Declare, at);
  made.variable = &variable;
  made.value = value;
  return &made;
}

Statement* Builder::assign(Value place, Value value) {
  Statement& made = module_.make_statement(StatementKind::Assign, at);
  made.place = place;
  made.value = value;
  return &made;
}

Statement* Builder::evaluate(Value value) {
  Statement& made = module_.make_statement(StatementKind::Evaluate, at);
  made.value = value;
  return &made;
}

Statement* Builder::block(Block body) {
  Statement& made = module_.make_statement(StatementKind::Block, at);
  made.body = std::move(body);
  return &made;
}

Statement* Builder::if_(Value condition, Block body, Block otherwise) {
  Statement& made = module_.make_statement(StatementKind::If, at);
  made.value = condition;
  made.body = std::move(body);
  made.otherwise = std::move(otherwise);
  return &made;
}

Statement* Builder::loop(Value condition, Block body, Block step, Block before) {
  Statement& made = module_.make_statement(StatementKind::Loop, at);
  made.value = condition;
  made.body = std::move(body);
  made.step = std::move(step);
  made.before = std::move(before);
  return &made;
}

Statement* Builder::do_loop(Block body, Value condition, Block before) {
  Statement& made = module_.make_statement(StatementKind::DoLoop, at);
  made.value = condition;
  made.body = std::move(body);
  made.before = std::move(before);
  return &made;
}

Statement* Builder::switch_(Value value, std::vector<Case> cases) {
  Statement& made = module_.make_statement(StatementKind::Switch, at);
  made.value = value;
  made.cases = std::move(cases);
  return &made;
}

Statement* Builder::break_() { return &module_.make_statement(StatementKind::Break, at); }

Statement* Builder::continue_() { return &module_.make_statement(StatementKind::Continue, at); }

Statement* Builder::return_(Value value) {
  Statement& made = module_.make_statement(StatementKind::Return, at);
  made.value = value;
  return &made;
}

Function& Builder::function(std::string name, const Type* result) {
  Function& made = module_.make_function(std::move(name));
  made.result = result;
  made.is_defined = true;
  made.at = at;
  module_.functions.push_back(&made);
  return made;
}

Function& Builder::kernel(std::string name) {
  Function& made = function(name, type(TypeKind::Void));
  made.host_name = std::move(name);
  made.is_kernel = true;
  return made;
}

Variable& Builder::parameter(Function& function, std::string name, const Type* type) {
  Variable& made = module_.make_variable(std::move(name), type);
  made.is_parameter = true;
  function.parameters.push_back(&made);
  return made;
}

Variable& Builder::binding(Function& kernel, std::string name, BindingKind kind, const Type* type) {
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

Variable& Builder::program_constant(std::string name, Value value) {
  Variable& made = module_.make_variable(std::move(name), value->type, Space::Program);
  made.value = value;
  module_.constants.push_back(&made);
  return made;
}

}  // namespace kymo::shader::ir
