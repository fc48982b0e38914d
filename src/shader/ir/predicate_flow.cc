#include "shader/ir/predicate_flow.h"

#include <algorithm>
#include <utility>

#include "shader/ir/split.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {
Predicator::Facts Predicator::learn(const Block& statements) {
  Facts all;
  for (const Statement* s : statements) {
    const Facts one = learn(*s);
    all.has_together = all.has_together || one.has_together;
    all.for_all = all.for_all || one.for_all;
    all.has_barrier = all.has_barrier || one.has_barrier;
    all.jumps |= one.jumps;
  }
  return all;
}

Predicator::Facts Predicator::learn(const Statement& s) {
  Facts found;
  const auto add = [&](const Block& inner) {
    const Facts more = learn(inner);
    found.has_together = found.has_together || more.has_together;
    found.for_all = found.for_all || more.for_all;
    found.has_barrier = found.has_barrier || more.has_barrier;
    found.jumps |= more.jumps;
  };
  for (const Block* inner : {&s.before, &s.body, &s.otherwise, &s.step}) add(*inner);
  for (const Case& one : s.cases) add(one.body);
  if (s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop) found.jumps &= kReturns;
  if (s.kind == StatementKind::Switch) found.jumps &= kReturns | kContinues;
  if (s.kind == StatementKind::Break) found.jumps = kBreaks;
  if (s.kind == StatementKind::Continue) found.jumps = kContinues;
  if (s.kind == StatementKind::Return) found.jumps = kReturns;
  if (s.value != nullptr && is_together(*s.value, collectives_.together)) {
    const bool is_call = s.value->kind == ExpressionKind::Call;
    const bool is_simd =
        is_call ? collectives_.simd.contains(s.value->function) : is_simd_collective(s.value->intrinsic);
    found.has_together = true;
    found.for_all = is_simd || collectives_.barriers_apart.contains(s.value);
    found.has_barrier = is_call ? collectives_.barriers.contains(s.value->function) : !is_simd;
  }
  facts_[&s] = found;
  return found;
}

// ---- Where all go together -----------------------------------------------------------------------------------------

void Predicator::rewrite(Function& function) {
  learn(function.body);
  const Block statements = std::move(function.body);
  Block& out = function.body;
  out.clear();
  // Once some threads have returned, the others are not all any more.
  size_t apart = 0;
  while (apart < statements.size() && !uniformity_.may_return_apart(*statements[apart])) ++apart;
  const Block rest(statements.begin() + static_cast<std::ptrdiff_t>(apart), statements.end());
  const bool begins = std::ranges::any_of(rest, [&](const Statement* s) { return facts_[s].for_all; });
  for (size_t i = 0; i < (begins ? apart : statements.size()); ++i) keep(*statements[i], out);
  if (!begins) return;
  begin_function(function, flag("active", b_.constant_bool(true), out), out);
  last_ = rest.back();
  enter(rest, out);
  end_function(function, out);
}

void Predicator::rewrite_variant(Function& function) {
  learn(function.body);
  Variable& is_active = b_.local("active", b_.type(TypeKind::Bool));
  is_active.is_parameter = true;
  function.parameters.insert(function.parameters.begin(), &is_active);
  const Block statements = std::move(function.body);
  function.body.clear();
  begin_function(function, is_active, function.body);
  last_ = statements.empty() ? nullptr : statements.back();
  enter(statements, function.body);
  end_function(function, function.body);
}

void Predicator::keep(Block& statements) {
  Block made;
  for (Statement* s : statements) keep(*s, made);
  statements = std::move(made);
}

void Predicator::keep(Statement& s, Block& out) {
  b_.at = s.at;
  if (!facts_[&s].for_all || !uniformity_.diverges(s)) {
    if (facts_[&s].for_all) {
      for (Block* inner : {&s.before, &s.body, &s.otherwise, &s.step}) keep(*inner);
      for (Case& one : s.cases) keep(one.body);
    }
    out.push_back(&s);
    return;
  }
  Block nothing;
  cut(s, nothing, out);
}

// ---- Regions -------------------------------------------------------------------------------------------------------

void Predicator::begin_function(Function& function, const Variable& is_active, Block& out) {
  regions_ = {{RegionKind::Function, &is_active}};
  result_ = nullptr;
  if (function.result->is(TypeKind::Void)) return;
  result_ = &b_.local("result", function.result);
  declare_outside(*result_, out);
}

