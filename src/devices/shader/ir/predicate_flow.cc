#include "shader/ir/predicate_flow.h"

#include <algorithm>
#include <utility>

#include "shader/ir/split.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {

void Predicator::Facts::add(const Facts& more) {
  has_together = has_together || more.has_together;
  for_all = for_all || more.for_all;
  has_simd = has_simd || more.has_simd;
  has_barrier = has_barrier || more.has_barrier;
  jumps |= more.jumps;
}

Predicator::Facts Predicator::learn(const Block& statements) {
  Facts all;
  for (const Statement* s : statements) all.add(learn(*s));
  return all;
}

Predicator::Facts Predicator::learn(const Statement& s) {
  Facts found;
  for (const Block* inner : {&s.before, &s.body, &s.otherwise, &s.step}) found.add(learn(*inner));
  for (const Case& one : s.cases) found.add(learn(one.body));
  if (s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop) found.jumps &= kReturns;
  if (s.kind == StatementKind::Switch) found.jumps &= kReturns | kContinues;
  if (s.kind == StatementKind::Break) found.jumps = kBreaks;
  if (s.kind == StatementKind::Continue) found.jumps = kContinues;
  if (s.kind == StatementKind::Return) found.jumps = kReturns;
  if (s.value != nullptr && is_together(*s.value, collectives_.together)) {
    const bool is_call = s.value->kind == ExpressionKind::Call;
    found.has_together = true;
    found.has_simd = is_call ? collectives_.simd.contains(s.value->function) : is_simd_collective(s.value->intrinsic);
    found.for_all = !rules_.may_be_in_branches || found.has_simd || collectives_.barriers_apart.contains(s.value);
    found.has_barrier = is_call ? collectives_.barriers.contains(s.value->function) : !found.has_simd;
  }
  facts_[&s] = found;
  return found;
}

bool Predicator::diverges(const Statement& s) const {
  const auto copied = originals_.find(&s);
  const Uniformity& known = !rules_.may_be_in_branches && !facts_.at(&s).has_simd ? uniform_.guess : uniform_.certain;
  return is_called_apart_ || known.diverges(copied != originals_.end() ? *copied->second : s);
}

bool Predicator::is_cut(const Statement& s) const {
  if (!facts_.at(&s).for_all) return false;
  if (rules_.may_be_in_branches) return diverges(s);
  switch (s.kind) {
    case StatementKind::If:
    case StatementKind::Switch:
      return true;
    case StatementKind::Loop:
    case StatementKind::DoLoop:
      return diverges(s) || jumps_of(s.body) != 0;
    default:
      return false;
  }
}

uint8_t Predicator::jumps_of(const Block& statements) const {
  uint8_t jumps = 0;
  for (const Statement* s : statements) jumps |= facts_.at(s).jumps;
  return jumps;
}

// ---- Where all go together -----------------------------------------------------------------------------------------

void Predicator::rewrite(Function& function) {
  learn(function.body);
  const Block statements = std::move(function.body);
  Block& out = function.body;
  out.clear();
  // Once some threads have returned, the others are not all any more.
  const auto returns = [&](const Statement* s) {
    return rules_.may_be_in_branches ? uniform_.certain.may_return_apart(*s) : (facts_[s].jumps & kReturns) != 0;
  };
  auto apart = std::ranges::find_if(statements, returns);
  const auto for_all = [&](const Statement* s) { return facts_[s].for_all; };
  if (std::none_of(apart, statements.end(), for_all)) apart = statements.end();
  for (Statement* s : Block(statements.begin(), apart)) keep(*s, out);
  if (apart == statements.end()) return;
  begin_function(function, flag("active", b_.constant_bool(true), out), out);
  last_ = statements.back();
  enter(Block(apart, statements.end()), out);
  end_function(function, out);
}

