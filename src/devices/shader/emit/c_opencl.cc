#include "shader/emit/c_opencl.h"

#include "base/text.h"

namespace kymo::shader {
namespace {

// The signed integer that is as wide.
std::string_view opencl_signed_like(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
    case TypeKind::Char:
    case TypeKind::UChar:
      return "char";
    case TypeKind::Short:
    case TypeKind::UShort:
      return "short";
    case TypeKind::Long:
    case TypeKind::ULong:
      return "long";
    default:
      return "int";
  }
}

}  // namespace

// ---- Declarations --------------------------------------------------------------------------------------------------

std::string_view OpenClDialect::scalar(TypeKind kind) const {
  constexpr std::string_view kNames[] = {"void", "bool", "char",  "uchar", "short", "ushort", "int",
                                         "uint", "long", "ulong", "float", "float", "float"};
  return kNames[static_cast<size_t>(kind)];
}

std::string OpenClDialect::vector(TypeKind component, uint32_t count) {
  return base::format("{}{}", component == TypeKind::Bool ? "uchar" : scalar(component), count);
}

std::string_view OpenClDialect::space(Space space) const {
  switch (space) {
    case Space::Thread:
      return "";
    case Space::Device:
    case Space::Constant:
      return "__global ";
    case Space::Threadgroup:
      return "__local ";
    case Space::Program:
      return "__constant ";
  }
  return "";
}

std::string OpenClDialect::aliasing(std::string_view type, std::string_view alias) const {
  return base::format("typedef {} {} __attribute__((may_alias));\n", type, alias);
}

std::string OpenClDialect::forward(std::string_view structure, bool) const {
  return base::format("typedef struct {0} {0};\n", structure);
}

std::string OpenClDialect::structure(std::string_view name, uint32_t align) const {
  if (align == 0) return base::format("struct {} {{\n", name);
  return base::format("struct __attribute__((aligned({}))) {} {{\n", align, name);
}

std::string OpenClDialect::aligned(uint32_t align) const {
  return base::format("__attribute__((aligned({}))) ", align);
}

std::string OpenClDialect::aggregate(std::string_view type, std::string_view parts) const {
  return base::format("({}){{{}}}", type, parts);
}

bool OpenClDialect::needs_grid(ir::Intrinsic intrinsic, bool) const {
  return intrinsic == ir::Intrinsic::GroupIndex || intrinsic == ir::Intrinsic::GridSize ||
         intrinsic == ir::Intrinsic::GroupCount || intrinsic == ir::Intrinsic::FullGroupSize;
}

// ---- Numbers -------------------------------------------------------------------------------------------------------

std::string OpenClDialect::float_of_bits(uint32_t bits) const { return base::format("as_float({:#010x}u)", bits); }

std::string OpenClDialect::float_of_bits_static(uint32_t bits) const {
  if ((bits & 0x7fffffff) != 0x7f800000) return "0.0f / 0.0f";
  return (bits >> 31) != 0 ? "-1.0f / 0.0f" : "1.0f / 0.0f";
}

CText OpenClDialect::convert16(std::string_view function, bool, uint32_t count, CText operand) {
  const std::string piece(function.substr(std::string_view("kymo_").size()));
  if (count == 1) {
    prelude.use(piece);
    return c_call(function, std::move(operand));
  }
  const std::string number = std::to_string(count);
  prelude.use(piece + "_vector", {number});
  return c_call(std::string(function) + number, std::move(operand));
}

CText OpenClDialect::bitcast(std::string_view type, CText bits) {
  return c_call("as_" + std::string(type), std::move(bits));
}

// ---- Vectors -------------------------------------------------------------------------------------------------------

CText OpenClDialect::as_bools(uint32_t count, CText minus_ones) {
  return c_call(base::format("convert_uchar{}", count), c_prefix("-", std::move(minus_ones)));
}

