// Statements. An error is reported, and the next statement is lowered, so that one run finds several errors.

#include "shader/sema/guards.h"
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

}  // namespace kymo::shader
