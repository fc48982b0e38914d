#include "shader/ir/predicate.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "shader/ir/build.h"
#include "shader/ir/uniform.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {
namespace {

// Moves collective operations out of larger expressions. After it, each simdgroup operation, group barrier and call of
// a function that contains such is its own statement: `T t = simd_sum(x)`, or just the operation. A && B, A || B and
// A ? B : C become an If, if B or C contains a collective operation; the condition of a loop moves to its `before`.
class CollectiveSplitter {
 public:
  CollectiveSplitter(Module& module, const std::unordered_set<const Function*>& together)
      : b_(module), together_(together) {}

  void block(Block& statements) {
    Block made;
    made.reserve(statements.size());
    for (Statement* one : statements) statement(*one, made);
    statements = std::move(made);
  }

 private:
  bool has(const Expression* e) const {
    bool found = false;
    for_each_expression(e, [&](const Expression& inner) { found = found || is_together(inner, together_); });
    return found;
  }

  void statement(Statement& s, Block& out) {
    b_.at = s.at;
    for (Block* inner : {&s.before, &s.body, &s.otherwise, &s.step}) block(*inner);
    for (Case& one : s.cases) block(one.body);
    b_.at = s.at;
    if (s.place != nullptr) s.place = extract(s.place, out);
    if (s.value != nullptr && has(s.value)) {
      const bool is_loop = s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop;
      const bool stays =
          (s.kind == StatementKind::Declare || s.kind == StatementKind::Evaluate) && is_together(*s.value, together_);
      Block& into = is_loop ? s.before : out;
      s.value = stays ? with_operands(*s.value, into) : extract(s.value, into);
    }
    out.push_back(&s);
  }

  // The same value; its collective operations become statements in `out`.
  const Expression* extract(const Expression* e, Block& out) {
    if (!has(e)) return e;
    const bool right_has = e->operands.size() > 1 && std::any_of(e->operands.begin() + 1, e->operands.end(),
                                                                 [&](const Expression* one) { return has(one); });
    if (right_has) {
      if (e->kind == ExpressionKind::LogicalAnd || e->kind == ExpressionKind::LogicalOr) return logical(*e, out);
      if (e->kind == ExpressionKind::Conditional) return conditional(*e, out);
    }
    const Expression* made = with_operands(*e, out);
    if (!is_together(*e, together_) || e->type->is(TypeKind::Void)) return made;
    const Variable& kept = b_.local("together", e->type);
    out.push_back(b_.declare(kept, made));
    return b_.variable(kept);
  }

  const Expression* with_operands(const Expression& e, Block& out) {
    Expression& made = b_.module().make_expression(e.kind, e.type, e.at);
    made = e;
    for (const Expression*& operand : made.operands) operand = extract(operand, out);
    return &made;
  }

  const Expression* logical(const Expression& e, Block& out) {
    const Variable& result = b_.local("decided", e.type);
    out.push_back(b_.declare(result, extract(e.operands[0], out)));
    Block right;
    const Expression* value = extract(e.operands[1], right);
    right.push_back(b_.assign(b_.variable(result), value));
    const Expression* known = b_.variable(result);
    const bool is_and = e.kind == ExpressionKind::LogicalAnd;
    out.push_back(b_.if_(is_and ? known : b_.logical_not(known), std::move(right)));
    return b_.variable(result);
  }

  const Expression* conditional(const Expression& e, Block& out) {
    const Expression* condition = extract(e.operands[0], out);
    const Variable& result = b_.local("chosen", e.type);
    Block ways[2];
    for (size_t i = 0; i < 2; ++i) {
      const Expression* value = extract(e.operands[1 + i], ways[i]);
      ways[i].push_back(b_.assign(b_.variable(result), value));
    }
    out.push_back(b_.declare(result));
    out.push_back(b_.if_(condition, std::move(ways[0]), std::move(ways[1])));
    return b_.variable(result);
  }

  Builder b_;
  const std::unordered_set<const Function*>& together_;
};

// Rewrites one function at a time.
//
// While all threads take the same way, statements stay unchanged. Where they may diverge, a region begins: all threads
// execute everything in it, and each region has a bool variable that says whether a thread is in it. Statements without
// simdgroup operations and barriers are collected and put under `if (active)`. Leaving a region (break, continue,
// return) sets the variables of all left regions to false.
//
// If these may not be in branches, every branch around one, and every jump over one, is treated as if threads diverged
// there. Only a loop that all threads execute equally often needs no vote. In it, they are all active until the first
// jump.
class Predicator {
 public:
  using Functions = std::unordered_set<const Function*>;
  using Variants = std::unordered_map<const Function*, const Function*>;

