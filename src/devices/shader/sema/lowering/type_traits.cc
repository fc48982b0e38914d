// The compiler's questions about types, on which headers build their traits: __is_empty(T), __is_convertible(T, U).

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

enum class Trait : uint8_t {
  Arithmetic,
  Array,
  Assignable,
  BaseOf,
  Class,
  Const,
  Constructible,
  Convertible,
  Empty,
  Enum,
  FloatingPoint,
  Function,
  Integral,
  LvalueReference,
  Pointer,
  Reference,
  Same,
  Scalar,
  Signed,
  Trivial,
  Union,
  Unsigned,
  Void,
};

struct TraitRow {
  std::string_view name;
  Trait trait;
  size_t types = 1;  // max; Constructible has any number
};

constexpr TraitRow kTraits[] = {
    {"__is_arithmetic", Trait::Arithmetic},
    {"__is_array", Trait::Array},
    {"__is_assignable", Trait::Assignable, 2},
    {"__is_base_of", Trait::BaseOf, 2},
    {"__is_class", Trait::Class},
    {"__is_const", Trait::Const},
    {"__is_constructible", Trait::Constructible, SIZE_MAX},
    {"__is_convertible", Trait::Convertible, 2},
    {"__is_convertible_to", Trait::Convertible, 2},
    {"__is_empty", Trait::Empty},
    {"__is_enum", Trait::Enum},
    {"__is_floating_point", Trait::FloatingPoint},
    {"__is_function", Trait::Function},
    {"__is_integral", Trait::Integral},
    {"__is_lvalue_reference", Trait::LvalueReference},
    {"__is_pod", Trait::Trivial},
    {"__is_pointer", Trait::Pointer},
    {"__is_reference", Trait::Reference},
    {"__is_same", Trait::Same, 2},
    {"__is_same_as", Trait::Same, 2},
    {"__is_scalar", Trait::Scalar},
    {"__is_signed", Trait::Signed},
    {"__is_standard_layout", Trait::Trivial},
    {"__is_trivial", Trait::Trivial},
    {"__is_trivially_copyable", Trait::Trivial},
    {"__is_union", Trait::Union},
    {"__is_unsigned", Trait::Unsigned},
    {"__is_void", Trait::Void},
};

bool trait_is_union(const Class& made) { return made.declaration != nullptr && made.declaration->is_union; }

}  // namespace

bool Lowering::type_trait(const ast::Expression& expression, Scope& scope) {
  const std::string_view name = expression.name.last().name;
  const Location at = expression.at;
  const auto row =
      std::find_if(std::begin(kTraits), std::end(kTraits), [&](const TraitRow& each) { return each.name == name; });
  if (row == std::end(kTraits))
    throw Rejected{at, base::format("{} is not supported: use the traits of <metal_type_traits>", in_quotes(name))};
  const TemplateArguments types = templates_.evaluate_arguments(expression.name.last().arguments, scope);
  const bool is_open = row->trait == Trait::Constructible;
  if (types.empty() || (is_open ? false : types.size() != row->types))
    throw Rejected{at, base::format("{} takes {} types, not {}", in_quotes(name), row->types, types.size())};
  const QualifiedType& first = types[0].type;
  const Type* type = first.type;
  const bool is_integral = (type->is_integer() || type->is(TypeKind::Bool)) && !type->is_enum();
  switch (row->trait) {
    case Trait::Arithmetic:
      return is_integral || type->is_floating();
    case Trait::Array:
      return type->is_array();
    case Trait::Assignable:
      return type->is(TypeKind::Reference) && !type->is_const && is_convertible(types[1].type, {.type = type->inner});
    case Trait::BaseOf: {
      const Class* base = types_.class_of(type);
      const Class* derived = types_.class_of(types[1].type.type);
      return base != nullptr && derived != nullptr && (base == derived || types_.is_derived(*derived, *base));
    }
    case Trait::Class:
      return type->is_struct() && !trait_is_union(*types_.class_of(type));
    case Trait::Const:
      return first.is_const;
    case Trait::Constructible:
      return is_constructible(first, std::span(types).subspan(1), at);
    case Trait::Convertible:
      return is_convertible(first, types[1].type);
    case Trait::Empty:
      return types_.class_of(type) != nullptr && type->fields.empty();
    case Trait::Enum:
      return type->is_enum();
    case Trait::Function:  // there are no types of functions
      return false;
    case Trait::FloatingPoint:
      return type->is_floating();
    case Trait::Integral:
      return is_integral;
    case Trait::LvalueReference:
    case Trait::Reference:
      return type->is(TypeKind::Reference);
    case Trait::Pointer:
      return type->is_pointer();
    case Trait::Same:
      return type == types[1].type.type && first.is_const == types[1].type.is_const;
    case Trait::Scalar:
      return is_integral || type->is_enum() || type->is_floating() || type->is_pointer();
    case Trait::Signed:
      return (type->is_signed() && !type->is_enum()) || type->is_floating();
    case Trait::Trivial:
      return !type->is(TypeKind::Reference) && !type->is(TypeKind::Void);
    case Trait::Union:
      return type->is_struct() && trait_is_union(*types_.class_of(type));
    case Trait::Unsigned:
      return is_integral && !type->is_signed();
    case Trait::Void:
      return type->is(TypeKind::Void);
  }
  return false;
}

bool Lowering::is_convertible(const QualifiedType& from, const QualifiedType& to) {
  if (from.type->is(TypeKind::Void) || to.type->is(TypeKind::Void)) return from.type == to.type;
  if (to.type->is_array()) return false;
  Value value;
  value.is_place = from.type->is(TypeKind::Reference);
  value.type = value.is_place ? from.type->inner : from.type;
  value.is_const = value.is_place ? from.type->is_const : from.is_const;
  if (value.is_place) value.space = from.type->space;
  types_.class_of(value.type);
  try {
    return overloads_.rank(value, to) != Rank::Impossible;
  } catch (const Rejected& rejected) {
    if (rejected.text.empty()) throw;
    return false;
  }
}

bool Lowering::is_constructible(const QualifiedType& type, std::span<const TemplateArgument> from, Location at) {
  Class* made = types_.class_of(type.type);
  if (made == nullptr || !has_constructors(*made)) {
    if (from.empty()) return !type.type->is(TypeKind::Void) && !type.type->is(TypeKind::Reference);
    return from.size() == 1 && is_convertible(from[0].type, type);
  }
  OverloadSet set;
  set.name = kConstructorName;
  set.at = at;
  if (const auto own = made->scope->symbols.find(kConstructorName); own != made->scope->symbols.end())
    set.candidates.assign(own->second.begin(), own->second.end());
  std::vector<Value> values;
  for (const TemplateArgument& each : from) {
    Value& value = values.emplace_back();
    const Type* given = each.type.type;
    value.is_place = given->is(TypeKind::Reference);
    value.type = value.is_place ? given->inner : given;
  }
  try {
    return overloads_.try_choose(set, values).has_value();
  } catch (const Rejected&) {
    return false;
  }
}

}  // namespace kymo::shader