void Predicator::end_function(const Function& function, Block& out) {
  b_.at = function.at;
  if (result_ != nullptr) out.push_back(b_.return_(b_.variable(*result_)));
  regions_.clear();
}

const Expression* Predicator::active() { return b_.variable(*regions_.back().active); }

const Expression* Predicator::if_active(const Expression* condition) {
  return regions_.empty() ? condition : b_.logical_and(active(), condition);
}

const Variable& Predicator::flag(const char* name, const Expression* value, Block& out) {
  const Variable& made = b_.local(name, b_.type(TypeKind::Bool));
  out.push_back(b_.declare(made, value));
  return made;
}

// Threads that are not active read it too, where it is an operand: numbers get a value. Pointers into a thread's or
// group's memory do not, as targets want to know what they point to.
void Predicator::declare_outside(const Variable& variable, Block& out) {
  const Type* type = variable.type;
  const bool is_address = type->is_pointer() && (type->space == Space::Device || type->space == Space::Constant);
  const bool has_value = (type->is_number() && !type->packed) || is_address;
  out.push_back(b_.declare(variable, has_value && variable.space == Space::Thread ? b_.zero(type) : nullptr));
}

// Variables that are declared in one part of the gathered code and used in another, with code for all threads
// between.
std::unordered_set<const Variable*> Predicator::shared_variables(const Block& statements) const {
  std::unordered_map<const Variable*, size_t> declared;
  std::unordered_set<const Variable*> found;
  size_t piece = 0;
  for (Statement* s : statements) {
    const Facts& facts = facts_.at(s);
    if (facts.has_together) ++piece;
    if (s->kind == StatementKind::Declare && !facts.has_together) declared[s->variable] = piece;
    for_each_expression(Block{s}, [&](const Expression& e) {
      if (e.kind != ExpressionKind::Variable) return;
      const auto known = declared.find(e.variable);
      if (known != declared.end() && known->second != piece) found.insert(e.variable);
    });
    if (facts.has_together || facts.jumps != 0) ++piece;
  }
  return found;
}

void Predicator::enter(const Block& statements, Block& out, bool used_outside) {
  const std::unordered_set<const Variable*> shared = shared_variables(statements);
  Block gathered;
  for (Statement* s : statements) {
    b_.at = s->at;
    const Facts facts = facts_[s];
    const bool is_jump =
        s->kind == StatementKind::Break || s->kind == StatementKind::Continue || s->kind == StatementKind::Return;
    if (is_jump) {
      leave(*s, gathered);
      break;  // no thread gets further
    }
    if (facts.has_together) {
      cut(*s, gathered, out);
    } else if (facts.jumps != 0) {
      Block left = {s};
      needs_wrapper_ = false;
      replace_jumps(left, {});
      if (needs_wrapper_)
        gathered.push_back(b_.do_loop(std::move(left), b_.constant_bool(false)));
      else
        gathered.insert(gathered.end(), left.begin(), left.end());
      flush(gathered, out);
    } else if (s->kind == StatementKind::Declare &&
               (used_outside || shared.contains(s->variable) || s->variable->space != Space::Thread)) {
      if (s->value != nullptr &&
          (s->value->kind == ExpressionKind::Constant || s->value->kind == ExpressionKind::Zero)) {
        out.push_back(s);
        continue;
      }
      declare_outside(*s->variable, out);
      if (s->value != nullptr) gathered.push_back(b_.assign(b_.variable(*s->variable), s->value));
    } else {
      gathered.push_back(s);
    }
  }
  flush(gathered, out);
}

Block Predicator::entered(const Block& statements) {
  Block made;
  enter(statements, made);
  return made;
}

void Predicator::flush(Block& gathered, Block& out) {
  if (!gathered.empty()) out.push_back(b_.if_(active(), std::exchange(gathered, {})));
}

void Predicator::put(Block made, Block& out) {
  if (made.empty()) return;
  const bool is_bare = made.size() == 1 && made[0]->kind != StatementKind::Declare;
  out.push_back(is_bare ? made[0] : b_.block(std::move(made)));
}