  struct Collectives {
    const Functions& together;                                    // functions with simdgroup operations or barriers
    const Functions& simd;                                        // those of them with simdgroup operations
    const Functions& barriers;                                    // those of them with barriers
    const Functions& called_apart;                                // that not all threads of a group call together
    const std::unordered_set<const Expression*>& barriers_apart;  // that not all threads reach
  };
  // `guess` is for barriers, see make_collectives_uniform().
  struct Knowledge {
    const Uniformity &certain, &guess;
  };

  // `variants`: for functions that were already rewritten, the variants with the parameter `active`.
  Predicator(Module& module, const CollectiveRules& rules, const Knowledge& uniform, const Collectives& collectives,
             const Variants& variants)
      : b_(module), rules_(rules), uniform_(uniform), collectives_(collectives), variants_(variants) {}

  // A function that all threads of a group call together.
  void rewrite(Function& function) {
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

  // A copy of a function that gets a parameter that says whether the thread is active in the call.
  void rewrite_variant(Function& variant, const Function& original) {
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

 private:
  enum class RegionKind : uint8_t { Function, If, Loop, Turn, Switch };
  struct Region {
    RegionKind kind = RegionKind::If;
    const Variable* active = nullptr;
  };
  static constexpr uint8_t kBreaks = 1, kContinues = 2, kReturns = 4;
  struct Facts {
    bool has_together = false;  // simdgroup operations or barriers
    bool for_all = false;  // of these: what all threads must reach, simdgroup operations and barriers that some miss
    bool has_simd = false, has_barrier = false;
    uint8_t jumps = 0;  // that leave the statement
    void add(const Facts& more) {
      has_together = has_together || more.has_together;
      for_all = for_all || more.for_all;
      has_simd = has_simd || more.has_simd;
      has_barrier = has_barrier || more.has_barrier;
      jumps |= more.jumps;
    }
  };
  // The position of a jump's replacement within the unchanged statements.
  struct Inside {
    bool is_last = true;  // nothing follows it in the collected statements
    bool loop = false;    // a loop is around it: its own continue
    bool breakable = false;
  };

  Facts learn(const Block& statements) {
    Facts all;
    for (const Statement* s : statements) all.add(learn(*s));
    return all;
  }

  Facts learn(const Statement& s) {
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

  bool diverges(const Statement& s) const {
    const auto copied = originals_.find(&s);
    const Uniformity& known = !rules_.may_be_in_branches && !facts_.at(&s).has_simd ? uniform_.guess : uniform_.certain;
    return is_called_apart_ || known.diverges(copied != originals_.end() ? *copied->second : s);
  }

  // Where all threads are active: whether they may diverge here.
  bool is_cut(const Statement& s) const {
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

  uint8_t jumps_of(const Block& statements) const {
    uint8_t jumps = 0;
    for (const Statement* s : statements) jumps |= facts_.at(s).jumps;
    return jumps;
  }

  // ---- While all threads take the same way
  void keep(Block& statements) {
    Block made;
    for (Statement* s : statements) keep(*s, made);
    statements = std::move(made);
  }

  void keep(Statement& s, Block& out) {
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

  // A round of a loop.
  void keep_round(Block& body) {
    const Expression* last = body.empty() ? nullptr : body.back()->value;
    const bool is_ended = last != nullptr && is_together(*last, collectives_.together);
    keep(body);
    if (!is_ended) end_round(body);
  }

  // ---- Regions
  void begin_function(Function& function, const Variable& is_active, Block& out) {
    regions_ = {{RegionKind::Function, &is_active}};
    result_ = nullptr;
    if (function.result->is(TypeKind::Void)) return;
    result_ = &b_.local("result", function.result);
    declare_outside(*result_, out);
  }

  void end_function(const Function& function, Block& out) {
    b_.at = function.at;
    if (result_ != nullptr) out.push_back(b_.return_(b_.variable(*result_)));
    regions_.clear();
  }

  void enter(const Block& statements, Block& out, bool used_outside = false) {
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

  // `by_all`: all threads are active at its beginning.
  Block entered(const Block& statements, bool by_all = false) {
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

  void cut(Statement& s, Block& gathered, Block& out) {
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

  void cut_collective(Statement& s, Block& gathered, Block& out) {
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

  void cut_if(Statement& s, Block& out) {
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

  void cut_loop(Statement& s, Block& out) {
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
  void cut_whole_loop(Statement& s, Block& out) {
    s.value = s.value == nullptr ? active() : if_active(s.value);
    const std::vector<Region> around = std::exchange(regions_, {});
    keep_round(s.body);
    keep(s.step);
    regions_ = around;
    out.push_back(&s);
  }

  // A number says which case a thread begins with; then all walk through all of them.
  void cut_switch(Statement& s, Block& out) {
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
      const Expression* begins =
          b_.binary(Operator::Equal, b_.variable(first), b_.constant_int(static_cast<int64_t>(i)));
      out.push_back(b_.assign(active(), b_.logical_or(active(), begins)));
      put(entered(s.cases[i].body), out);
    }
    regions_.pop_back();
  }

  // Puts it there as its own block, if necessary.
  void put(Block made, Block& out) {
    if (made.empty()) return;
    const bool is_bare = made.size() == 1 && made[0]->kind != StatementKind::Declare;
    out.push_back(is_bare ? made[0] : b_.block(std::move(made)));
  }

  // A round of a loop.
  void end_round(Block& out) {
    if (!rules_.may_be_in_branches) out.push_back(b_.evaluate(b_.intrinsic(Intrinsic::GroupBarrier, {}, kEndOfLoop)));
  }

  void flush(Block& gathered, Block& out) {
    if (!gathered.empty()) out.push_back(b_.if_(active(), std::exchange(gathered, {})));
  }

  const Expression* active() { return b_.variable(*regions_.back().active); }

  // The condition, and that the thread is active.
  const Expression* if_active(const Expression* condition) {
    return regions_.empty() ? condition : b_.logical_and(active(), condition);
  }

  const Variable& flag(const char* name, const Expression* value, Block& out) {
    const Variable& made = b_.local(name, b_.type(TypeKind::Bool));
    out.push_back(b_.declare(made, value));
    return made;
  }

  // Variables that are declared in one part of the gathered code and used in another, with code for all threads
  // between.
  std::unordered_set<const Variable*> shared_variables(const Block& statements) const {
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

  // Threads that are not active read it too, where it is an operand.
  void declare_outside(const Variable& variable, Block& out) {
    const Type* type = variable.type;
    const bool is_address = type->is_pointer() && (!rules_.may_leave_pointers_unset || type->space == Space::Device ||
                                                   type->space == Space::Constant);
    const bool has_value = (type->is_number() && !type->packed) || is_address;
    out.push_back(b_.declare(variable, has_value && variable.space == Space::Thread ? b_.zero(type) : nullptr));
  }

  // ---- Operands that only active threads may evaluate
  // Whether a thread may work it out that should not: it reads no memory but variables, and does not divide.
  bool is_harmless(const Expression& e) const {
    switch (e.kind) {
      case ExpressionKind::Dereference:
      case ExpressionKind::Call:
        return false;
      case ExpressionKind::AddressOf:
      case ExpressionKind::Decay:
        return is_harmless_address(*e.operands[0]);
      case ExpressionKind::Index:
        if (e.operands[1]->kind != ExpressionKind::Constant) return false;
        break;
      case ExpressionKind::Binary:
        if ((e.op == Operator::Divide || e.op == Operator::Remainder) && e.type->scalar()->is_integer()) return false;
        break;
      case ExpressionKind::Intrinsic:
        if (e.intrinsic > Intrinsic::Select && e.intrinsic < Intrinsic::GridPosition) return false;
        break;
      default:
        break;
    }
    return std::ranges::all_of(e.operands, [&](const Expression* operand) { return is_harmless(*operand); });
  }

  bool is_harmless_address(const Expression& place) const {
    switch (place.kind) {
      case ExpressionKind::Variable:
        return true;
      case ExpressionKind::Dereference:
        return is_harmless(*place.operands[0]);
      case ExpressionKind::Index:
        return is_harmless(*place.operands[1]) && is_harmless_address(*place.operands[0]);
      default:
        return place.kind == ExpressionKind::Member && is_harmless_address(*place.operands[0]);
    }
  }

  const Expression* guarded(const Expression* e, Block& gathered, Block& out) {
    if (is_harmless(*e)) return e;
    const bool is_own_memory =
        e->type->is_pointer() && e->type->space != Space::Device && e->type->space != Space::Constant;
    const bool has_steps = e->kind == ExpressionKind::AddressOf || e->kind == ExpressionKind::Decay ||
                           e->kind == ExpressionKind::PointerAdd || e->kind == ExpressionKind::PointerCast;
    // Targets trace such a pointer to its origin: only its operands are guarded.
    if (is_own_memory && has_steps) return guarded_address(e, gathered, out);
    const Variable& kept = b_.local("operand", e->type);
    declare_outside(kept, out);
    gathered.push_back(b_.assign(b_.variable(kept), e));
    return b_.variable(kept);
  }

  const Expression* guarded_address(const Expression* e, Block& gathered, Block& out) {
    Expression& made = b_.module().make_expression(e->kind, e->type, e->at);
    made = *e;
    for (const Expression*& operand : made.operands) {
      const bool is_step = operand->kind == ExpressionKind::Variable || operand->kind == ExpressionKind::Member ||
                           operand->kind == ExpressionKind::Index || operand->kind == ExpressionKind::Dereference;
      const bool is_place_of = e->kind != ExpressionKind::PointerAdd && e->kind != ExpressionKind::PointerCast &&
                               e->kind != ExpressionKind::Dereference && &operand == &made.operands[0];
      operand = is_place_of && is_step ? guarded_address(operand, gathered, out) : guarded(operand, gathered, out);
    }
    return &made;
  }

  // ---- Jumps
  void leave(const Statement& jump, Block& out) {
    if (jump.value != nullptr && result_ != nullptr) out.push_back(b_.assign(b_.variable(*result_), jump.value));
    if (&jump == last_) return;
    for (size_t i = regions_.size(); i-- > 0;) {
      const RegionKind kind = regions_[i].kind;
      out.push_back(b_.assign(b_.variable(*regions_[i].active), b_.constant_bool(false)));
      if (jump.kind == StatementKind::Break && (kind == RegionKind::Loop || kind == RegionKind::Switch)) return;
      if (jump.kind == StatementKind::Continue && kind == RegionKind::Turn) return;
    }
  }

  // For statements of which only the jumps change: a jump becomes the statements of leave(), then a break out of each
  // loop around it. enter() makes the outermost of these loops.
  void replace_jumps(Block& statements, Inside inside) {
    Block made;
    const auto go = [&](const Inside& from) {
      if (from.is_last) return;
      if (!from.breakable) needs_wrapper_ = true;
      made.push_back(b_.break_());
    };
    for (size_t i = 0; i < statements.size(); ++i) {
      Statement& s = *statements[i];
      b_.at = s.at;
      const bool is_jump =
          s.kind == StatementKind::Break || s.kind == StatementKind::Continue || s.kind == StatementKind::Return;
      if (is_jump && !is_own_jump(s.kind, inside)) {
        leave(s, made);
        go(inside);
        break;
      }
      made.push_back(&s);
      if (is_jump || !leaves(s, inside)) continue;
      Inside deeper = inside;
      deeper.is_last = inside.is_last && i + 1 == statements.size();
      const bool is_loop = s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop;
      if (!is_loop && s.kind != StatementKind::Switch) {
        replace_jumps(s.body, deeper);
        replace_jumps(s.otherwise, deeper);
        continue;
      }
      const Inside within{false, inside.loop || is_loop, true};
      replace_jumps(s.body, within);
      for (Case& one : s.cases) replace_jumps(one.body, within);
      b_.at = s.at;
      if (deeper.is_last) continue;
      if (!inside.breakable) needs_wrapper_ = true;
      made.push_back(b_.if_(b_.logical_not(active()), {b_.break_()}));
    }
    statements = std::move(made);
  }

  bool is_own_jump(StatementKind kind, const Inside& inside) const {
    return (kind == StatementKind::Break && inside.breakable) || (kind == StatementKind::Continue && inside.loop);
  }

  // Whether it contains a jump out of the gathered code.
  bool leaves(const Statement& s, const Inside& inside) const {
    uint8_t jumps = facts_.at(&s).jumps;
    if (inside.breakable) jumps &= static_cast<uint8_t>(~kBreaks);
    if (inside.loop) jumps &= static_cast<uint8_t>(~kContinues);
    return jumps != 0;
  }

  Builder b_;
  const CollectiveRules rules_;
  const Knowledge uniform_;
  const Collectives collectives_;
  const Variants& variants_;

  std::vector<Region> regions_;
  std::unordered_map<const Statement*, Facts> facts_;
  std::unordered_map<const Statement*, const Statement*> originals_;  // of a variant's statements
  bool is_called_apart_ = false;
  const Variable* result_ = nullptr;
  const Statement* last_ = nullptr;  // of the function: after it `active` is not needed
  bool needs_wrapper_ = false;       // replace_jumps() created a break that needs a loop
};

// ---- Modules --------------------------------------------------------------------------------------------------------

using FunctionSet = std::unordered_set<const Function*>;

bool predicate_has(const Function& function, const std::unordered_set<const Expression*>& some) {
  bool found = false;
  if (!some.empty()) for_each_expression(function.body, [&](const Expression& e) { found |= some.contains(&e); });
  return found;
}

// Every function that could need a variant has one. Of the two, those without callers are removed.
void predicate_drop_unused(Module& module, const FunctionSet& candidates) {
  FunctionSet called;
  std::vector<Function*> kept;
  for (auto at = module.functions.rbegin(); at != module.functions.rend(); ++at) {
    Function* function = *at;
    if (!function->is_kernel && candidates.contains(function) && !called.contains(function)) continue;
    kept.push_back(function);
    for_each_expression(function->body, [&](const Expression& e) {
      if (e.kind == ExpressionKind::Call) called.insert(e.function);
    });
  }
  module.functions.assign(kept.rbegin(), kept.rend());
}

// Those that not all threads of a group call together, perhaps.
FunctionSet predicate_called_apart(const Module& module, const FunctionSet& simd, const Uniformity& certain,
                                   const Uniformity& guess) {
  FunctionSet found;
  for (auto at = module.functions.rbegin(); at != module.functions.rend(); ++at) {
    for_each_expression((*at)->body, [&](const Expression& e) {
      if (e.kind != ExpressionKind::Call) return;
      const auto& apart = simd.contains(e.function) ? certain.collectives_apart() : guess.barriers_apart();
      if (found.contains(*at) || apart.contains(&e)) found.insert(e.function);
    });
  }
  return found;
}

}  // namespace

void make_collectives_uniform(Module& module, const CollectiveRules& rules) {
  FunctionSet together, simd, barriers;
  {
    const Uses uses(module);
    for (const Function* function : module.functions) {
      const FunctionUses& used = uses.of(*function);
      if (used.has_simd_collectives()) simd.insert(function);
      if (used.has_barriers()) barriers.insert(function);
      if (used.has_simd_collectives() || used.has_barriers()) together.insert(function);
    }
  }
  if (together.empty()) return;
  // Whether a barrier is missed is a guess, as for the warning: memory that never changes must not make code slower.
  constexpr auto kStays = Uniformity::ConstMemory::Stays;
  if (rules.may_be_in_branches && simd.empty() && Uniformity(module, kStays).barriers_apart().empty()) return;
  for (Function* function : module.functions)
    if (together.contains(function)) CollectiveSplitter(module, together).block(function->body);

  const Uniformity certain(module), guess(module, kStays);
  const FunctionSet called_apart = predicate_called_apart(module, simd, certain, guess);
  const Predicator::Collectives collectives{together, simd, barriers, called_apart, guess.barriers_apart()};
  Predicator::Variants variants;
  FunctionSet candidates;
  std::vector<Function*> functions;
  const auto predicator = [&] { return Predicator(module, rules, {certain, guess}, collectives, variants); };
  for (Function* function : module.functions) {
    if (together.contains(function) && !function->is_kernel) {
      Function& variant = clone_function(module, *function, function->name);
      predicator().rewrite_variant(variant, *function);
      variants[function] = &variant;
      candidates.insert({function, &variant});
      functions.push_back(&variant);
    }
    const bool is_rewritten = !rules.may_be_in_branches
                                  ? together.contains(function)
                                  : simd.contains(function) || predicate_has(*function, guess.barriers_apart());
    if (is_rewritten) predicator().rewrite(*function);
    functions.push_back(function);
  }
  module.functions = std::move(functions);
  predicate_drop_unused(module, candidates);
}

}  // namespace kymo::shader::ir
