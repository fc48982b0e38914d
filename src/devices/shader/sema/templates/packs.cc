// Expansion of packs: a pattern before ... is used once for each element.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/templates/templates.h"

namespace kymo::shader {
namespace {

// The names in a part of a tree that may be packs, except those inside another pattern with "...".
class MentionedNames {
 public:
  std::vector<std::string_view> names;

  void expression(const ast::Expression& expression) {
    if (expression.kind == ast::ExpressionKind::SizeofPack || expression.kind == ast::ExpressionKind::Fold) return;
    name(expression.name);
    if (expression.type != nullptr) type(*expression.type);
    for (const ast::Expression* operand : expression.operands)
      if (!operand->is_expansion) this->expression(*operand);
    if (expression.lambda == nullptr) return;
    for (const ast::Capture& capture : expression.lambda->captures) {
      add(capture.name);
      if (capture.value != nullptr) this->expression(*capture.value);
    }
    if (expression.lambda->function->body != nullptr) statement(*expression.lambda->function->body);
  }
  void type(const ast::TypeName& type) {
    name(type.name);
    if (type.expression != nullptr) expression(*type.expression);
    if (type.inner != nullptr) this->type(*type.inner);
    for (const ast::TypeName* parameter : type.parameters) this->type(*parameter);
  }

 private:
  void add(std::string_view name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  void name(const ast::Name& name) {
    for (size_t i = 0; i < name.parts.size(); ++i) {
      if (name.parts[i].decltype_of != nullptr) expression(*name.parts[i].decltype_of);
      if (i == 0 && !name.from_global) add(name.parts[0].name);
      for (const ast::TemplateArgument& argument : name.parts[i].arguments) {
        if (argument.is_expansion) continue;
        if (argument.type != nullptr) type(*argument.type);
        if (argument.value != nullptr) expression(*argument.value);
      }
    }
  }
  void statement(const ast::Statement& statement) {
    for (const ast::Statement* each : statement.statements) this->statement(*each);
    for (const ast::Statement* each : {statement.init, statement.body, statement.otherwise})
      if (each != nullptr) this->statement(*each);
    for (const ast::Expression* each : {statement.expression, statement.step})
      if (each != nullptr) expression(*each);
    for (const ast::Declaration* each : statement.declarations) {
      if (each->type != nullptr) type(*each->type);
      if (each->initializer != nullptr) expression(*each->initializer);
      for (const ast::Expression* argument : each->direct_arguments) expression(*argument);
    }
  }
};

}  // namespace

std::vector<Scope*> Templates::expansions(const ast::Expression* expression, const ast::TypeName* type, Scope& scope,
                                          Location at) {
  MentionedNames mentioned;
  if (expression != nullptr) mentioned.expression(*expression);
  if (type != nullptr) mentioned.type(*type);
  std::vector<const Symbol*> packs;
  size_t count = 0;
  for (const std::string_view name : mentioned.names)
    for (const Symbol* symbol : lookup_.find(name, scope)) {
      const bool is_bound =
          symbol->kind == Symbol::Kind::Argument && symbol->argument.kind == TemplateArgument::Kind::Pack;
      if (!is_bound && symbol->kind != Symbol::Kind::LocalPack) continue;
      const size_t size = is_bound ? symbol->argument.pack.size() : symbol->locals.size();
      if (!packs.empty() && size != count)
        throw Rejected{at, base::format("the packs \"{}\" and \"{}\" differ in length: {} and {}", packs[0]->name,
                                        symbol->name, count, size)};
      count = size;
      packs.push_back(symbol);
    }
  if (packs.empty()) throw Rejected{at, "there is no pack before ... to expand"};
  if (count > kMaxPackElements)
    throw Rejected{at, base::format("a pack of {} is too large: the max is {} elements", count, kMaxPackElements)};
  std::vector<Scope*> scopes;
  scopes.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Scope& each = *scopes.emplace_back(&lookup_.make_scope(Scope::Kind::Template, &scope));
    for (const Symbol* pack : packs)
      if (pack->kind == Symbol::Kind::LocalPack)
        lookup_.make_symbol(Symbol::Kind::Local, pack->name, each).value = pack->locals[i];
      else
        lookup_.make_symbol(Symbol::Kind::Argument, pack->name, each).argument = pack->argument.pack[i];
  }
  return scopes;
}

size_t Templates::pack_size(std::string_view name, const Scope& scope, Location at) const {
  for (const Symbol* symbol : lookup_.find(name, scope)) {
    if (symbol->kind == Symbol::Kind::LocalPack) return symbol->locals.size();
    if (symbol->kind == Symbol::Kind::Argument && symbol->argument.kind == TemplateArgument::Kind::Pack)
      return symbol->argument.pack.size();
  }
  throw Rejected{at, base::format("\"{}\" is not a pack", name)};
}

}  // namespace kymo::shader