void Predicator::cut(Statement& s, Block& gathered, Block& out) {
  if (s.kind == StatementKind::Declare || s.kind == StatementKind::Evaluate) return cut_collective(s, gathered, out);
  flush(gathered, out);
  switch (s.kind) {
    case StatementKind::If:
      return cut_if(s, out);
    case StatementKind::Loop:
    case StatementKind::DoLoop:
      return cut_loop(s, out);
    case StatementKind::Switch:
      return cut_switch(s, out);
    default:
      return put(entered(s.body), out);
  }
}

void Predicator::cut_collective(Statement& s, Block& gathered, Block& out) {
  const Expression& original = *s.value;
  const bool is_call = original.kind == ExpressionKind::Call;
  if (!is_call && original.intrinsic == Intrinsic::GroupBarrier) {
    flush(gathered, out);
    out.push_back(&s);
    return;
  }
  Expression& made = b_.module().make_expression(original.kind, original.type, original.at);
  made = original;
  for (const Expression*& operand : made.operands) operand = guarded(operand, gathered, out);
  made.operands.insert(is_call ? made.operands.begin() : made.operands.end(), active());
  if (is_call) made.function = variants_.at(original.function);
  flush(gathered, out);
  s.value = &made;
  out.push_back(&s);
}

void Predicator::cut_if(Statement& s, Block& out) {
  const Variable& first = flag("active", if_active(s.value), out);
  const Variable* second = nullptr;
  if (!s.otherwise.empty()) second = &flag("active", if_active(b_.logical_not(b_.variable(first))), out);
  regions_.push_back({RegionKind::If, &first});
  put(entered(s.body), out);
  regions_.pop_back();
  if (second == nullptr) return;
  regions_.push_back({RegionKind::If, second});
  put(entered(s.otherwise), out);
  regions_.pop_back();
}

void Predicator::cut_loop(Statement& s, Block& out) {
  const Variable& going = flag("going", regions_.empty() ? b_.constant_bool(true) : active(), out);
  regions_.push_back({RegionKind::Loop, &going});
  Block turn;
  const auto decide = [&] {
    enter(s.before, turn, true);
    b_.at = s.at;
    if (s.value != nullptr) turn.push_back(b_.assign(b_.variable(going), if_active(s.value)));
    const Expression* any = b_.intrinsic(Intrinsic::GroupAny, {b_.variable(going)}, facts_[&s].has_barrier ? 1 : 0);
    turn.push_back(b_.if_(b_.logical_not(any), {b_.break_()}));
  };
  if (s.kind == StatementKind::Loop) decide();
  const bool has_continue =
      std::ranges::any_of(s.body, [&](const Statement* one) { return (facts_[one].jumps & kContinues) != 0; });
  if (has_continue) regions_.push_back({RegionKind::Turn, &flag("active", b_.variable(going), turn)});
  put(entered(s.body), turn);
  if (has_continue) regions_.pop_back();
  put(entered(s.step), turn);
  if (s.kind == StatementKind::DoLoop) decide();
  regions_.pop_back();
  out.push_back(b_.loop(nullptr, std::move(turn)));
}

// A number says which case a thread begins with; then all walk through all of them.
void Predicator::cut_switch(Statement& s, Block& out) {
  const Variable& first = b_.local("first", b_.type(TypeKind::Int));
  out.push_back(b_.declare(first, b_.constant_int(-1)));
  std::vector<Case> choices;
  for (size_t i = 0; i < s.cases.size(); ++i) {
    Block body = {b_.assign(b_.variable(first), b_.constant_int(static_cast<int64_t>(i))), b_.break_()};
    choices.push_back({s.cases[i].values, s.cases[i].is_default, std::move(body)});
  }
  Statement* choose = b_.switch_(s.value, std::move(choices));
  out.push_back(regions_.empty() ? choose : b_.if_(active(), {choose}));
  const Variable& is_active = flag("active", b_.constant_bool(false), out);
  regions_.push_back({RegionKind::Switch, &is_active});
  for (size_t i = 0; i < s.cases.size(); ++i) {
    const Expression* begins = b_.binary(Operator::Equal, b_.variable(first), b_.constant_int(static_cast<int64_t>(i)));
    out.push_back(b_.assign(active(), b_.logical_or(active(), begins)));
    put(entered(s.cases[i].body), out);
  }
  regions_.pop_back();
}

}  // namespace kymo::shader::ir
