#include "shader/ir/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shader/ir/scalar.h"

namespace kymo::shader::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactInFloat = 16777216;  // integers up to here are exact in a float
constexpr double kExactInDouble = 9007199254740992;
constexpr uint32_t kMaxNesting = 4;      // of choices in choices, each of which is looked at several times
constexpr uint32_t kMaxConditions = 12;  // in one condition, for the same reason
constexpr Range kNothing{kInfinity, -kInfinity, false};

bool contains(const Range& outer, const Range& inner) {
  return inner.low >= outer.low && inner.high <= outer.high && (outer.nan || !inner.nan);
}

// A result between the results for the ends. Integers that may overflow wrap to anything. A float is rounded, and a
// device may replace a very small one by 0.
Range result(const Type* type, double low, double high) {
  const Range all = range_of_type(type);
  if (std::isnan(low) || std::isnan(high)) return all;
  if (type->is(TypeKind::Float)) {
    low = static_cast<float>(low);
    high = static_cast<float>(high);
    if (low > 0 && low < std::numeric_limits<float>::min()) low = 0;
    if (high < 0 && high > -std::numeric_limits<float>::min()) high = 0;
    return {low, high, false};
  }
  const bool is_exact = low >= -kExactInDouble && high <= kExactInDouble;
  return is_exact && low >= all.low && high <= all.high ? Range{low, high, false} : all;
}

bool is_number(const Type* type) { return type->is_integer() || type->is(TypeKind::Float); }

// What it converts, if the conversion keeps the numbers. Of integers in a float, large ones are not kept: the ends of
// the range that are large are dropped.
const Expression& unconverted(const Expression& e, Range& range) {
  if (e.kind != ExpressionKind::Convert || !e.type->is_scalar()) return e;
  const Expression& from = *e.operands[0];
  if (e.type->is(TypeKind::Float) && from.type->is_floating()) return from;
  if (e.type->is(TypeKind::Float) && from.type->is_integer()) {
    if (std::abs(range.low) > kExactInFloat) range.low = -kInfinity;
    if (std::abs(range.high) > kExactInFloat) range.high = kInfinity;
    return from;
  }
  const bool is_wider =
      e.type->is_integer() && from.type->is_integer() && contains(range_of_type(e.type), range_of_type(from.type));
  return is_wider ? from : e;
}

}  // namespace

Range range_of_type(const Type* type) {
  if (type->is(TypeKind::Bool)) return {0, 1, false};
  if (!type->is_integer()) return {-kInfinity, kInfinity, true};
  const int bits = static_cast<int>(type->size) * 8;
  if (type->is_signed()) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - (bits < 64 ? 1 : 0), false};
  return {0, std::ldexp(1.0, bits) - (bits < 64 ? 1 : 0), false};
}

Range join(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
}

Range Ranges::of_variable(const Variable& variable) const {
  const auto found = known_.find(&variable);
  return found != known_.end() ? found->second : range_of_type(variable.type);
}

void Ranges::set(const Variable& variable, const Range& range) {
  if (!variable.type->is_scalar() || variable.address_taken || variable.space != Space::Thread) return;
  known_[&variable] = range;
}

void Ranges::join_with(const Ranges& other) {
  for (auto& [variable, range] : known_) range = join(range, other.of_variable(*variable));
}

