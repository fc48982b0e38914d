#include "shader/test_support/verify_ir.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "shader/test_support/ir_names.h"
#include "shader/test_support/print_ir.h"
#include "shader/test_support/verify_expression.h"

namespace kymo::shader::ir {
namespace {

constexpr int kDeepestVerified = 1000;  // of expressions and statements: deeper nesting could overflow the stack

struct VerifyFault {
  std::string text;
};

class ModuleVerifier {
 public:
  explicit ModuleVerifier(const Module& module) : module_(module) {}

  void run() {
    for (const Variable* constant : module_.constants) {
      check(constant->space == Space::Program && constant->value != nullptr, "a constant of the program has no value");
      check(is_given(constant->type, constant->value->type), "a constant's value has another type");
      constant_value(*constant->value);
      constants_.insert(constant);
    }
    for (const Function* function : module_.functions) {
      check(known_.insert(function).second, "a function is listed twice");
      one(*function);
    }
  }

  std::string where() const {
    return function_ == nullptr ? "" : base::format("{}.{}: ", function_->name, function_->id);
  }

 private:
  static void check(bool good, const char* text) {
    if (!good) throw VerifyFault{text};
  }
  static void check(bool good, const Variable& variable, const char* text) {
    if (!good) throw VerifyFault{base::format("{}.{} {}", variable.name, variable.id, text)};
  }
  static void check(bool good, const Expression& e, std::string_view text) {
    if (!good) throw VerifyFault{base::format("`{}` {}", print(e), text)};
  }

  void nest() { check(++depth_ < kDeepestVerified, "it nests too deep"); }

  void constant_value(const Expression& value) {
    nest();
    check(value.kind == ExpressionKind::Constant || value.kind == ExpressionKind::Zero ||
              value.kind == ExpressionKind::Null || value.kind == ExpressionKind::Construct,
          "a constant's value is calculated");
    for (const Expression* operand : value.operands) constant_value(*operand);
    const std::string_view fault = expression_fault(value);
    check(fault.empty(), value, fault);
    --depth_;
  }

  void one(const Function& function) {
    function_ = &function;
    check(function.is_defined && function.result != nullptr, "it has no body or no result type");
    close_scope(0);
    declared_.clear();
    read_only_.clear();
    for (const Variable* parameter : function.parameters) {
      check(parameter->is_parameter && parameter->space == Space::Thread, "a parameter is not marked as one");
      declare(*parameter);
    }
    if (function.is_kernel) bindings(function);
    block(function.body);
    function_ = nullptr;
  }

  void bindings(const Function& kernel) {
    check(kernel.result->is(TypeKind::Void), "a kernel returns something");
    check(kernel.bindings.size() == kernel.parameters.size(), "bindings and parameters differ");
    for (size_t i = 0; i < kernel.bindings.size(); ++i) {
      const Binding& bound = kernel.bindings[i];
      check(bound.variable == kernel.parameters[i], "bindings and parameters are in different orders");
      const Type* type = bound.variable->type;
      if (bound.kind == BindingKind::Value) {
        read_only_.insert(bound.variable);
        continue;
      }
      const bool in_group = bound.kind == BindingKind::Threadgroup;
      check(type->is_pointer(), "a buffer is not a pointer");
      check(
          in_group ? type->space == Space::Threadgroup : type->space == Space::Device || type->space == Space::Constant,
          "a buffer lies in a space that it cannot");
    }
  }

  // ---- Scopes

  void declare(const Variable& variable) {
    check(variable.type != nullptr && !variable.type->is(TypeKind::Void) && !variable.type->is(TypeKind::Reference),
          variable, "has no type that a variable can have");
    check(declared_.insert(&variable).second, variable, "is declared twice");
    visible_.push_back(&variable);
    visible_set_.insert(&variable);
  }

  void close_scope(size_t size) {
    while (visible_.size() > size) {
      visible_set_.erase(visible_.back());
      visible_.pop_back();
    }
  }

  // ---- Expressions

  void expression(const Expression& e) {
    nest();
    for (const Expression* operand : e.operands) {
      check(operand != nullptr, "an operand is missing");
      expression(*operand);
    }
    const std::string_view fault = expression_fault(e);
    if (!fault.empty()) check(false, e, base::format("({}): {}", kind_name(e.kind), fault));
    if (e.kind == ExpressionKind::Variable) {
      const bool known =
          e.variable->space == Space::Program ? constants_.contains(e.variable) : visible_set_.contains(e.variable);
      check(known, *e.variable, "is used where it is not known");
    }
    if (e.kind == ExpressionKind::Call)
      check(e.function != function_ && known_.contains(e.function), e,
            "is a call of a function that is not listed before");
    if (e.kind == ExpressionKind::AddressOf || e.kind == ExpressionKind::Decay) {
      const Expression& root = place_root(*e.operands[0]);
      check(root.kind != ExpressionKind::Variable || root.variable->address_taken, e,
            "is an address, but its variable is not marked with address_taken");
    }
    --depth_;
  }

