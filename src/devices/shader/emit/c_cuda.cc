#include "shader/emit/c_cuda.h"

#include "base/text.h"

namespace kymo::shader {
// ---- Declarations --------------------------------------------------------------------------------------------------

std::string_view CudaDialect::scalar(TypeKind kind) const {
  constexpr std::string_view kNames[] = {"void", "bool", "schar", "uchar", "short", "ushort", "int",
                                         "uint", "long", "ulong", "float", "float", "float"};
  return kNames[static_cast<size_t>(kind)];
}

std::string CudaDialect::vector(TypeKind component, uint32_t count) {
  const std::string_view name = component == TypeKind::Char ? "char" : scalar(component);
  const std::string number = std::to_string(count);
  prelude.use("alias", {name, scalar(component), number});
  return base::format("kymo_{}{}", name, count);
}

std::string CudaDialect::forward(std::string_view structure, bool is_defined_next) const {
  return is_defined_next ? std::string() : base::format("struct {};\n", structure);
}

std::string CudaDialect::structure(std::string_view name, uint32_t align) const {
  if (align == 0) return base::format("struct {} {{\n", name);
  return base::format("struct alignas({}) {} {{\n", align, name);
}

std::string CudaDialect::aligned(uint32_t align) const { return base::format("alignas({}) ", align); }

std::string CudaDialect::kernel_head(uint32_t max_threads) const {
  if (max_threads == 0) return "extern \"C\" __global__ void ";
  return base::format("extern \"C\" __global__ void __launch_bounds__({}) ", max_threads);
}

std::string CudaDialect::aggregate(std::string_view type, std::string_view parts) const {
  return base::format("{}{{{}}}", type, parts);
}

// Where groups end is not known to blockDim; and a kernel with simdgroups may see a piece of its launch.
bool CudaDialect::needs_grid(ir::Intrinsic intrinsic, bool is_kernel) const {
  switch (intrinsic) {
    case ir::Intrinsic::GridSize:
    case ir::Intrinsic::GroupSize:
      return true;
    case ir::Intrinsic::GridPosition:
    case ir::Intrinsic::GroupIndex:
    case ir::Intrinsic::GroupCount:
    case ir::Intrinsic::FullGroupSize:
      return !is_kernel;
    default:
      return false;
  }
}

// ---- Numbers -------------------------------------------------------------------------------------------------------

std::string CudaDialect::float_of_bits(uint32_t bits) const { return base::format("__uint_as_float({:#010x}u)", bits); }

std::string CudaDialect::float_of_bits_static(uint32_t bits) const {
  if ((bits & 0x7fffffff) != 0x7f800000) return "0.0f / 0.0f";
  return (bits >> 31) != 0 ? "-1.0f / 0.0f" : "1.0f / 0.0f";
}

CText CudaDialect::convert16(std::string_view function, bool gives_bits, uint32_t count, CText operand) {
  prelude.use(function.substr(std::string_view("kymo_").size()));
  if (count > 1) prelude.use("each1", {function, gives_bits ? "ushort" : "float"});
  return c_call(function, std::move(operand));
}

CText CudaDialect::bitcast(std::string_view type, CText bits) {
  prelude.use("bitcast");
  return c_call(base::format("kymo_bitcast<{}>", type), std::move(bits));
}

// ---- Vectors -------------------------------------------------------------------------------------------------------

CText CudaDialect::unary(ir::Operator op, const Type*, CText operand) {
  prelude.use("unary", {operator_sign(op)});
  return c_prefix(operator_sign(op), std::move(operand));
}

CText CudaDialect::binary(ir::Operator op, const Type* type, const Type* right_type, CText left, CText right) {
  const bool compares = op >= ir::Operator::Equal && op <= ir::Operator::GreaterEqual;
  prelude.use(compares ? "comparison" : "arithmetic", {operator_sign(op)});
  if (!right_type->is_vector()) right = c_call(vector(held_as(right_type), type->count), std::move(right));
  return c_binary(op, std::move(left), std::move(right));
}

CText CudaDialect::convert(const Type*, const Type* to, CText operand) {
  prelude.use("convert");
  return c_call(base::format("kymo_convert<{}>", scalar(held_as(to->inner))), std::move(operand));
}

CText CudaDialect::splat(const Type* type, CText component) {
  return c_call(vector(held_as(type->inner), type->count), std::move(component));
}

CText CudaDialect::construct(std::string_view type, std::string_view component, bool has_vectors,
                             std::span<const CText> parts) {
  if (!has_vectors) return c_call_with(type, parts);
  prelude.use("join");
  return c_call_with(base::format("kymo_join<{}, {}>", type, component), parts);
}

std::string CudaDialect::initializer(std::string_view, std::string_view components) const {
  return base::format("{{{}}}", components);
}

CText CudaDialect::component(const Type*, CText vector, CText index) {
  return {base::format("{}.at({})", std::move(vector).in(Binding::Postfix), index.text)};
}

CText CudaDialect::swizzle(CText vector, std::span<const uint8_t> components) {
  prelude.use("swizzle");
  std::string list;
  for (const uint8_t component : components) (list += list.empty() ? "" : ", ") += std::to_string(component);
  return c_call(base::format("kymo_swizzle<{}>", list), std::move(vector));
}

CText CudaDialect::loose_load(uint32_t, std::string_view, std::string_view, CText place) {
  prelude.use("loose");
  return c_call("kymo_loose_load", c_prefix("&", std::move(place)));
}

std::string CudaDialect::loose_store(uint32_t, std::string_view, std::string_view, CText place, CText value) {
  prelude.use("loose");
  return base::format("kymo_loose_store({}, {})", c_prefix("&", std::move(place)).text, value.text);
}

CText CudaDialect::component_place(std::string_view, std::string_view, CText vector, CText index) {
  return {base::format("{}[{}]", std::move(vector).in(Binding::Postfix), index.text)};
}

}  // namespace kymo::shader