CText OpenClDialect::unary(ir::Operator op, const Type*, CText operand) {
  if (op == ir::Operator::Not) return c_binary(ir::Operator::Xor, std::move(operand), {"(uchar)1", Binding::Prefix});
  return c_prefix(operator_sign(op), std::move(operand));
}

CText OpenClDialect::binary(ir::Operator op, const Type* type, const Type* right_type, CText left, CText right) {
  const bool is_shift = op == ir::Operator::ShiftLeft || op == ir::Operator::ShiftRight;
  if (is_shift && right_type != type) {
    if (right_type->is_vector())
      right = c_call("convert_" + vector_of(type), std::move(right));
    else
      right = c_cast(scalar(held_as(type->inner)), std::move(right));
  }
  CText text = c_binary(op, std::move(left), std::move(right));
  const bool compares = op >= ir::Operator::Equal && op <= ir::Operator::GreaterEqual;
  return compares ? as_bools(type->count, std::move(text)) : text;
}

CText OpenClDialect::convert(const Type* from, const Type* to, CText operand) {
  if (!to->inner->is(TypeKind::Bool)) return c_call("convert_" + vector_of(to), std::move(operand));
  CText zero = c_cast(scalar(from->inner->is(TypeKind::Bool) ? TypeKind::UChar : held_as(from->inner)), {"0"});
  return as_bools(to->count, c_binary(ir::Operator::NotEqual, std::move(operand), std::move(zero)));
}

CText OpenClDialect::splat(const Type* type, CText component) {
  return {base::format("({})({})", vector_of(type), component.text), Binding::Prefix};
}

CText OpenClDialect::construct(std::string_view type, std::string_view, bool, std::span<const CText> parts) {
  return {base::format("({})({})", type, c_list(parts)), Binding::Prefix};
}

std::string OpenClDialect::initializer(std::string_view type, std::string_view components) const {
  return base::format("({})({})", type, components);
}

CText OpenClDialect::component(const Type* type, CText vector, CText index) {
  const std::string_view name = scalar(type->inner->is(TypeKind::Bool) ? TypeKind::UChar : held_as(type->inner));
  prelude.use(base::format("component{}", type->count), {name});
  return c_call(base::format("kymo_component_{}{}", name, type->count), std::move(vector), std::move(index));
}

CText OpenClDialect::swizzle(CText vector, std::span<const uint8_t> components) {
  std::string names;
  for (const uint8_t component : components) names += component_name(component);
  return c_member(std::move(vector), names);
}

CText OpenClDialect::loose_load(uint32_t count, std::string_view scalar, std::string_view space, CText place) {
  return {base::format("vload{}(0, (const {}{}*){})", count, space, scalar, c_prefix("&", std::move(place)).text)};
}

std::string OpenClDialect::loose_store(uint32_t count, std::string_view scalar, std::string_view space, CText place,
                                       CText value) {
  return base::format("vstore{}({}, 0, ({}{}*){})", count, value.text, space, scalar,
                      c_prefix("&", std::move(place)).text);
}

CText OpenClDialect::component_place(std::string_view scalar, std::string_view space, CText vector, CText index) {
  return {base::format("(({}{}*){})[{}]", space, scalar, c_prefix("&", std::move(vector)).text, index.text)};
}

CText OpenClDialect::select(const ir::Expression& expression, std::span<CText> operands) {
  const Type* type = expression.type;
  const Type* chooser = expression.operands[2]->type;
  const std::string_view integer = opencl_signed_like(held_as(type->scalar()));
  CText which = std::move(operands[2]);
  if (chooser->is_vector())
    which = c_prefix("-", c_call(base::format("convert_{}{}", integer, chooser->count), std::move(which)));
  else if (type->is_vector())
    which = {base::format("({}{})(-({}){})", integer, type->count, integer, std::move(which).in(Binding::Prefix)),
             Binding::Prefix};
  else
    which = c_cast(integer, std::move(which));
  return c_call("select", std::move(operands[0]), std::move(operands[1]), std::move(which));
}

}  // namespace kymo::shader
