// The cost of a conversion from an argument to a parameter.

#include <algorithm>
#include <utility>

#include "shader/sema/guards.h"
#include "shader/sema/overloads/overloads.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kMaxBraces = 3;

Rank rank_scalars(const Type* from, const Type* to) {
  if (from == to) return Rank::Exact;
  if (to->is_enum() || (from->is_enum() && from->is_scoped)) return Rank::Impossible;
  if (from->is_enum() && (to == from->underlying || to->is(TypeKind::Int))) return Rank::Promotion;
  const bool is_small_integer = from->is(TypeKind::Bool) || (from->is_integer() && from->size < 4);
  if (is_small_integer && to->is(TypeKind::Int)) return Rank::Promotion;
  if (from->is_floating() && to->is(TypeKind::Float)) return Rank::Promotion;
  return Rank::Conversion;
}

// Whether memory of one space may be used as memory of another.
bool rank_fits_space(Space from, bool from_const, Space to) {
  if (from == to) return true;
  return to == Space::Constant && (from == Space::Program || (from == Space::Thread && from_const));
}

}  // namespace

Rank Overloads::rank(const Value& from, const QualifiedType& to) {
  const Type* type = to.type;
  if (to.function != nullptr) {
    const Class* object = from.type == nullptr ? nullptr : types_.class_of(from.type);
    const bool is_callable =
        object != nullptr && (object->function != nullptr || !lookup_.find_in("operator()", *object->scope).empty());
    return is_callable ? Rank::Exact : Rank::Impossible;
  }
  if (type == nullptr) return Rank::Impossible;
  if (type->is(TypeKind::Reference)) return rank_reference(from, type);
  if (from.braces != nullptr) return rank_braces(from, type);
  if (type->is_pointer()) return rank_pointer(from, type);
  if (from.is_null) return type->is(TypeKind::Bool) ? Rank::Conversion : Rank::Impossible;
  if (from.type == nullptr || from.type->is(TypeKind::Void) || type->is(TypeKind::Void)) return Rank::Impossible;
  if (from.type == type) return type->is(TypeKind::Atomic) ? Rank::Impossible : Rank::Exact;
  if (type->is_number() && from.type->is_number()) {
    if (type->is_scalar() && from.type->is_scalar()) return rank_scalars(from.type, type);
    if (type->is_vector() && from.type->is_scalar()) return from.type->is_scoped ? Rank::Impossible : Rank::Splat;
    if (type->is_vector() && from.type->is_vector() && type->inner == from.type->inner &&
        type->count == from.type->count)
      return Rank::Qualification;  // packed or not
    return Rank::Impossible;
  }
  if (type->is(TypeKind::Bool) && (from.type->is_pointer() || from.type->is_array())) return Rank::Conversion;
  if (type->is_struct() && from.type->is_struct()) {
    const Class* derived = types_.class_of(from.type);
    const Class* base = types_.class_of(type);
    if (derived->function != nullptr && derived->function == base->function) return Rank::Exact;
    if (types_.is_derived(*derived, *base)) return Rank::Conversion;
  }
  return rank_user(from, type);
}

Rank Overloads::rank_reference(const Value& from, const Type* reference) {
  const Type* to = reference->inner;
  if (from.is_place && from.braces == nullptr && from.bits == nullptr) {
    const bool fits = rank_fits_space(from.space, from.is_const, reference->space);
    const bool may_write = reference->is_const || reference->space == Space::Constant || !from.is_const;
    if (from.type == to && fits && may_write) {
      if (from.space != reference->space) return Rank::Promotion;
      return reference->is_const == from.is_const ? Rank::Exact : Rank::Qualification;
    }
    if (fits && may_write && to->is_struct() && from.type->is_struct() &&
        types_.is_derived(*types_.class_of(from.type), *types_.class_of(to)))
      return Rank::Conversion;
  }
  // A const reference may refer to a copy.
  const bool may_copy = reference->is_const || reference->space == Space::Constant;
  if (!may_copy || (reference->space != Space::Thread && reference->space != Space::Constant)) return Rank::Impossible;
  const Rank copied = rank(from, {.type = to});
  if (from.is_place && copied == Rank::Exact) return Rank::Promotion;
  return copied == Rank::Exact && reference->space == Space::Constant ? Rank::Promotion : copied;
}

Rank Overloads::rank_pointer(const Value& from, const Type* pointer) {
  if (from.is_null || from.is_literal_zero) return Rank::Conversion;
  if (from.type == nullptr) return Rank::Impossible;
  const bool is_array = from.type->is_array();
  if (!is_array && !from.type->is_pointer()) return rank_user(from, pointer);
  const Space space = is_array ? from.space : from.type->space;
  const bool is_const = is_array ? from.is_const : from.type->is_const;
  // A table of constants in a function may be in thread memory for the source: its copy is.
  if (is_array && space == Space::Program && pointer->space == Space::Thread && pointer->is_const &&
      from.type->inner == pointer->inner)
    return Rank::Conversion;
  if (!rank_fits_space(space, is_const, pointer->space)) return Rank::Impossible;
  if (is_const && !pointer->is_const && pointer->space != Space::Constant) return Rank::Impossible;
  const Type* to = pointer->inner;
  const Type* pointee = from.type->inner;
  if (pointee == to) {
    if (space != pointer->space) return Rank::Promotion;
    return is_const == pointer->is_const ? Rank::Exact : Rank::Qualification;
  }
  if (to->is(TypeKind::Void)) return Rank::Conversion;
  if (to->is_struct() && pointee->is_struct() && types_.is_derived(*types_.class_of(pointee), *types_.class_of(to)))
    return Rank::Conversion;
  return Rank::Impossible;
}

