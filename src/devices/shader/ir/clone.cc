#include "shader/ir/clone.h"

#include <unordered_map>
#include <utility>

namespace kymo::shader::ir {
namespace {

class FunctionCloner {
 public:
  explicit FunctionCloner(Module& module) : module_(module) {}

  Function& run(const Function& original, std::string name) {
    Function& made = module_.make_function(std::move(name));
    made.result = original.result;
    made.is_defined = original.is_defined;
    made.at = original.at;
    for (const Variable* parameter : original.parameters) made.parameters.push_back(variable(*parameter));
    made.body = block(original.body);
    return made;
  }

 private:
  const Variable* variable(const Variable& original) {
    if (original.space == Space::Program) return &original;
    const Variable*& known = variables_[&original];
    if (known != nullptr) return known;
    Variable& made = module_.make_variable(original.name, original.type, original.space);
    made.is_parameter = original.is_parameter;
    made.address_taken = original.address_taken;
    known = &made;
    return known;
  }

  const Expression* expression(const Expression* original) {
    if (original == nullptr) return nullptr;
    Expression& made = module_.make_expression(original->kind, original->type, original->at);
    made = *original;
    if (made.variable != nullptr) made.variable = variable(*made.variable);
    for (const Expression*& operand : made.operands) operand = expression(operand);
    return &made;
  }

  Block block(const Block& original) {
    Block made;
    made.reserve(original.size());
    for (const Statement* one : original) made.push_back(statement(*one));
    return made;
  }

  Statement* statement(const Statement& original) {
    Statement& made = module_.make_statement(original.kind, original.at);
    made.unroll = original.unroll;
    if (original.variable != nullptr) made.variable = variable(*original.variable);
    made.place = expression(original.place);
    made.value = expression(original.value);
    made.body = block(original.body);
    made.otherwise = block(original.otherwise);
    made.before = block(original.before);
    made.step = block(original.step);
    for (const Case& one : original.cases) made.cases.push_back({one.values, one.is_default, block(one.body)});
    return &made;
  }

  Module& module_;
  std::unordered_map<const Variable*, const Variable*> variables_;
};

}  // namespace

Function& clone_function(Module& module, const Function& function, std::string name) {
  return FunctionCloner(module).run(function, std::move(name));
}

}  // namespace kymo::shader::ir
