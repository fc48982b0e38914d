#include "shader/emit/c_dialect.h"

#include "base/text.h"
#include "shader/ir/uses.h"

namespace kymo::shader {
namespace {

// Operators that get parentheses although C does not need them.
bool c_dialect_confuses(Binding outer, Binding inner) {
  if (inner == outer || inner >= Binding::Prefix) return false;
  switch (outer) {
    case Binding::Shift:
    case Binding::And:
    case Binding::Xor:
    case Binding::Or:
      return true;
    case Binding::Equality:
      return inner == Binding::Relation;
    case Binding::LogicalOr:
      return inner == Binding::LogicalAnd;
    default:
      return false;
  }
}

}  // namespace

std::string_view operator_sign(ir::Operator op) {
  constexpr std::string_view kSigns[] = {"+",  "-",  "*", "/",  "%", "<<", ">>", "&", "|", "^",
                                         "==", "!=", "<", "<=", ">", ">=", "-",  "~", "!"};
  return kSigns[static_cast<size_t>(op)];
}

Binding operator_binding(ir::Operator op) {
  constexpr Binding kBindings[] = {Binding::Sum,      Binding::Sum,      Binding::Product,  Binding::Product,
                                   Binding::Product,  Binding::Shift,    Binding::Shift,    Binding::And,
                                   Binding::Or,       Binding::Xor,      Binding::Equality, Binding::Equality,
                                   Binding::Relation, Binding::Relation, Binding::Relation, Binding::Relation,
                                   Binding::Prefix,   Binding::Prefix,   Binding::Prefix};
  return kBindings[static_cast<size_t>(op)];
}

CText c_joined(std::string_view sign, Binding binding, CText left, CText right) {
  if (c_dialect_confuses(binding, left.binding)) left.binding = Binding::Conditional;
  if (c_dialect_confuses(binding, right.binding)) right.binding = Binding::Conditional;
  std::string text = std::move(left).in(binding);
  ((text += ' ') += sign) += ' ';
  text += std::move(right).in(static_cast<Binding>(static_cast<int>(binding) + 1));
  return {std::move(text), binding};
}

CText c_binary(ir::Operator op, CText left, CText right) {
  return c_joined(operator_sign(op), operator_binding(op), std::move(left), std::move(right));
}

std::string_view position_name(ir::Intrinsic position) {
  constexpr std::string_view kNames[] = {"grid_position", "group_position", "group_index",    "grid_size",
                                         "group_size",    "group_count",    "full_group_size"};
  return kNames[static_cast<size_t>(position) - static_cast<size_t>(ir::Intrinsic::GridPosition)];
}

std::string_view reduction_name(ir::Intrinsic reduction) {
  constexpr std::string_view kNames[] = {"sum", "product", "min", "max",     "and",    "or",
                                         "xor", "sum",     "sum", "product", "product"};
  return kNames[static_cast<size_t>(reduction) - static_cast<size_t>(ir::Intrinsic::SimdSum)];
}

std::string CDialect::structure(std::string_view name, uint32_t align) const {
  return base::format("struct {}{} {{\n", align == 0 ? "" : aligned(align), name);
}

CText CDialect::intrinsic(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) {
  using ir::Intrinsic;
  const Intrinsic intrinsic = expression.intrinsic;
  if (intrinsic == Intrinsic::SimdLane || intrinsic == Intrinsic::SimdIndex) {
    prelude.use("thread_in_group");
    return {base::format("kymo_thread_in_group() {} 32u", intrinsic == Intrinsic::SimdLane ? "%" : "/"),
            Binding::Product};
  }
  if (is_position(intrinsic)) return whole_position(intrinsic, hidden);
  if (intrinsic >= Intrinsic::SimdSum) return collective(expression, operands, hidden);
  if (intrinsic < Intrinsic::AtomicLoad || intrinsic > Intrinsic::AtomicMax) return function(expression, operands);

  const Type* pointer = expression.operands[0]->type;
  const Type* value = pointer->inner->inner;
  const bool is_bool = value->is(TypeKind::Bool);  // in a word
  if (is_bool)
    for (CText& operand : operands.subspan(1)) operand = c_cast("uint", std::move(operand));
  const std::string memory =
      base::format("volatile {}{}*", space(pointer->space), is_bool ? "uint" : scalar(value->kind));
  CText text = intrinsic == Intrinsic::AtomicLoad ? c_prefix("*", c_cast(memory, std::move(operands[0])))
                                                  : atomic(expression, memory, operands);
  const bool gives_bool = is_bool && !expression.type->is(TypeKind::Void);
  return gives_bool ? c_binary(ir::Operator::NotEqual, std::move(text), {"0u"}) : text;
}

}  // namespace kymo::shader