// {a, b}: only checks that there are enough places for the values.
Rank Overloads::rank_braces(const Value& from, const Type* to) {
  const size_t given = from.braces->operands.size();
  if (to->is_vector()) return given <= to->count ? Rank::User : Rank::Impossible;
  if (to->is_array()) return given <= to->count || to->count == 0 ? Rank::User : Rank::Impossible;
  if (!to->is_struct()) return given <= 1 ? Rank::User : Rank::Impossible;
  const Class* made = types_.class_of(to);
  if (!lookup_.find_in(kConstructorName, *made->scope).empty()) {
    OverloadSet set;
    set.name = kConstructorName;
    if (const auto own = made->scope->symbols.find(kConstructorName); own != made->scope->symbols.end())
      set.candidates.assign(own->second.begin(), own->second.end());
    if (!set.candidates.empty()) {
      if (given == 0) return Rank::User;
      // Otherwise each level is ranked again for every candidate of the outer level.
      if (braces_ >= kMaxBraces) return Rank::User;
      const Restore<uint32_t> restore(braces_);
      ++braces_;
      // The values are lowered again when a constructor was chosen.
      return try_choose(set, context_.expressions->values_of(from.braces->operands, *from.braces_scope))
                 ? Rank::User
                 : Rank::Impossible;
    }
  }
  // Arrays and structs in it take several values each.
  size_t places = 0;
  for (const Member& member : made->members) {
    const Type* type = member.type;
    size_t count = 1;
    for (; type->is_array(); type = type->inner) count *= type->count;
    places += type->is_struct() ? count * std::max<size_t>(1, type->fields.size()) * 16 : count;
  }
  return given <= places ? Rank::User : Rank::Impossible;
}

Rank Overloads::rank_user(const Value& from, const Type* to) {
  if (from.type == nullptr || (!to->is_struct() && !from.type->is_struct())) return Rank::Impossible;
  return user_conversion(from, to) ? Rank::User : Rank::Impossible;
}

std::optional<TemplateArguments> Overloads::conversion_arguments(const Symbol& symbol, const Type* to) {
  const ast::Declaration& declaration = *symbol.declaration;
  TemplateArguments arguments;
  if (!declaration.is_template) return arguments;
  Deduction deduction(declaration.template_parameters);
  try {
    if (!templates_.match_type(*declaration.conversion, {.type = to}, *symbol.scope, deduction)) return std::nullopt;
    Scope* bound = nullptr;
    arguments = templates_.finish_arguments(declaration, *symbol.scope, deduction.found, declaration.at, bound);
  } catch (const Rejected&) {
    return std::nullopt;
  }
  return arguments;
}

void Overloads::keep_conversions(OverloadSet& set, const Type* to) {
  std::vector<const Symbol*> functions, templates;
  for (const Symbol* symbol : set.candidates) {
    const std::optional<TemplateArguments> arguments = conversion_arguments(*symbol, to);
    if (!arguments) continue;
    const Signature& types = signature(*symbol, *arguments);
    if (types.fault || !types.result || types.result->type != to) continue;
    (symbol->declaration->is_template ? templates : functions).push_back(symbol);
    if (symbol->declaration->is_template) set.arguments = types.arguments;
  }
  set.has_arguments = functions.empty() && !templates.empty();
  if (!set.has_arguments) set.arguments.clear();
  set.candidates = set.has_arguments ? std::move(templates) : std::move(functions);
}

std::optional<UserConversion> Overloads::user_conversion(const Value& from, const Type* to) {
  if (user_conversions_ != 0) return std::nullopt;
  const Restore<uint32_t> restore(user_conversions_);
  ++user_conversions_;
  const Restore<bool> restore_explicit(allows_explicit_);
  const bool is_explicit = std::exchange(allows_explicit_, false);
  UserConversion found;
  if (const Class* made = types_.class_of(to)) {
    OverloadSet set;
    set.name = kConstructorName;
    if (const auto own = made->scope->symbols.find(kConstructorName); own != made->scope->symbols.end())
      for (const Symbol* symbol : own->second)
        if (!symbol->declaration->is_explicit) set.candidates.push_back(symbol);
    if (!set.candidates.empty()) try {
        if (try_choose(set, std::span(&from, 1))) {
          found.by_constructor = true;
          return found;
        }
      } catch (const Rejected&) {
        return std::nullopt;  // it is ambiguous
      }
  }
  const Class* own = types_.class_of(from.type);
  if (own == nullptr) return std::nullopt;
  Rank best = Rank::Impossible;
  for (const Symbol* symbol : lookup_.find_in("operator", *own->scope)) {
    if (symbol->declaration->is_explicit && !is_explicit && !to->is(TypeKind::Bool)) continue;
    const Rank of_object = object_rank(*symbol, from);
    if (of_object == Rank::Impossible) continue;
    const std::optional<TemplateArguments> arguments = conversion_arguments(*symbol, to);
    if (!arguments) continue;
    const Signature& types = signature(*symbol, *arguments);
    if (types.fault || !types.result) continue;
    Value result;
    result.type = types.result->type->is(TypeKind::Reference) ? types.result->type->inner : types.result->type;
    const Rank after = std::max(rank(result, {.type = to}), of_object == Rank::Splat ? Rank::Exact : of_object);
    if (after >= best) continue;
    best = after;
    found.symbol = symbol;
    found.arguments = types.arguments;
  }
  if (found.symbol == nullptr) return std::nullopt;
  return found;
}

}  // namespace kymo::shader
