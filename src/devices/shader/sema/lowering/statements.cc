// Statements, loops and switches. An error is reported, and the next statement is lowered, so that one run finds
// several errors.

#include "base/text.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

void Lowering::block(std::span<const ast::Statement* const> statements, Scope& scope, ir::Block& into) {
  const Into writing(*this, into);
  for (const ast::Statement* each : statements) {
    if (diagnostics_.is_full()) return;
    try {
      statement(*each, scope);
    } catch (const Rejected& rejected) {
      context_.report(rejected);
      declare_broken(*each, scope);
    }
  }
}

// Declares the name of a declaration that failed, so that its uses are not reported too.
void Lowering::declare_broken(const ast::Statement& statement, Scope& scope) {
  if (statement.kind != ast::StatementKind::Declare) return;
  for (const ast::Declaration* declaration : statement.declarations) {
    const auto add = [&](std::string_view name) {
      if (name.empty() || scope.symbols.find(name) != scope.symbols.end()) return;
      lookup_.make_symbol(Symbol::Kind::Local, name, scope).value = nullptr;
    };
    if (declaration->kind == ast::DeclarationKind::Variable) add(declaration->name);
    for (const std::string_view name : declaration->bindings) add(name);
  }
}

void Lowering::nested(const ast::Statement& statement, Scope& scope, ir::Block& into) {
  Scope& inner = lookup_.make_scope(Scope::Kind::Block, &scope);
  const ast::Statement* one = &statement;
  if (statement.kind == ast::StatementKind::Block) {
    block(statement.statements, inner, into);
  } else {
    block(std::span(&one, 1), inner, into);
  }
}

void Lowering::statement(const ast::Statement& statement, Scope& scope) {
  const DepthGuard guard(expression_depth_, 250, statement.at, "the statement");
  using Kind = ast::StatementKind;
  build_.at = statement.at;
  switch (statement.kind) {
    case Kind::Empty:
      return;
    case Kind::Block: {
      ir::Block body;
      nested(statement, scope, body);
      if (!body.empty()) emit(build(statement.at).block(std::move(body)));
      return;
    }
    case Kind::Expression:
      return discard(*statement.expression, scope);
    case Kind::Declare:
      for (const ast::Declaration* declaration : statement.declarations) declare_local(*declaration, scope);
      return;
    case Kind::If:
      return if_statement(statement, scope);
    case Kind::While:
    case Kind::For:
      return loop_statement(statement, scope);
    case Kind::DoWhile:
      return do_statement(statement, scope);
    case Kind::RangeFor:
      return range_for(statement, scope);
    case Kind::Switch:
      return switch_statement(statement, scope);
    case Kind::Case:
    case Kind::Default:
      throw Rejected{statement.at, "a case must be directly in the braces of its switch"};
    case Kind::Break:
      if (body_.breakable == 0) throw Rejected{statement.at, "break is outside of loops and switches"};
      return emit(build(statement.at).break_());
    case Kind::Continue:
      if (body_.continuable == 0) throw Rejected{statement.at, "continue is outside of loops"};
      return emit(build(statement.at).continue_());
    case Kind::Return:
      return return_statement(statement, scope);
  }
}

void Lowering::discard(const ast::Expression& expression, Scope& scope) {
  if (expression.kind == ast::ExpressionKind::Binary && expression.op == ",") {
    const DepthGuard guard(expression_depth_, 250, expression.at, "the expression");
    discard(*expression.operands[0], scope);
    return discard(*expression.operands[1], scope);
  }
  // i++ for its effect alone is ++i.
  if (expression.kind == ast::ExpressionKind::Postfix) {
    const Value operand = this->expression(*expression.operands[0], scope);
    if (operand.braces == nullptr && operand.type != nullptr && !operand.type->is_struct() &&
        !operand.type->is_enum()) {
      const Value place = reusable(operand);
      return assign(place, step(place, expression.op == "++", expression.at).ir, expression.at);
    }
  }
  if (expression.kind == ast::ExpressionKind::Postfix) {
    postfix(expression, scope);
    return;
  }
  const Value value = this->expression(expression, scope);
  if (value.braces != nullptr) throw Rejected{expression.at, "{...} is not a statement"};
  // Removes the temporary of an unused result.
  if (value.ir == nullptr || body_.block->empty()) return;
  ir::Statement& last = *body_.block->back();
  const ir::Expression* kept = value.ir->kind == ir::ExpressionKind::Dereference ? value.ir->operands[0] : value.ir;
  if (last.kind != ir::StatementKind::Declare || last.value == nullptr || kept->kind != ir::ExpressionKind::Variable ||
      kept->variable != last.variable ||
      (last.value->kind != ir::ExpressionKind::Call && last.value->kind != ir::ExpressionKind::Intrinsic)) {
    return;
  }
  last.kind = ir::StatementKind::Evaluate;
  last.variable = nullptr;
}