void Predicator::rewrite_variant(Function& variant, const Function& original) {
  learn(variant.body);
  is_called_apart_ = collectives_.called_apart.contains(&original);
  std::vector<const Statement*> from;
  for_each_statement(original.body, [&](const Statement& s) { from.push_back(&s); });
  size_t next = 0;
  for_each_statement(variant.body, [&](const Statement& s) { originals_[&s] = from[next++]; });
  Variable& is_active = b_.local("active", b_.type(TypeKind::Bool));
  is_active.is_parameter = true;
  variant.parameters.insert(variant.parameters.begin(), &is_active);
  const Block statements = std::move(variant.body);
  variant.body.clear();
  begin_function(variant, is_active, variant.body);
  last_ = statements.empty() ? nullptr : statements.back();
  enter(statements, variant.body);
  end_function(variant, variant.body);
}

void Predicator::keep(Block& statements) {
  Block made;
  for (Statement* s : statements) keep(*s, made);
  statements = std::move(made);
}

void Predicator::keep(Statement& s, Block& out) {
  b_.at = s.at;
  if (is_cut(s)) {
    Block nothing;
    return cut(s, nothing, out);
  }
  if (facts_[&s].for_all) {
    const bool is_loop = s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop;
    is_loop ? keep_round(s.body) : keep(s.body);
    for (Block* inner : {&s.before, &s.otherwise, &s.step}) keep(*inner);
    for (Case& one : s.cases) keep(one.body);
  }
  out.push_back(&s);
}

void Predicator::keep_round(Block& body) {
  const Expression* last = body.empty() ? nullptr : body.back()->value;
  const bool is_ended = last != nullptr && is_together(*last, collectives_.together);
  keep(body);
  if (!is_ended) end_round(body);
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

// Threads that are not active read it too, where it is an operand.
void Predicator::declare_outside(const Variable& variable, Block& out) {
  const Type* type = variable.type;
  const bool is_address = type->is_pointer() && (!rules_.may_leave_pointers_unset || type->space == Space::Device ||
                                                 type->space == Space::Constant);
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

Block Predicator::entered(const Block& statements, bool by_all) {
  Block made;
  auto next = statements.begin();
  if (by_all) {
    const std::vector<Region> around = std::exchange(regions_, {});
    for (; next != statements.end() && facts_[*next].jumps == 0; ++next) keep(**next, made);
    regions_ = around;
  }
  enter(Block(next, statements.end()), made);
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

void Predicator::end_round(Block& out) {
  if (!rules_.may_be_in_branches) out.push_back(b_.evaluate(b_.intrinsic(Intrinsic::GroupBarrier, {}, kEndOfLoop)));
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
  const bool is_uniform = !rules_.may_be_in_branches && !diverges(s);
  const uint8_t jumps = jumps_of(s.body);
  if (is_uniform && jumps == 0 && s.kind == StatementKind::Loop && s.before.empty()) return cut_whole_loop(s, out);
  const Variable& going = flag("going", regions_.empty() ? b_.constant_bool(true) : active(), out);
  regions_.push_back({RegionKind::Loop, &going});
  Block turn;
  const auto decide = [&] {
    enter(s.before, turn, true);
    b_.at = s.at;
    if (s.value != nullptr) turn.push_back(b_.assign(b_.variable(going), if_active(s.value)));
    if (s.kind == StatementKind::DoLoop) end_round(turn);
    const Expression* any = b_.variable(going);
    if (!is_uniform) any = b_.intrinsic(Intrinsic::GroupAny, {any}, facts_[&s].has_barrier ? 1 : 0);
    turn.push_back(b_.if_(b_.logical_not(any), {b_.break_()}));
  };
  if (s.kind == StatementKind::Loop) decide();
  const bool has_continue = (jumps & kContinues) != 0;
  if (has_continue) regions_.push_back({RegionKind::Turn, &flag("active", b_.variable(going), turn)});
  put(entered(s.body, is_uniform && s.kind == StatementKind::Loop), turn);
  if (has_continue) regions_.pop_back();
  put(entered(s.step), turn);
  if (s.kind == StatementKind::DoLoop)
    decide();
  else
    end_round(turn);
  regions_.pop_back();
  out.push_back(b_.loop(nullptr, std::move(turn)));
}

// A loop without jumps, which all threads execute together, or none.
void Predicator::cut_whole_loop(Statement& s, Block& out) {
  s.value = s.value == nullptr ? active() : if_active(s.value);
  const std::vector<Region> around = std::exchange(regions_, {});
  keep_round(s.body);
  keep(s.step);
  regions_ = around;
  out.push_back(&s);
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