  void value(const Expression* e) {
    check(e != nullptr, "a value is missing");
    expression(*e);
    check(!e->type->is(TypeKind::Void), *e, "is void where a value is wanted");
    check(!e->type->is(TypeKind::Atomic), *e, "is an atomic where a value is wanted");
  }

  void condition(const Expression* e) {
    value(e);
    check(e->type->is(TypeKind::Bool), *e, "is a condition, but not a bool");
  }

  void given(const Type* to, const Expression* e) {
    value(e);
    if (is_given(to, e->type)) return;
    check(false, *e, base::format("has type {}, where {} is wanted", TypeTable::name(e->type), TypeTable::name(to)));
  }

  // ---- Statements

  void block(const Block& statements) {
    nest();
    const size_t scope = visible_.size();
    for (const Statement* one_of_them : statements) statement(*one_of_them);
    close_scope(scope);
    --depth_;
  }

  // Of a loop: known to the end of the loop, which closes the scope.
  void open_block(const Block& statements) {
    const bool may_break = std::exchange(may_break_, false), may_continue = std::exchange(may_continue_, false);
    const bool may_return = std::exchange(may_return_, false);
    for (const Statement* one_of_them : statements) statement(*one_of_them);
    may_break_ = may_break;
    may_continue_ = may_continue;
    may_return_ = may_return;
  }

  void body(const Block& statements, bool is_loop) {
    const bool may_break = std::exchange(may_break_, true);
    const bool may_continue = std::exchange(may_continue_, may_continue_ || is_loop);
    block(statements);
    may_break_ = may_break;
    may_continue_ = may_continue;
  }

  void assign(const Statement& s) {
    check(s.place != nullptr, "an assignment has no place");
    expression(*s.place);
    check(is_place(*s.place), *s.place, "is assigned to, but is not a place");
    const Expression& root = place_root(*s.place);
    const bool writable = root.kind == ExpressionKind::Variable
                              ? root.variable->space != Space::Program && !read_only_.contains(root.variable)
                              : !root.operands[0]->type->is_const;
    check(writable, *s.place, "is assigned to, but nobody may write there");
    given(s.place->type, s.value);
  }

  void switch_(const Statement& s) {
    value(s.value);
    check(s.value->type->is_integer() && s.value->type->size >= 4, "a switch is not of an int, uint, long or ulong");
    std::unordered_set<int64_t> values;
    bool has_default = false;
    for (const Case& one_case : s.cases) {
      for (const int64_t label : one_case.values) check(values.insert(label).second, "two cases have one value");
      const bool is_default = one_case.is_default || one_case.values.empty();
      check(!is_default || !has_default, "a switch has two defaults");
      has_default = has_default || is_default;
      body(one_case.body, false);
    }
  }

  void statement(const Statement& s) {
    const size_t scope = visible_.size();
    switch (s.kind) {
      case StatementKind::Declare: {
        check(s.variable != nullptr && !s.variable->is_parameter, "a declaration has no variable");
        const bool shared = s.variable->space == Space::Threadgroup;
        check(shared ? function_->is_kernel && s.value == nullptr : s.variable->space == Space::Thread, *s.variable,
              "is declared in a space that it cannot lie in");
        if (s.value != nullptr) given(s.variable->type, s.value);
        return declare(*s.variable);
      }
      case StatementKind::Assign:
        return assign(s);
      case StatementKind::Evaluate:
        check(s.value != nullptr, "a value is missing");
        return expression(*s.value);
      case StatementKind::Block:
        return block(s.body);
      case StatementKind::If:
        condition(s.value);
        block(s.body);
        return block(s.otherwise);
      case StatementKind::Loop:
        open_block(s.before);
        if (s.value != nullptr) condition(s.value);
        body(s.body, true);
        open_block(s.step);
        return close_scope(scope);
      case StatementKind::DoLoop:
        body(s.body, true);
        open_block(s.before);
        condition(s.value);
        return close_scope(scope);
      case StatementKind::Switch:
        return switch_(s);
      case StatementKind::Break:
        return check(may_break_, "a break stands outside of a loop or switch");
      case StatementKind::Continue:
        return check(may_continue_, "a continue stands outside of a loop");
      case StatementKind::Return:
        check(may_return_, "a return stands beside a loop's body");
        if (function_->result->is(TypeKind::Void))
          return check(s.value == nullptr, "a void function returns something");
        return given(function_->result, s.value);
    }
  }

  const Module& module_;
  const Function* function_ = nullptr;
  int depth_ = 0;
  bool may_break_ = false, may_continue_ = false, may_return_ = true;
  std::unordered_set<const Function*> known_;
  std::unordered_set<const Variable*> constants_, declared_, visible_set_, read_only_;
  std::vector<const Variable*> visible_;
};

}  // namespace

std::string verify(const Module& module) {
  ModuleVerifier verifier(module);
  try {
    verifier.run();
  } catch (const VerifyFault& fault) {
    return verifier.where() + fault.text;
  }
  return "";
}

}  // namespace kymo::shader::ir