void Lowering::return_statement(const ast::Statement& statement, Scope& scope) {
  const Location at = statement.at;
  if (body_.is_constructor) {
    if (statement.expression != nullptr) throw Rejected{at, "a constructor returns no value"};
    return emit(build(at).return_(body_.self->ir));
  }
  const Type* void_type = table_.get(TypeKind::Void);
  if (statement.expression == nullptr) {
    if (body_.result != nullptr && body_.result != void_type) {
      throw Rejected{at, "a value of type " + in_quotes(body_.result) + " must be returned"};
    }
    body_.result = void_type;
    return emit(build(at).return_());
  }
  Value value = body_.result != nullptr && body_.result->is(TypeKind::Reference) &&
                        statement.expression->kind == ast::ExpressionKind::Conditional
                    ? conditional_place(*statement.expression, scope)
                    : expression(*statement.expression, scope);
  if (body_.result == nullptr) {
    deduce_result(value, scope, at);
    body_.deduces_result = true;
  } else if (body_.deduces_result && value.braces == nullptr && !body_.result->is_pointer() &&
             !body_.result->is(TypeKind::Reference) && plain(decayed(value).type) != body_.result) {
    throw Rejected{at, "the function returns auto, " + in_quotes(body_.result) + " first and " + in_quotes(value.type) +
                           " here: write the type that it returns"};
  }
  if (body_.result == void_type) {
    if (!is_void(value))
      throw Rejected{at, "the function returns void, not " + (value.type != nullptr ? in_quotes(value.type) : "{...}")};
    return emit(build(at).return_());
  }
  if (is_void(value))
    throw Rejected{at, "a value of type " + in_quotes(body_.result) + " must be returned, and this is void"};
  QualifiedType wanted;
  wanted.type = body_.result;
  if (body_.result->is_pointer() || body_.result->is(TypeKind::Reference)) {
    wanted = types_.adapt(wanted, body_.result->is_pointer() ? decayed(value) : value);
    body_.result = wanted.type;
  }
  if (body_.result->is(TypeKind::Reference) && !value.is_place) {
    throw Rejected{at, "cannot return a reference to a value: only variables, elements and members have an address"};
  }
  if (!body_.result->is(TypeKind::Reference)) wanted.type = plain(wanted.type);
  // A variable of the function is not copied, but becomes the result.
  const bool is_variable = value.is_place && value.type->is_struct() && wanted.type == value.type &&
                           statement.expression->kind == ast::ExpressionKind::Name &&
                           value.ir->kind == ir::ExpressionKind::Variable && !value.ir->variable->is_parameter &&
                           value.ir->variable->space == Space::Thread &&
                           value.ir->variable->name == statement.expression->name.last().name;
  emit(build(at).return_(convert(is_variable ? load(value) : value, wanted, at, "the value returned")));
}

// The first return statement of a function that returns auto gives the type.
void Lowering::deduce_result(const Value& value, Scope& scope, Location at) {
  if (is_void(value)) {
    body_.result = value.type;
    return;
  }
  if (value.braces != nullptr) throw Rejected{at, "{...} has no type here: write the type that the function returns"};
  const ast::Declaration& declaration = *body_.instance->declaration;
  QualifiedType declared;
  declared.is_auto = true;
  if (declaration.type != nullptr) declared = types_.resolve(*declaration.type, scope);
  const QualifiedType deduced = declared.is_auto && declared.declared != nullptr
                                    ? templates_.deduce_auto(declared, value, scope, at)
                                    : QualifiedType{.type = decayed(value).type};
  body_.result = deduced.type->is(TypeKind::Reference) ? deduced.type : plain(deduced.type);
}

void Lowering::if_statement(const ast::Statement& statement, Scope& scope) {
  Scope& inner = lookup_.make_scope(Scope::Kind::Block, &scope);
  if (statement.init != nullptr) this->statement(*statement.init, inner);
  if (statement.is_constexpr) {
    if (statement.expression == nullptr) throw Rejected{statement.at, "if constexpr needs a condition"};
    const bool chosen = constant_bool(*statement.expression, inner, "the condition of if constexpr");
    const ast::Statement* done = chosen ? statement.body : statement.otherwise;
    if (done == nullptr) return;
    return nested(*done, inner, *body_.block);
  }
  const ir::Expression* condition = this->condition(statement, inner);
  ir::Block body, otherwise;
  if (condition->kind == ir::ExpressionKind::Constant) {  // one side is never executed: it is only checked
    const ast::Statement* done = condition->bits != 0 ? statement.body : statement.otherwise;
    const ast::Statement* looked_at = condition->bits != 0 ? statement.otherwise : statement.body;
    if (looked_at != nullptr) {
      const Restore<bool> unevaluated(body_.is_unevaluated);
      const Restore<bool> effects(body_.has_effects);
      body_.is_unevaluated = true;
      nested(*looked_at, inner, otherwise);
    }
    if (done != nullptr) nested(*done, inner, body);
    if (!body.empty()) emit(build(statement.at).block(std::move(body)));
    return;
  }
  nested(*statement.body, inner, body);
  if (statement.otherwise != nullptr) nested(*statement.otherwise, inner, otherwise);
  emit(build(statement.at).if_(condition, std::move(body), std::move(otherwise)));
}

// An expression, or a declaration with its variable as the condition.
const ir::Expression* Lowering::condition(const ast::Statement& statement, Scope& scope) {
  if (!statement.declarations.empty()) {
    const ast::Declaration& declared = *statement.declarations[0];
    declare_local(declared, scope);
    const std::vector<const Symbol*> found = lookup_.find(declared.name, scope);
    if (found.empty() || found[0]->value == nullptr) throw Rejected{statement.at, "a condition must be a value"};
    return truth(*found[0]->value, declared.at, "a condition");
  }
  const Value value = expression(*statement.expression, scope);
  if (is_void(value)) throw Rejected{statement.expression->at, "a condition must be a value, and this is void"};
  return truth(value, statement.expression->at, "a condition");
}

// ---- Loops and switches ---------------------------------------------------------------------------------------------

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
  OverloadSet set{.name = name, .object = object, .at = at, .is_qualified = true};
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