Range Ranges::of(const Expression& e) const {
  const Range all = range_of_type(e.type);
  if (!e.type->is_scalar()) return all;
  switch (e.kind) {
    case ExpressionKind::Constant: {
      if (e.type->is_floating()) {
        const double value = float_of(e.bits);
        return std::isnan(value) ? Range{kInfinity, -kInfinity, true} : Range{value, value, false};
      }
      const bool is_signed = e.type->is_signed();
      const double value = is_signed ? static_cast<double>(static_cast<int64_t>(e.bits)) : static_cast<double>(e.bits);
      return std::abs(value) <= kExactInDouble ? Range{value, value, false} : all;
    }
    case ExpressionKind::Variable:
      return of_variable(*e.variable);
    case ExpressionKind::Unary: {
      const Range inner = of(*e.operands[0]);
      if (e.op == Operator::Not) return {1 - inner.high, 1 - inner.low, false};
      if (e.op != Operator::Negate || !is_number(e.type) || inner.low > inner.high) return all;
      Range negative = result(e.type, -inner.high, -inner.low);
      negative.nan = negative.nan || inner.nan;
      return negative;
    }
    case ExpressionKind::Convert: {
      const Range inner = of(*e.operands[0]);
      const bool keeps = contains(all, inner) && (e.type->is_floating() || e.operands[0]->type->is_integer());
      if (!keeps || e.type->is(TypeKind::Half) || e.type->is(TypeKind::BFloat)) return all;
      return {static_cast<float>(inner.low) == inner.low || e.type->is_integer() ? inner.low : all.low,
              static_cast<float>(inner.high) == inner.high || e.type->is_integer() ? inner.high : all.high, inner.nan};
    }
    case ExpressionKind::Conditional: {
      if (nesting_ == kMaxNesting) return all;
      Ranges yes = *this, no = *this;
      ++yes.nesting_;
      ++no.nesting_;
      const bool can_be_true = yes.refine(*e.operands[0], true), can_be_false = no.refine(*e.operands[0], false);
      return join(can_be_true ? yes.of(*e.operands[1]) : kNothing, can_be_false ? no.of(*e.operands[2]) : kNothing);
    }
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr: {
      const Range a = of(*e.operands[0]), b = of(*e.operands[1]);
      if (e.kind == ExpressionKind::LogicalAnd) return {std::min(a.low, b.low), std::min(a.high, b.high), false};
      return {std::max(a.low, b.low), std::max(a.high, b.high), false};
    }
    case ExpressionKind::Binary:
      return of_binary(e);
    case ExpressionKind::Intrinsic:
      return of_intrinsic(e);
    case ExpressionKind::Call:
      return of_call(e);
    default:
      return all;
  }
}

Range Ranges::of_binary(const Expression& e) const {
  const Range all = range_of_type(e.type);
  if (!is_number(e.type)) return all;  // comparisons: refine()
  const Range a = of(*e.operands[0]), b = of(*e.operands[1]);
  if (a.nan || b.nan || a.low > a.high || b.low > b.high) return all;
  switch (e.op) {
    case Operator::Add:
      return result(e.type, a.low + b.low, a.high + b.high);
    case Operator::Subtract:
      return result(e.type, a.low - b.high, a.high - b.low);
    case Operator::Multiply: {
      const double ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
      if (std::ranges::any_of(ends, [](double one) { return std::isnan(one); })) return all;
      return result(e.type, std::ranges::min(ends), std::ranges::max(ends));
    }
    case Operator::Divide: {
      if (!e.type->is_integer() || b.low <= 0) return all;
      const double ends[] = {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high};
      return result(e.type, std::trunc(std::ranges::min(ends)), std::trunc(std::ranges::max(ends)));
    }
    case Operator::Remainder:
      return b.low > 0 && a.low >= 0 ? Range{0, std::min(a.high, b.high - 1), false} : all;
    default:
      return all;
  }
}

Range Ranges::of_intrinsic(const Expression& e) const {
  const Range all = range_of_type(e.type);
  if (!is_number(e.type) || e.operands.empty()) return all;
  const Range a = of(*e.operands[0]);
  if (a.low > a.high) return all;
  if (e.intrinsic == Intrinsic::Abs && e.type->is_floating()) {
    const double low = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
    return {low, std::max(std::abs(a.low), std::abs(a.high)), a.nan};
  }
  if (e.operands.size() != 2) return all;
  const Range b = of(*e.operands[1]);
  if (a.nan || b.nan || b.low > b.high) return all;
  if (e.intrinsic == Intrinsic::Fmin || e.intrinsic == Intrinsic::Min)
    return {std::min(a.low, b.low), std::min(a.high, b.high), false};
  if (e.intrinsic == Intrinsic::Fmax || e.intrinsic == Intrinsic::Max)
    return {std::max(a.low, b.low), std::max(a.high, b.high), false};
  return all;
}

// A function that is one expression, such as a library's own abs().
Range Ranges::of_call(const Expression& e) const {
  const Range all = range_of_type(e.type);
  const Function& function = *e.function;
  if (nesting_ == kMaxNesting || !function.is_defined || function.body.size() != 1 ||
      function.body[0]->kind != StatementKind::Return)
    return all;
  if (function.body[0]->value == nullptr) return all;
  Ranges inner;
  inner.nesting_ = kMaxNesting;
  for (size_t i = 0; i < e.operands.size(); ++i) inner.set(*function.parameters[i], of(*e.operands[i]));
  return inner.of(*function.body[0]->value);
}

