// Calls of builtin functions, and type traits.

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

std::optional<Value> Lowering::builtin(std::string_view name, const TemplateArguments& explicit_arguments,
                                       std::span<const Value> given, Location at) {
  using Kind = BuiltinKind;
  const BuiltinRow* row = builtin_row(name);
  if (row == nullptr) return std::nullopt;
  // The last argument of __metal_NAME allows fast math, which no target uses.
  if (name.starts_with("__metal_") && given.size() == size_t{row->max_arguments} + 1)
    given = given.first(row->max_arguments);
  if (given.size() < row->min_arguments || given.size() > row->max_arguments) {
    const std::string wanted = row->min_arguments == row->max_arguments
                                   ? std::to_string(row->min_arguments)
                                   : std::to_string(row->min_arguments) + " to " + std::to_string(row->max_arguments);
    throw Rejected{at, in_quotes(name) + " takes " + wanted +
                           (row->max_arguments == 1 ? " argument: " : " arguments: ") + std::to_string(given.size()) +
                           (given.size() == 1 ? " is given" : " are given")};
  }
  std::vector<Value> values;
  for (const Value& value : given) values.push_back(decayed(number_of(value, at)));
  switch (row->kind) {
    case Kind::Float:
    case Kind::FloatTest:
      return builtin_float(*row, values, at);
    case Kind::FloatOrLibrary:
      return options_.target == Target::Glsl ? builtin_components(*row, values, at) : builtin_float(*row, values, at);
    case Kind::Abs:
      return values[0].type->is_number() && values[0].type->scalar()->is_floating() ? builtin_float(*row, values, at)
                                                                                    : builtin_library(*row, values, at);
    case Kind::MinMax:
      return builtin_minmax(*row, values, at);
    case Kind::Bits:
      return builtin_bits(*row, values, at);
    case Kind::Any:
    case Kind::Select:
      return builtin_flags(*row, values, at);
    case Kind::Library:
    case Kind::FloatLibrary:
      return builtin_library(*row, values, at);
    case Kind::Components:
      return builtin_components(*row, values, at);
    case Kind::Atomic:
      return builtin_atomic(*row, values, at);
    case Kind::Barrier:
      return builtin_barrier(*row, values, at);
    case Kind::Simd:
    case Kind::Lane:
      return builtin_simd(*row, values, at);
    case Kind::Matrix:
      return builtin_matrix(*row, explicit_arguments, values, at);
    case Kind::MatrixUnit:
      return rvalue(build(at).constant_uint(matrix_unit(explicit_arguments, at)));
    case Kind::Trait:
      return builtin_trait(*row, explicit_arguments, at);
  }
  return std::nullopt;
}

// The common type of all arguments. If it is the same for all, there is no promotion.
const Type* Lowering::unified(std::span<const Value> given, bool as_float, std::string_view name, Location at) {
  const Type* type = nullptr;
  for (const Value& value : given) {
    const Type* own = plain(value.type);
    if (!own->is_number())
      throw Rejected{at, in_quotes(name) + " takes numbers and vectors, not " + in_quotes(value.type)};
    type = type == nullptr || type == own ? own : types_.common_type(type, own, at);
  }
  if (as_float && !type->scalar()->is_floating()) return table_.with_scalar(type, table_.get(TypeKind::Float));
  return type;
}

Value Lowering::builtin_trait(const BuiltinRow& row, const TemplateArguments& arguments, Location at) {
  const size_t wanted = row.name == "kymo_is_same" ? 2 : 1;
  if (arguments.size() != wanted || arguments[0].kind != TemplateArgument::Kind::Type ||
      arguments.back().kind != TemplateArgument::Kind::Type) {
    throw Rejected{at, in_quotes(row.name) + " takes " + std::to_string(wanted) + " types"};
  }
  const QualifiedType& first = arguments[0].type;
  const Type* type = first.type;
  if (row.name == "kymo_vector_size") return rvalue(build(at).constant_uint(type->components()));
  const Type* number = type->scalar();  // a vector of integers is integral too
  bool holds = false;
  if (row.name == "kymo_is_same") {
    holds = type == arguments[1].type.type && first.is_const == arguments[1].type.is_const;
  } else if (row.name == "kymo_is_integral") {
    holds = (number->is_integer() || number->is(TypeKind::Bool)) && !number->is_enum();
  } else if (row.name == "kymo_is_floating") {
    holds = number->is_floating();
  } else if (row.name == "kymo_is_signed") {
    holds = (number->is_signed() && !number->is_enum()) || number->is_floating();
  } else if (row.name == "kymo_is_pointer") {
    holds = type->is_pointer();
  } else {
    holds = type->is_vector();
  }
  return rvalue(build(at).constant_bool(holds));
}

}  // namespace kymo::shader
