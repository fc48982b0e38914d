// Loops and switches.

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

class LoopDepth {
 public:
  LoopDepth(int& breakable, int* continuable) : breakable_(breakable), continuable_(continuable) {
    ++breakable_;
    if (continuable_ != nullptr) ++*continuable_;
  }
  ~LoopDepth() {
    --breakable_;
    if (continuable_ != nullptr) --*continuable_;
  }
  LoopDepth(const LoopDepth&) = delete;
  LoopDepth& operator=(const LoopDepth&) = delete;

 private:
  int& breakable_;
  int* continuable_;
};

// The outermost block of the body cannot declare again what the loop itself declares.
void check_body_names(const ast::Statement& body, std::initializer_list<const Scope*> scopes) {
  if (body.kind != ast::StatementKind::Block) return;
  for (const ast::Statement* statement : body.statements) {
    if (statement->kind != ast::StatementKind::Declare) continue;
    for (const ast::Declaration* declared : statement->declarations)
      for (const Scope* scope : scopes)
        if (!declared->name.empty() && scope->symbols.contains(declared->name))
          throw Rejected{declared->at, base::format("the loop declares \"{}\" already: give one of them another name",
                                                    declared->name)};
  }
}

}  // namespace

void Lowering::loop_statement(const ast::Statement& statement, Scope& scope) {
  Scope& around = lookup_.make_scope(Scope::Kind::Block, &scope);
  ir::Block whole, before, body, step;
  const ir::Expression* condition = nullptr;
  {
    const Into into(*this, whole);
    if (statement.init != nullptr) this->statement(*statement.init, around);
  }
  // A variable of the condition is new in each iteration.
  Scope& turn = lookup_.make_scope(Scope::Kind::Block, &around);
  if (statement.expression != nullptr || !statement.declarations.empty()) {
    const Into into(*this, before);
    condition = this->condition(statement, turn);
    if (condition->kind == ir::ExpressionKind::Constant && condition->bits != 0) condition = nullptr;
  }
  check_body_names(*statement.body, {&around, &turn});
  {
    const LoopDepth depth(body_.breakable, &body_.continuable);
    nested(*statement.body, turn, body);
  }
  if (statement.step != nullptr) {
    const Into into(*this, step);
    discard(*statement.step, turn);
  }
  ir::Statement* loop = build(statement.at).loop(condition, std::move(body), std::move(step), std::move(before));
  loop->unroll = statement.unroll;
  if (whole.empty()) return emit(loop);
  whole.push_back(loop);
  emit(build(statement.at).block(std::move(whole)));
}

void Lowering::do_statement(const ast::Statement& statement, Scope& scope) {
  ir::Block body, before;
  {
    const LoopDepth depth(body_.breakable, &body_.continuable);
    nested(*statement.body, scope, body);
  }
  const ir::Expression* condition = nullptr;
  {
    const Into into(*this, before);
    condition = this->condition(statement, scope);
  }
  emit(build(statement.at).do_loop(std::move(body), condition, std::move(before)));
}

// Over an array, and what has size() and operator[], by an index; over what has begin() and end() by a pointer, or by
// an object with the operators * ++ and !=.
void Lowering::range_for(const ast::Statement& statement, Scope& scope) {
  const Location at = statement.at;
  ir::Block whole;
  ir::Statement* loop = nullptr;
  {
    const Into into(*this, whole);
    Scope& around = lookup_.make_scope(Scope::Kind::Block, &scope);
    if (statement.init != nullptr) this->statement(*statement.init, around);
    Value range = expression(*statement.expression, around);
    if (range.braces != nullptr)
      throw Rejected{at, "a range for over {...} is not supported: put the values into an array"};
    Value position, last;
    const bool is_indexed = range.type->is_array() || !has_method(range, "begin");
    range = range.is_place ? freeze(range) : freeze(object_place(range, at));
    if (is_indexed) {
      ir::Variable& index = local("index", table_.get(TypeKind::Int), build(at).constant_int(0), at);
      position = rvalue(build(at).variable(index));
      last = range.type->is_array() ? rvalue(build(at).constant_int(static_cast<int64_t>(range.type->count)))
                                    : call_method(range, "size", around, at);
      last = rvalue(settle(as_number(last, table_.get(TypeKind::Int), at)));
    } else {
      position = call_method(range, "begin", around, at);
      ir::Variable& pointer = local("position", position.type, read(position), at);
      last = call_method(range, "end", around, at);
      last = rvalue(settle(read(last)), last.type);
      position = rvalue(build(at).variable(pointer), position.type);
    }
    position.is_place = true;
    const bool is_object = position.type->is_struct();
    const auto of_object = [&](std::string_view op) {
      std::optional<Value> found = overloaded(op, std::span(&position, 1), around, at);
      if (!found)
        throw Rejected{at,
                       in_quotes(position.type) + " is not an iterator: no operator" + std::string(op) + " takes it"};
      return *found;
    };
    ir::Block before, body, step;
    const ir::Expression* condition = nullptr;
    {
      const Into writing(*this, before);
      condition = truth(binary_of(is_indexed ? "<" : "!=", is_object ? position : load(position), last, around, at), at,
                        "the end of the range");
    }
    {
      const LoopDepth depth(body_.breakable, &body_.continuable);
      const Into writing(*this, body);
      Scope& turn = lookup_.make_scope(Scope::Kind::Block, &around);
      Value operands[] = {range, load(position)};
      const Value item = range.type->is_array() ? element(range, operands[1], at)
                         : is_indexed           ? overloaded("[]", operands, turn, at).value_or(range)
                         : is_object            ? of_object("*")
                                                : pointee(operands[1], at);
      declare_item(*statement.declarations[0], item, turn);
      check_body_names(*statement.body, {&turn});
      nested(*statement.body, turn, body);
    }
    {
      const Into writing(*this, step);
      if (is_object)
        of_object("++");
      else
        assign(position, read(this->step(load(position), true, at)), at);
    }
    loop = build(at).loop(condition, std::move(body), std::move(step), std::move(before));
    loop->unroll = statement.unroll;
  }
  whole.push_back(loop);
  emit(build(at).block(std::move(whole)));
}

