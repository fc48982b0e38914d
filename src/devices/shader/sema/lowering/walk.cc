#include "shader/sema/lowering/walk.h"

namespace kymo::shader {

namespace {

using WalkNames = std::unordered_set<std::string_view>;

void walk_declaration(const ast::Declaration& declaration, WalkNames& into);

void walk_type(const ast::TypeName* type, WalkNames& into) {
  for (; type != nullptr; type = type->inner) {
    if (type->expression != nullptr) collect_names(*type->expression, into);
    for (const ast::NamePart& part : type->name.parts) {
      for (const ast::TemplateArgument& argument : part.arguments) {
        if (argument.value != nullptr) collect_names(*argument.value, into);
        walk_type(argument.type, into);
      }
    }
  }
}

void walk_name(const ast::Name& name, WalkNames& into) {
  for (const ast::NamePart& part : name.parts) {
    for (const ast::TemplateArgument& argument : part.arguments) {
      if (argument.value != nullptr) collect_names(*argument.value, into);
      walk_type(argument.type, into);
    }
  }
}

void walk_declaration(const ast::Declaration& declaration, WalkNames& into) {
  walk_type(declaration.type, into);
  if (declaration.initializer != nullptr) collect_names(*declaration.initializer, into);
  for (const ast::Expression* argument : declaration.direct_arguments) collect_names(*argument, into);
  for (const ast::Declaration* parameter : declaration.parameters) walk_declaration(*parameter, into);
  if (declaration.body != nullptr) collect_names(*declaration.body, into);
}

}  // namespace

void collect_names(const ast::Expression& expression, WalkNames& into) {
  if (expression.kind == ast::ExpressionKind::Name && !expression.name.from_global &&
      expression.name.parts.size() == 1) {
    into.insert(expression.name.parts[0].name);
  }
  walk_name(expression.name, into);
  walk_type(expression.type, into);
  for (const ast::Expression* operand : expression.operands) collect_names(*operand, into);
  if (expression.lambda == nullptr) return;
  for (const ast::Capture& capture : expression.lambda->captures) {
    if (capture.value == nullptr) {
      into.insert(capture.name);
    } else {
      collect_names(*capture.value, into);
    }
  }
  if (expression.lambda->function != nullptr) walk_declaration(*expression.lambda->function, into);
}

void collect_names(const ast::Statement& statement, WalkNames& into) {
  for (const ast::Statement* each : statement.statements) collect_names(*each, into);
  for (const ast::Declaration* declaration : statement.declarations) walk_declaration(*declaration, into);
  for (const ast::Expression* each : {statement.expression, statement.step}) {
    if (each != nullptr) collect_names(*each, into);
  }
  for (const ast::Statement* each : {statement.init, statement.body, statement.otherwise}) {
    if (each != nullptr) collect_names(*each, into);
  }
}

}  // namespace kymo::shader
