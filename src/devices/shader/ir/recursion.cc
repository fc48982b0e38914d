#include "shader/ir/recursion.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "shader/ir/build.h"
#include "shader/ir/ranges.h"
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

// Why a function cannot be such a loop. `call` is null if there is no reason.
struct TailCallFault {
  const Expression* call = nullptr;
  const char* why = "";
};

// A function that calls itself as its last step needs no stack: it becomes a loop. No target but CUDA has recursion.
//
//   int f(int n, int sum) {                 int f(int n, int sum) {
//     if (n == 0) return sum;                 loop {
//     return f(n - 1, sum + n);      ->         if (n == 0) return sum;
//   }                                           n' = n - 1; sum' = sum + n; n = n'; sum = sum'; continue;
//
// Replaces all calls of the function by itself. Each must be a statement: Evaluate, or Declare of its result. After a
// fault, the function has been changed in part.
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

constexpr size_t kMaxCopied = 20'000;  // statements of all copies in a module

using Functions = std::unordered_set<const Function*>;
using Calls = std::unordered_map<const Function*, Functions>;

Calls calls_of(const Module& module) {
  Calls calls;
  for (const Function* function : module.functions) {
    Functions& found = calls[function];
    for_each_expression(function->body, [&](const Expression& e) {
      if (e.kind == ExpressionKind::Call) found.insert(e.function);
    });
  }
  return calls;
}

// Of a call to a function that is later in the module, or itself.
bool has_recursion(const Module& module, const Calls& calls) {
  Functions known;
  for (const Function* function : module.functions) {
    if (!std::ranges::all_of(calls.at(function), [&](const Function* callee) { return known.contains(callee); }))
      return true;
    known.insert(function);
  }
  return false;
}

Functions reachable(const Calls& calls, std::vector<const Function*> open) {
  Functions reached(open.begin(), open.end());
  while (!open.empty()) {
    const Function* next = open.back();
    open.pop_back();
    if (const auto found = calls.find(next); found != calls.end())
      for (const Function* callee : found->second)
        if (reached.insert(callee).second) open.push_back(callee);
  }
  return reached;
}

// A copy of a recursive function for arguments in these ranges.
struct RecursionCopy {
  const Function* original = nullptr;
  std::vector<Range> arguments;
  const Function* made = nullptr;  // null while it is being made
};

class Recursion {
 public:
  explicit Recursion(Module& module) : module_(module) {}

  void run() {
    if (!has_recursion(module_, calls_of(module_))) return;
    keep_needed();
    for (Function* function : module_.functions) make_loop(*function);
    const Calls calls = calls_of(module_);
    if (!has_recursion(module_, calls)) return;
    for (const Function* function : module_.functions) {
      const Functions& direct = calls.at(function);
      if (reachable(calls, {direct.begin(), direct.end()}).contains(function)) recursive_.insert(function);
    }
    for (Function* function : module_.functions) {
      if (recursive_.contains(function)) continue;
      const bool calls_one =
          std::ranges::any_of(calls.at(function), [&](auto* one) { return recursive_.contains(one); });
      Ranges unknown;
      if (calls_one) block(function->body, unknown);
      functions_.push_back(function);
    }
    module_.functions = std::move(functions_);
  }

 private:
  // A function that no kernel needs may be recursive: its value is perhaps a constant of the source.
  void keep_needed() {
    const std::vector<Function*> kernels = module_.kernels();
    const Functions needed = reachable(calls_of(module_), {kernels.begin(), kernels.end()});
    std::erase_if(module_.functions, [&](const Function* function) { return !needed.contains(function); });
  }

  void make_loop(Function& function) {
    bool calls_itself = false;
    for_each_expression(function.body, [&](const Expression& e) {
      calls_itself = calls_itself || (e.kind == ExpressionKind::Call && e.function == &function);
    });
    if (!calls_itself) return;
    Function& before = clone_function(module_, function, function.name);
    const TailCallFault fault = TailCalls(module_, function).run();
    if (fault.call == nullptr) return;
    faults_[&function] = fault;
    function.parameters = std::move(before.parameters);
    function.body = std::move(before.body);
  }

  // ---- Statements. They return whether the end is reached; `ranges` holds there.
  bool block(Block& statements, Ranges& ranges) {
    Block made;
    bool ends = true;
    for (size_t i = 0; i < statements.size() && ends; ++i) {
      Statement& s = *statements[i];
      ends = statement(s, ranges);
      if (s.kind != StatementKind::Block || !s.body.empty()) made.push_back(&s);
    }
    statements = std::move(made);
    return ends;
  }

  bool statement(Statement& s, Ranges& ranges) {
    switch (s.kind) {
      case StatementKind::Declare:
        if (s.value != nullptr) s.value = replaced(s.value, ranges);
        ranges.set(*s.variable, s.value != nullptr ? ranges.of(*s.value) : range_of_type(s.variable->type));
        return true;
      case StatementKind::Assign: {
        s.place = replaced(s.place, ranges);
        s.value = replaced(s.value, ranges);
        if (s.place->kind == ExpressionKind::Variable) ranges.set(*s.place->variable, ranges.of(*s.value));
        return true;
      }
      case StatementKind::Evaluate:
        s.value = replaced(s.value, ranges);
        return true;
      case StatementKind::Block:
        return block(s.body, ranges);
      case StatementKind::If:
        return branch(s, ranges);
      case StatementKind::Loop:
      case StatementKind::DoLoop:
      case StatementKind::Switch:
        return around(s, ranges);
      case StatementKind::Break:
      case StatementKind::Continue:
        return false;
      case StatementKind::Return:
        if (s.value != nullptr) s.value = replaced(s.value, ranges);
        return false;
    }
    return true;
  }

