// The values of enumerators, and static_assert.

#include "base/text.h"
#include "shader/sema/guards.h"
#include "shader/sema/types/types.h"

namespace kymo::shader {

const Type* Types::enum_type(const ast::Declaration& declaration, Scope& inside) {
  if (const auto known = enums_.find(&inside); known != enums_.end()) return known->second;
  const Type* underlying = nullptr;
  if (declaration.type != nullptr) {
    underlying = resolve_plain(*declaration.type, inside);
    if ((!underlying->is_integer() && !underlying->is(TypeKind::Bool)) || underlying->is_enum())
      throw Rejected{declaration.at, base::format("the type of an enum must be an integer type, not \"{}\"",
                                                  TypeTable::name(underlying))};
  } else if (declaration.is_scoped) {
    underlying = table_.get(TypeKind::Int);
  } else {
    evaluate_enumerators(declaration, inside);
    if (const auto known = enums_.find(&inside); known != enums_.end()) return known->second;
    underlying = table_.get(TypeKind::Int);
    bool is_negative = false;
    for (const ast::Enumerator& each : declaration.enumerators) {
      const ir::Expression* value = inside.symbols[each.name].front()->constant;
      is_negative = is_negative || (value->type->is_signed() && static_cast<int64_t>(value->bits) < 0);
      if (value->type->size > underlying->size || !value->type->is_signed()) underlying = value->type;
    }
    if (is_negative && !underlying->is_signed()) underlying = table_.get(TypeKind::Long);
  }
  const Type* made = table_.make_enum(scope_prefix(inside.parent) + std::string(declaration.name), underlying,
                                      declaration.is_scoped, &inside);
  enums_[&inside] = made;
  return made;
}

const ir::Expression* Types::enumerator(const Symbol& symbol, Location at) {
  if (symbol.constant != nullptr) return symbol.constant;
  constexpr uint32_t kDepth = kMaxInstantiationDepth - 10;  // before other limits, whose messages would not name it
  const std::string_view owner = symbol.owner == nullptr ? "" : std::string_view(symbol.owner->type->name);
  const DepthGuard guard(
      context_.depth, kDepth, at,
      base::format("the value of \"{}\"{}", symbol.name, owner.empty() ? "" : base::format(" in \"{}\"", owner)));
  evaluate_enumerators(*symbol.declaration, *symbol.scope);
  if (symbol.constant == nullptr)
    throw Rejected{at, base::format("the value of \"{}\" depends on itself", symbol.name)};
  return symbol.constant;
}

// Within its own braces an enumerator is an integer. After them it has the type of the enum, if this has a name.
void Types::evaluate_enumerators(const ast::Declaration& declaration, Scope& inside) {
  if (!enums_being_evaluated_.insert(&inside).second) return;
  struct Done {
    std::unordered_set<const Scope*>& all;
    const Scope* scope;
    ~Done() { all.erase(scope); }
  } const done{enums_being_evaluated_, &inside};
  const bool is_fixed = declaration.type != nullptr || declaration.is_scoped;
  const Type* type = is_fixed && !declaration.name.empty() ? enum_type(declaration, inside)->underlying
                     : declaration.type != nullptr         ? resolve_plain(*declaration.type, inside)
                                                           : table_.get(TypeKind::Int);
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
        if (is_fixed)
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
  }
  if (declaration.name.empty()) return;
  const Type* own = enum_type(declaration, inside);
  for (const ast::Enumerator& each : declaration.enumerators) {
    Symbol& made = *inside.symbols[each.name].front();
    if (made.type == own) continue;
    made.type = own;
    made.constant = context_.build(each.at).convert(own, made.constant);
  }
}

void Types::check_assert(const ast::Declaration& declaration, Scope& scope) {
  if (context_.expressions->constant_bool(*declaration.initializer, scope, "the condition of static_assert")) return;
  throw Rejected{declaration.at, declaration.text.empty() ? std::string("static_assert failed")
                                                          : base::format("static_assert failed: {}", declaration.text)};
}

}  // namespace kymo::shader
