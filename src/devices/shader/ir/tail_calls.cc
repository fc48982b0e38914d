#include "shader/ir/tail_calls.h"

#include <algorithm>

#include "shader/ir/build.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {
namespace {

bool has_thread_pointer(const Type* type) {
  if (type->is_pointer()) return type->space == Space::Thread;
  if (type->is_array()) return has_thread_pointer(type->inner);
  return type->is_struct() &&
         std::ranges::any_of(type->fields, [](const Field& field) { return has_thread_pointer(field.type); });
}

const Variable* named(const Expression* expression) {
  return expression != nullptr && expression->kind == ExpressionKind::Variable ? expression->variable : nullptr;
}

class TailCalls {
 public:
  TailCalls(Module& module, Function& function) : build_(module), function_(function) {}

  TailCallFault run() {
    has_addresses_ = std::ranges::any_of(function_.parameters, &Variable::address_taken);
    for_each_statement(function_.body, [&](const Statement& s) {
      if (s.kind == StatementKind::Declare) has_addresses_ = has_addresses_ || s.variable->address_taken;
    });
    block(function_.body, nullptr, false);
    if (fault_.call != nullptr) return fault_;
    for_each_expression(function_.body, [&](const Expression& e) {
      if (e.kind == ExpressionKind::Call && e.function == &function_) fail(e, "it has more to do after this");
    });
    Block body = std::move(function_.body);
    build_.at = function_.at;
    const StatementKind last = body.back()->kind;
    if (last != StatementKind::Return && last != StatementKind::Continue) body.push_back(build_.break_());
    function_.body = {build_.loop(nullptr, std::move(body))};
    return fault_;
  }

 private:
  // What is executed after a statement: the rest of its block, then the rest of the block around it, and so on.
  struct Rest {
    const Block& block;
    size_t next;
    bool is_case;  // of a switch, where the next case follows; a Break leaves it
    const Rest* outer;
  };

  void fail(const Expression& call, const char* why) {
    if (fault_.call == nullptr) fault_ = {&call, why};
  }

  // Whether nothing is left to do but to return `result`; null: nothing.
  static bool only_returns(const Variable* result, const Rest* rest) {
    while (rest != nullptr) {
      bool leaves = false;
      for (size_t i = rest->next; i < rest->block.size() && !leaves; ++i) {
        const Statement& s = *rest->block[i];
        leaves = s.kind == StatementKind::Break;
        if (s.kind == StatementKind::Return) return result == nullptr ? s.value == nullptr : named(s.value) == result;
        if (leaves) continue;
        if (s.kind != StatementKind::Assign || result == nullptr || named(s.value) != result) return false;
        result = named(s.place);
        if (result == nullptr) return false;
      }
      while (leaves && !rest->is_case) rest = rest->outer;
      if (rest->is_case && !leaves) return false;
      rest = rest->outer;
    }
    return result == nullptr;
  }

  void block(Block& statements, const Rest* outer, bool in_loop, bool is_case = false) {
    for (size_t i = 0; i < statements.size(); ++i) {
      Statement& s = *statements[i];
      const Rest rest{statements, i + 1, is_case, outer};
      if (is_call(s)) {
        if (in_loop) return fail(*s.value, "it does so in a loop");
        if (!only_returns(s.variable, &rest)) return fail(*s.value, "it has more to do after this");
        Block again = next_round(*s.value);
        statements.resize(i);
        statements.insert(statements.end(), again.begin(), again.end());
        return;
      }
      const bool is_loop = s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop;
      block(s.body, &rest, in_loop || is_loop);
      block(s.otherwise, &rest, in_loop);
      for (Case& one : s.cases) block(one.body, &rest, in_loop, true);
    }
  }

  bool is_call(const Statement& s) const {
    return (s.kind == StatementKind::Evaluate || s.kind == StatementKind::Declare) && s.value != nullptr &&
           s.value->kind == ExpressionKind::Call && s.value->function == &function_;
  }

  // Assigns the arguments to the parameters: all are computed before the first one changes.
  Block next_round(const Expression& call) {
    Block made, assigned;
    build_.at = call.at;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const Variable& parameter = *function_.parameters[i];
      const Expression* argument = call.operands[i];
      if (named(argument) == &parameter) continue;
      // The variables of this round end with it.
      if (has_addresses_ && has_thread_pointer(parameter.type)) fail(call, "it passes the address of a variable");
      const Variable& kept = build_.local("next", parameter.type);
      made.push_back(build_.declare(kept, argument));
      assigned.push_back(build_.assign(build_.variable(parameter), build_.variable(kept)));
    }
    made.insert(made.end(), assigned.begin(), assigned.end());
    made.push_back(build_.continue_());
    return made;
  }

  Builder build_;
  Function& function_;
  bool has_addresses_ = false;  // of parameters or variables
  TailCallFault fault_;
};

}  // namespace

TailCallFault replace_tail_calls(Module& module, Function& function) { return TailCalls(module, function).run(); }

}  // namespace kymo::shader::ir