bool Ranges::refine(const Expression& condition, bool value, uint32_t depth) {
  if (++depth > kMaxConditions) return true;
  switch (condition.kind) {
    case ExpressionKind::Unary:
      if (condition.op == Operator::Not) return refine(*condition.operands[0], !value, depth);
      return true;
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr: {
      // `both` is the value with which both operands were evaluated, and had it.
      const bool both = condition.kind == ExpressionKind::LogicalAnd;
      if (value == both)
        return refine(*condition.operands[0], value, depth) && refine(*condition.operands[1], value, depth);
      Ranges first = *this;
      const bool by_first = first.refine(*condition.operands[0], value, depth);
      const bool by_second =
          refine(*condition.operands[0], !value, depth) && refine(*condition.operands[1], value, depth);
      if (!by_second) *this = first;
      if (by_first && by_second) join_with(first);
      return by_first || by_second;
    }
    case ExpressionKind::Binary:
      if (!is_comparison(condition.op) || !is_number(condition.operands[0]->type)) return true;
      if (value) return compare(condition.op, *condition.operands[0], *condition.operands[1]);
      break;
    default: {
      const Range known = of(condition), wanted{value ? 1.0 : 0.0, value ? 1.0 : 0.0, false};
      narrow(condition, wanted);
      return contains(known, wanted);
    }
  }
  // A comparison is false: the opposite is true, or a number is NaN.
  const Expression &left = *condition.operands[0], &right = *condition.operands[1];
  const Range a = of(left), b = of(right);
  if (condition.op == Operator::NotEqual) return compare(Operator::Equal, left, right);
  if (b.nan) return true;
  const bool can_be_nan = a.nan;
  const Ranges before = *this;
  bool is_possible = true;
  switch (condition.op) {
    case Operator::Less:
      is_possible = compare(Operator::GreaterEqual, left, right);
      break;
    case Operator::LessEqual:
      is_possible = compare(Operator::Greater, left, right);
      break;
    case Operator::Greater:
      is_possible = compare(Operator::LessEqual, left, right);
      break;
    case Operator::GreaterEqual:
      is_possible = compare(Operator::Less, left, right);
      break;
    default:
      is_possible = compare(Operator::NotEqual, left, right);
      break;
  }
  if (can_be_nan) *this = before;
  return is_possible || can_be_nan;
}

// The comparison is true, so no number is NaN, unless it is NotEqual.
bool Ranges::compare(Operator op, const Expression& left, const Expression& right) {
  Range a = of(left), b = of(right);
  if (op == Operator::NotEqual) {
    const bool is_one = a.low == a.high && !a.nan && a == b;
    if (is_one || a.is_empty() || b.is_empty()) return false;
    // An integer that is not the end of its range.
    if (left.type->is_integer() && b.low == b.high) {
      if (a.low == b.low) a.low += 1;
      if (a.high == b.low) a.high -= 1;
      narrow(left, a);
    }
    return true;
  }
  a.nan = b.nan = false;
  const bool is_integer = left.type->is_integer();
  const auto above = [&](double x) { return is_integer ? x + 1 : std::nextafter(static_cast<float>(x), INFINITY); };
  const auto below = [&](double x) { return is_integer ? x - 1 : std::nextafter(static_cast<float>(x), -INFINITY); };
  const bool is_less = op == Operator::Less || op == Operator::LessEqual;
  const bool is_strict = op == Operator::Less || op == Operator::Greater;
  if (is_less || op == Operator::Equal) {
    a.high = std::min(a.high, is_strict ? below(b.high) : b.high);
    b.low = std::max(b.low, is_strict ? above(a.low) : a.low);
  }
  if (!is_less || op == Operator::Equal) {
    a.low = std::max(a.low, is_strict ? above(b.low) : b.low);
    b.high = std::min(b.high, is_strict ? below(a.high) : a.high);
  }
  if (a.low > a.high || b.low > b.high) return false;
  narrow(left, a);
  narrow(right, b);
  return true;
}

// The value of the expression is in the range.
void Ranges::narrow(const Expression& e, Range range) {
  const Expression& from = unconverted(e, range);
  if (from.kind != ExpressionKind::Variable) return;
  Range known = of_variable(*from.variable);
  known.low = std::max(known.low, from.type->is_integer() ? std::ceil(range.low) : range.low);
  known.high = std::min(known.high, from.type->is_integer() ? std::floor(range.high) : range.high);
  known.nan = known.nan && range.nan;
  set(*from.variable, known);
}

}  // namespace kymo::shader::ir
