#include "shader/test_support/ir_names.h"

#include <iterator>

namespace kymo::shader::ir {
namespace {

// In the order of the enumerations.
// clang-format off
constexpr std::string_view kIntrinsicNames[] = {
    "abs", "floor", "ceil", "trunc", "rint", "sqrt", "rsqrt", "exp", "exp2", "exp10", "log", "log2", "log10", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fmin", "fmax", "fmod",
    "pow", "atan2", "copysign", "fma", "is_nan", "is_inf", "min", "max", "pop_count", "count_leading_zeros",
    "reverse_bits", "mul_hi", "any", "all", "select", "atomic_load", "atomic_store", "atomic_exchange",
    "atomic_compare_exchange", "atomic_add", "atomic_subtract", "atomic_and", "atomic_or", "atomic_xor",
    "atomic_min", "atomic_max", "group_barrier", "simd_barrier", "fence", "simd_sum", "simd_product", "simd_min",
    "simd_max", "simd_and", "simd_or", "simd_xor", "simd_inclusive_sum", "simd_exclusive_sum",
    "simd_inclusive_product", "simd_exclusive_product", "simd_matrix", "simd_shuffle", "simd_ballot", "group_any", "grid_position",
    "group_position", "group_index", "grid_size", "group_size", "group_count", "full_group_size", "simd_lane",
    "simd_index",
};
constexpr std::string_view kOperatorNames[] = {
    "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "-", "~", "!",
};
constexpr std::string_view kKindNames[] = {
    "constant", "null", "variable", "dereference", "member", "index", "swizzle", "address_of", "decay",
    "pointer_add", "pointer_cast", "pointer_difference", "unary", "binary", "logical_and", "logical_or",
    "conditional", "convert", "splat", "construct", "zero", "bitcast", "call", "intrinsic",
};
// clang-format on

static_assert(std::size(kIntrinsicNames) == static_cast<size_t>(Intrinsic::SimdIndex) + 1);
static_assert(std::size(kOperatorNames) == static_cast<size_t>(Operator::Not) + 1);
static_assert(std::size(kKindNames) == static_cast<size_t>(ExpressionKind::Intrinsic) + 1);

}  // namespace

std::string_view intrinsic_name(Intrinsic intrinsic) { return kIntrinsicNames[static_cast<size_t>(intrinsic)]; }
std::string_view operator_name(Operator op) { return kOperatorNames[static_cast<size_t>(op)]; }
std::string_view kind_name(ExpressionKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

}  // namespace kymo::shader::ir