  bool branch(Statement& s, Ranges& ranges) {
    s.value = replaced(s.value, ranges);
    Ranges no = ranges;
    const bool can_be_true = ranges.refine(*s.value, true), can_be_false = no.refine(*s.value, false);
    if (!can_be_true) {
      s.kind = StatementKind::Block;
      s.value = nullptr;
      s.body = std::move(s.otherwise);
      s.otherwise.clear();
      ranges = no;
      return block(s.body, ranges);
    }
    const bool body_ends = block(s.body, ranges);
    if (!can_be_false) {
      s.kind = StatementKind::Block;
      s.value = nullptr;
      s.otherwise.clear();
      return body_ends;
    }
    const bool otherwise_ends = block(s.otherwise, no);
    if (!body_ends) ranges = no;
    if (body_ends && otherwise_ends) ranges.join_with(no);
    return body_ends || otherwise_ends;
  }

  // A loop or a switch: nothing is known of what it assigns, wherever that is.
  bool around(Statement& s, Ranges& ranges) {
    if (s.kind == StatementKind::Switch) s.value = replaced(s.value, ranges);
    const auto forget = [&](const Statement& inner) {
      if (inner.kind == StatementKind::Assign && inner.place->kind == ExpressionKind::Variable)
        ranges.forget(*inner.place->variable);
    };
    for (const Block* inner : {&s.before, &s.body, &s.step}) for_each_statement(*inner, forget);
    for (const Case& one : s.cases) for_each_statement(one.body, forget);
    for (Case& one : s.cases) {
      Ranges inside = ranges;
      block(one.body, inside);
    }
    if (s.kind == StatementKind::Switch) return true;
    Ranges inside = ranges, after = ranges;
    if (s.kind == StatementKind::DoLoop) {
      block(s.body, inside);
      block(s.before, after);
      s.value = replaced(s.value, after);
      return true;
    }
    block(s.before, inside);
    if (s.value != nullptr) s.value = replaced(s.value, inside);
    if (s.value != nullptr && !inside.refine(*s.value, true)) s.body.clear();
    block(s.body, inside);
    block(s.step, after);
    return true;
  }

  // ---- Expressions
  bool has_call(const Expression* e) const {
    bool found = false;
    for_each_expression(e, [&](const Expression& inner) {
      found = found || (inner.kind == ExpressionKind::Call && recursive_.contains(inner.function));
    });
    return found;
  }

  const Expression* replaced(const Expression* e, const Ranges& ranges) {
    if (!has_call(e)) return e;
    Expression& made = module_.make_expression(e->kind, e->type, e->at);
    made = *e;
    if (e->kind == ExpressionKind::Conditional) return choice(made, ranges);
    for (const Expression*& operand : made.operands) operand = replaced(operand, ranges);
    if (e->kind == ExpressionKind::Call && recursive_.contains(e->function)) made.function = &copy(made, ranges);
    return &made;
  }

  const Expression* choice(Expression& made, const Ranges& ranges) {
    made.operands[0] = replaced(made.operands[0], ranges);
    Ranges yes = ranges, no = ranges;
    const bool can_be_true = yes.refine(*made.operands[0], true), can_be_false = no.refine(*made.operands[0], false);
    if (can_be_true) made.operands[1] = replaced(made.operands[1], yes);
    if (can_be_false) made.operands[2] = replaced(made.operands[2], no);
    if (can_be_true && can_be_false) return &made;
    return made.operands[can_be_true ? 1 : 2];
  }

  const Function& copy(const Expression& call, const Ranges& ranges) {
    const Function& original = *call.function;
    std::vector<Range> arguments;
    for (const Expression* operand : call.operands) arguments.push_back(ranges.of(*operand));
    for (const RecursionCopy& known : copies_) {
      if (known.original != &original || known.arguments != arguments) continue;
      if (known.made == nullptr) refuse(original, call);  // it calls itself with the same ranges
      return *known.made;
    }
    if (depth_ == kMaxRecursion) refuse(original, call);
    for_each_statement(original.body, [&](const Statement&) { ++copied_; });
    if (copied_ > kMaxCopied)
      throw Rejected{call.at, base::format("the recursion of \"{}\" needs more than {} statements without recursion: "
                                           "write a loop instead",
                                           original.name, kMaxCopied)};
    const size_t number = copies_.size();
    copies_.push_back({&original, arguments, nullptr});
    Function& made = clone_function(module_, original, original.name);
    Ranges inside;
    for (size_t i = 0; i < arguments.size(); ++i) inside.set(*made.parameters[i], arguments[i]);
    ++depth_;
    block(made.body, inside);
    --depth_;
    functions_.push_back(&made);
    copies_[number].made = &made;
    return made;
  }

  [[noreturn]] void refuse(const Function& function, const Expression& call) const {
    const std::string rule = base::format(
        "recursion must be the last step of a function, or provably end after {} calls. Write a loop instead: \"{}\" "
        "calls itself",
        kMaxRecursion, function.name);
    if (const auto fault = faults_.find(&function); fault != faults_.end())
      throw Rejected{fault->second.call->at, rule + ", and " + fault->second.why};
    throw Rejected{call.at, rule + " through other functions"};
  }

  Module& module_;
  Functions recursive_;
  std::unordered_map<const Function*, TailCallFault> faults_;
  std::vector<RecursionCopy> copies_;
  std::vector<Function*> functions_;  // of the result
  uint32_t depth_ = 0;
  size_t copied_ = 0;
};

}  // namespace

void resolve_recursion(Module& module) { Recursion(module).run(); }

}  // namespace kymo::shader::ir