bool Lowering::has_method(const Value& object, std::string_view name) {
  const Class* owner = types_.class_of(object.type);
  if (owner == nullptr) return false;
  const std::vector<const Symbol*> found = lookup_.find_in(name, *owner->scope);
  return !found.empty() && found.front()->kind == Symbol::Kind::Function;
}

Value Lowering::call_method(const Value& object, std::string_view name, Scope& scope, Location at) {
  Class* owner = types_.class_of(object.type);
  OverloadSet set;
  set.name = name;
  set.at = at;
  set.is_qualified = true;
  set.object = object;
  if (owner != nullptr) {
    for (const Symbol* symbol : lookup_.find_in(name, *owner->scope)) {
      if (symbol->kind == Symbol::Kind::Function) set.candidates.push_back(symbol);
    }
  }
  if (set.candidates.empty())
    throw Rejected{at, in_quotes(object.type) + " is not a range: it has no " + std::string(name) + "()"};
  return call_overloads(set, {}, scope, at);
}

void Lowering::switch_statement(const ast::Statement& statement, Scope& scope) {
  const Location at = statement.at;
  Scope& around = lookup_.make_scope(Scope::Kind::Block, &scope);
  if (statement.init != nullptr) this->statement(*statement.init, around);
  const Value given = load(number_of(expression(*statement.expression, around), at));
  if (!given.type->is_scalar() || given.type->is_floating()) {
    throw Rejected{at, "a switch is over an integer, not over " + in_quotes(given.type)};
  }
  const Type* number = given.type->is_enum() ? given.type->underlying : given.type;
  const Type* type = number->size < 4 ? table_.get(TypeKind::Int) : number;
  const ir::Expression* value = convert_number(given.ir, type, at);
  if (statement.body->kind != ast::StatementKind::Block) throw Rejected{at, "a switch needs braces around its cases"};

  // As in C++, a variable of one case can be used in the next only if it has no initializer.
  Scope& inner = lookup_.make_scope(Scope::Kind::Block, &around);
  std::vector<ir::Case> cases;
  std::unordered_set<int64_t> known;
  bool has_default = false, was_label = false;
  const LoopDepth depth(body_.breakable, nullptr);
  for (const ast::Statement* each : statement.body->statements) {
    const bool is_label = each->kind == ast::StatementKind::Case || each->kind == ast::StatementKind::Default;
    if (is_label) {
      if (!was_label) cases.emplace_back();
      was_label = true;
      if (each->kind == ast::StatementKind::Default) {
        if (has_default) throw Rejected{each->at, "a switch has one default only"};
        has_default = cases.back().is_default = true;
        continue;
      }
      const ir::Expression* label = constant(*each->expression, inner, "the value of a case");
      if (label->kind != ir::ExpressionKind::Constant || label->type->is_floating()) {
        throw Rejected{each->at, "the value of a case must be an integer"};
      }
      const auto number = static_cast<int64_t>(convert_number(label, type, each->at)->bits);
      if (!known.insert(number).second)
        throw Rejected{each->at, "the case " + std::to_string(number) + " is there already"};
      cases.back().values.push_back(number);
      continue;
    }
    was_label = false;
    if (cases.empty()) {
      if (each->kind == ast::StatementKind::Empty) continue;
      if (each->kind == ast::StatementKind::Declare && declares_without_value(*each)) {
        block(std::span(&each, 1), inner, *body_.block);
        continue;
      }
      throw Rejected{each->at, "a statement before the first case is never reached"};
    }
    const bool is_shared = each->kind == ast::StatementKind::Declare && declares_without_value(*each);
    block(std::span(&each, 1), inner, is_shared ? *body_.block : cases.back().body);
  }
  emit(build(at).switch_(value, std::move(cases)));
}

bool Lowering::declares_without_value(const ast::Statement& statement) {
  for (const ast::Declaration* declaration : statement.declarations) {
    if (declaration->kind != ast::DeclarationKind::Variable || declaration->initializer != nullptr ||
        declaration->direct)
      return false;
  }
  return true;
}

}  // namespace kymo::shader
