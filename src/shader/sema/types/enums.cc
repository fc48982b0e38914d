// The values of enumerators, and static_assert.

#include "base/text.h"
#include "shader/sema/types/types.h"

namespace kymo::shader {

const ir::Expression* Types::enumerator(const Symbol& symbol, Location at) {
  if (symbol.constant != nullptr) return symbol.constant;
  const ast::Declaration& declaration = *symbol.declaration;
  Scope& inside = *symbol.scope;
  const Type* type = declaration.type == nullptr ? table_.get(TypeKind::Int) : resolve_plain(*declaration.type, inside);
  if (!type->is_integer() && !type->is(TypeKind::Bool))
    throw Rejected{declaration.at,
                   base::format("the type of an enum must be an integer type, not \"{}\"", TypeTable::name(type))};
  int64_t next = 0;
  for (const ast::Enumerator& each : declaration.enumerators) {
    Symbol& made = *inside.symbols[each.name].front();
    if (made.constant == nullptr) {
      const ir::Expression* given =
          each.value == nullptr ? nullptr
                                : context_.expressions->constant(*each.value, inside, "the value of an enumerator");
      if (given != nullptr && !given->type->is_integer() && !given->type->is(TypeKind::Bool))
        throw Rejected{each.at, base::format("the value of \"{}\" is not an integer", each.name)};
      const int64_t value = given == nullptr ? next : static_cast<int64_t>(given->bits);
      const bool is_large = given != nullptr && given->type->is(TypeKind::ULong);
      const Type* of = type;
      if (!fits(of, value, is_large)) {
        if (declaration.type != nullptr)
          throw Rejected{each.at, base::format("\"{}\" does not fit in \"{}\"", each.name, TypeTable::name(type))};
        const Type* unsigned_type = table_.get(TypeKind::UInt);
        of = fits(unsigned_type, value, is_large) ? unsigned_type : table_.get(TypeKind::Long);
      }
      ir::Expression& folded = context_.module.make_expression(ir::ExpressionKind::Constant, of, each.at);
      folded.bits = static_cast<uint64_t>(value);
      made.type = of;
      made.constant = &folded;
    }
    next = static_cast<int64_t>(made.constant->bits + 1);
    if (&made == &symbol) return made.constant;
  }
  throw Rejected{at, base::format("the value of \"{}\" depends on itself", symbol.name)};
}

void Types::check_assert(const ast::Declaration& declaration, Scope& scope) {
  if (context_.expressions->constant_bool(*declaration.initializer, scope, "the condition of static_assert")) return;
  throw Rejected{declaration.at, declaration.text.empty() ? std::string("static_assert failed")
                                                          : base::format("static_assert failed: {}", declaration.text)};
}

}  // namespace kymo::shader
