#include "shader/ir/scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shader/ir/float16.h"

namespace kymo::shader::ir {
namespace {

bool scalar_is_signed(TypeKind kind) {
  return kind == TypeKind::Char || kind == TypeKind::Short || kind == TypeKind::Int || kind == TypeKind::Long;
}
bool scalar_is_integer(TypeKind kind) { return kind >= TypeKind::Char && kind <= TypeKind::ULong; }
bool scalar_is_floating(TypeKind kind) { return kind >= TypeKind::Half && kind <= TypeKind::Float; }

uint32_t scalar_width(TypeKind kind) {
  switch (kind) {
    case TypeKind::Char:
    case TypeKind::UChar:
      return 8;
    case TypeKind::Short:
    case TypeKind::UShort:
      return 16;
    case TypeKind::Int:
    case TypeKind::UInt:
      return 32;
    default:
      return 64;
  }
}

// Towards 0; values out of range are clamped.
uint64_t scalar_float_to_integer(float value, TypeKind to) {
  if (std::isnan(value)) return 0;
  const uint32_t width = scalar_width(to);
  const float limit = std::ldexp(1.0F, static_cast<int>(scalar_is_signed(to) ? width - 1 : width));
  const float whole = std::trunc(value);
  if (scalar_is_signed(to)) {
    const uint64_t max = (uint64_t{1} << (width - 1)) - 1;
    if (whole >= limit) return max;
    if (whole < -limit) return ~max;
    return static_cast<uint64_t>(static_cast<int64_t>(whole));
  }
  if (whole <= 0) return 0;
  if (whole >= limit) return scalar_normalized(to, ~uint64_t{0});
  return static_cast<uint64_t>(whole);
}

float scalar_to_float(TypeKind from, uint64_t bits) {
  if (scalar_is_floating(from)) return float_of(bits);
  if (scalar_is_signed(from)) return static_cast<float>(static_cast<int64_t>(bits));
  return static_cast<float>(bits);
}

template <typename T>
uint64_t scalar_compared(Operator op, T left, T right) {
  switch (op) {
    case Operator::Equal:
      return left == right;
    case Operator::NotEqual:
      return left != right;
    case Operator::Less:
      return left < right;
    case Operator::LessEqual:
      return left <= right;
    case Operator::Greater:
      return left > right;
    default:
      return left >= right;
  }
}

std::optional<uint64_t> scalar_binary_bool(Operator op, uint64_t left, uint64_t right) {
  switch (op) {
    case Operator::And:
      return left & right;
    case Operator::Or:
      return left | right;
    case Operator::Xor:
    case Operator::NotEqual:
      return left ^ right;
    case Operator::Equal:
      return static_cast<uint64_t>(left == right);
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> scalar_binary_float(Operator op, float left, float right) {
  if (is_comparison(op)) return scalar_compared(op, left, right);
  switch (op) {
    case Operator::Add:
      return bits_of(left + right);
    case Operator::Subtract:
      return bits_of(left - right);
    case Operator::Multiply:
      return bits_of(left * right);
    case Operator::Divide:
      return bits_of(left / right);
    default:
      return std::nullopt;
  }
}

// The quotient of the least number by -1 wraps, as sums do.
std::optional<uint64_t> scalar_divided(Operator op, TypeKind kind, uint64_t left, uint64_t right) {
  if (right == 0) return std::nullopt;
  const bool quotient = op == Operator::Divide;
  if (!scalar_is_signed(kind)) return quotient ? left / right : left % right;
  const auto dividend = static_cast<int64_t>(left), divisor = static_cast<int64_t>(right);
  if (divisor == -1) return quotient ? scalar_normalized(kind, 0 - left) : 0;
  return scalar_normalized(kind, static_cast<uint64_t>(quotient ? dividend / divisor : dividend % divisor));
}

std::optional<uint64_t> scalar_shifted(Operator op, TypeKind kind, uint64_t left, uint64_t amount) {
  if (amount >= scalar_width(kind)) return std::nullopt;  // a negative one too: it is a large number here
  if (op == Operator::ShiftLeft) return scalar_normalized(kind, left << amount);
  if (!scalar_is_signed(kind)) return left >> amount;
  return static_cast<uint64_t>(static_cast<int64_t>(left) >> amount);
}

std::optional<uint64_t> scalar_binary_integer(Operator op, TypeKind kind, uint64_t left, uint64_t right) {
  if (is_comparison(op)) {
    if (!scalar_is_signed(kind)) return scalar_compared(op, left, right);
    return scalar_compared(op, static_cast<int64_t>(left), static_cast<int64_t>(right));
  }
  switch (op) {
    case Operator::Add:
      return scalar_normalized(kind, left + right);
    case Operator::Subtract:
      return scalar_normalized(kind, left - right);
    case Operator::Multiply:
      return scalar_normalized(kind, left * right);
    case Operator::Divide:
    case Operator::Remainder:
      return scalar_divided(op, kind, left, right);
    case Operator::ShiftLeft:
    case Operator::ShiftRight:
      return scalar_shifted(op, kind, left, right);
    case Operator::And:
      return left & right;
    case Operator::Or:
      return left | right;
    case Operator::Xor:
      return left ^ right;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_comparison(Operator op) { return op >= Operator::Equal && op <= Operator::GreaterEqual; }

uint64_t scalar_normalized(TypeKind kind, uint64_t bits) {
  switch (kind) {
    case TypeKind::Bool:
      return bits != 0;
    case TypeKind::Char:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(bits)));
    case TypeKind::UChar:
      return static_cast<uint8_t>(bits);
    case TypeKind::Short:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(bits)));
    case TypeKind::UShort:
      return static_cast<uint16_t>(bits);
    case TypeKind::Int:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
    case TypeKind::UInt:
      return static_cast<uint32_t>(bits);
    default:
      return bits;
  }
}

uint64_t scalar_converted(TypeKind from, TypeKind to, uint64_t bits) {
  if (from == to) return bits;
  switch (to) {
    case TypeKind::Bool:
      return scalar_is_floating(from) ? float_of(bits) != 0 : bits != 0;
    case TypeKind::Half:
      return bits_of(round_to_half(scalar_to_float(from, bits)));
    case TypeKind::BFloat:
      return bits_of(round_to_bfloat(scalar_to_float(from, bits)));
    case TypeKind::Float:
      return bits_of(scalar_to_float(from, bits));
    default:
      return scalar_is_floating(from) ? scalar_float_to_integer(float_of(bits), to) : scalar_normalized(to, bits);
  }
}

uint64_t scalar_to_memory(TypeKind kind, uint64_t bits) {
  switch (kind) {
    case TypeKind::Half:
      return half_bits(float_of(bits));
    case TypeKind::BFloat:
      return bfloat_bits(float_of(bits));
    case TypeKind::Bool:
    case TypeKind::Float:
      return bits;
    default:
      return scalar_width(kind) == 64 ? bits : bits & ((uint64_t{1} << scalar_width(kind)) - 1);
  }
}

uint64_t scalar_from_memory(TypeKind kind, uint64_t bytes) {
  switch (kind) {
    case TypeKind::Half:
      return bits_of(half_from_bits(static_cast<uint16_t>(bytes)));
    case TypeKind::BFloat:
      return bits_of(bfloat_from_bits(static_cast<uint16_t>(bytes)));
    case TypeKind::Bool:
      return (bytes & 0xff) != 0;
    case TypeKind::Float:
      return static_cast<uint32_t>(bytes);
    default:
      return scalar_normalized(kind, bytes);
  }
}

std::optional<uint64_t> scalar_unary(Operator op, TypeKind kind, uint64_t value) {
  switch (op) {
    case Operator::Negate:
      if (kind == TypeKind::Float) return value ^ 0x80000000;
      if (scalar_is_integer(kind)) return scalar_normalized(kind, 0 - value);
      return std::nullopt;
    case Operator::Complement:
      if (scalar_is_integer(kind)) return scalar_normalized(kind, ~value);
      return std::nullopt;
    case Operator::Not:
      if (kind == TypeKind::Bool) return value ^ 1;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> scalar_binary(Operator op, TypeKind kind, uint64_t left, TypeKind right_kind, uint64_t right) {
  const bool is_shift = op == Operator::ShiftLeft || op == Operator::ShiftRight;
  if (is_shift ? !scalar_is_integer(right_kind) : right_kind != kind) return std::nullopt;
  if (kind == TypeKind::Bool) return scalar_binary_bool(op, left, right);
  if (kind == TypeKind::Float) return scalar_binary_float(op, float_of(left), float_of(right));
  if (scalar_is_integer(kind)) return scalar_binary_integer(op, kind, left, right);
  return std::nullopt;
}

}  // namespace kymo::shader::ir
