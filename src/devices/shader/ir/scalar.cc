#include "shader/ir/scalar.h"

#include <math.h>

#include <cmath>

namespace kymo::shader {
namespace {

constexpr uint32_t kFloatInfinity = 0x7f800000;

// `value` without its last `dropped` bits, rounded to nearest, ties to even.
uint32_t float16_shifted(uint32_t value, uint32_t dropped) {
  const uint32_t half = uint32_t{1} << (dropped - 1);
  const uint32_t odd = value >> dropped & 1;
  return (value + half - 1 + odd) >> dropped;
}

}  // namespace

uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kFloatInfinity) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and more
  // A carry of the rounding goes into the exponent, and from the largest number to infinity, as it shall.
  if (magnitude >= 0x38800000) return static_cast<uint16_t>(sign | float16_shifted(magnitude - 0x38000000, 13));
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return static_cast<uint16_t>(sign);  // less than half of the smallest subnormal, 2^-24
  const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  return static_cast<uint16_t>(sign | float16_shifted(mantissa, 126 - exponent));
}

float half_from_bits(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | kFloatInfinity | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t bfloat_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > kFloatInfinity) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>(float16_shifted(bits, 16));
}

float bfloat_from_bits(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

float round_to_half(float value) { return half_from_bits(half_bits(value)); }
float round_to_bfloat(float value) { return bfloat_from_bits(bfloat_bits(value)); }

}  // namespace kymo::shader

namespace kymo::shader::ir {
namespace {

bool scalar_is_signed(TypeKind kind) {
  return kind == TypeKind::Char || kind == TypeKind::Short || kind == TypeKind::Int || kind == TypeKind::Long;
}
bool scalar_is_integer(TypeKind kind) { return kind >= TypeKind::Char && kind <= TypeKind::ULong; }
bool scalar_is_floating(TypeKind kind) { return kind >= TypeKind::Half && kind <= TypeKind::Float; }

uint32_t scalar_width(TypeKind kind) { return scalar_bytes(kind) * 8; }

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
  if (kind == TypeKind::Bool) return bits != 0;
  if (!scalar_is_integer(kind)) return bits;
  const uint32_t unused = 64 - scalar_width(kind);
  bits <<= unused;
  return scalar_is_signed(kind) ? static_cast<uint64_t>(static_cast<int64_t>(bits) >> unused) : bits >> unused;
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

namespace {

float reciprocal_root(float x) { return 1.0F / sqrtf(x); }
float power_of_ten(float x) { return static_cast<float>(std::pow(10.0, double{x})); }

// By the order of the enumeration, from Abs to Atanh, and from Fmin to Copysign.
constexpr float (*kOfFloat[])(float) = {
    fabsf, floorf, ceilf, truncf, nearbyintf, sqrtf, reciprocal_root, expf,  exp2f, power_of_ten, logf,   log2f, log10f,
    sinf,  cosf,   tanf,  asinf,  acosf,      atanf, sinhf,           coshf, tanhf, asinhf,       acoshf, atanhf};
constexpr float (*kOfFloats[])(float, float) = {fminf, fmaxf, fmodf, powf, atan2f, copysignf};

std::optional<uint64_t> intrinsic_on_floats(Intrinsic intrinsic, std::span<const uint64_t> operands) {
  const float x = float_of(operands[0]);
  if (intrinsic == Intrinsic::IsNan) return static_cast<uint64_t>(std::isnan(x));
  if (intrinsic == Intrinsic::IsInf) return static_cast<uint64_t>(std::isinf(x));
  const auto which = static_cast<size_t>(intrinsic), of_two = which - static_cast<size_t>(Intrinsic::Fmin);
  if (operands.size() == 1 && which < std::size(kOfFloat)) return bits_of(kOfFloat[which](x));
  if (operands.size() == 2 && of_two < std::size(kOfFloats))
    return bits_of(kOfFloats[of_two](x, float_of(operands[1])));
  if (operands.size() == 3 && intrinsic == Intrinsic::Fma)
    return bits_of(std::fma(x, float_of(operands[1]), float_of(operands[2])));
  return std::nullopt;
}

uint64_t intrinsic_reversed(uint64_t value, uint32_t width) {
  uint64_t reversed = 0;
  for (uint32_t bit = 0; bit < width; ++bit) reversed = reversed << 1 | (value >> bit & 1);
  return reversed;
}

std::optional<uint64_t> intrinsic_on_integers(Intrinsic intrinsic, TypeKind kind, std::span<const uint64_t> operands) {
  const uint64_t x = operands[0], plain = scalar_to_memory(kind, x);
  const auto width = static_cast<uint32_t>(std::bit_width(scalar_to_memory(kind, ~uint64_t{0})));
  if (operands.size() == 1) {
    if (intrinsic == Intrinsic::PopCount) return static_cast<uint64_t>(std::popcount(plain));
    if (intrinsic == Intrinsic::CountLeadingZeros) return width - static_cast<uint64_t>(std::bit_width(plain));
    if (intrinsic == Intrinsic::ReverseBits) return scalar_normalized(kind, intrinsic_reversed(plain, width));
    return std::nullopt;
  }
  if (operands.size() != 2) return std::nullopt;
  const uint64_t y = operands[1];
  const auto less = scalar_binary(Operator::Less, kind, y, kind, x);
  if (intrinsic == Intrinsic::Min) return *less != 0 ? y : x;
  if (intrinsic == Intrinsic::Max) return *less != 0 ? x : y;
  // Both are of 32 bits at most here, extended to 64: their product is exact.
  if (intrinsic == Intrinsic::MulHi && width <= 32) return scalar_normalized(kind, x * y >> width);
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> scalar_intrinsic(Intrinsic intrinsic, TypeKind kind, std::span<const uint64_t> operands) {
  if (operands.empty()) return std::nullopt;
  if (intrinsic == Intrinsic::Select) {
    if (operands.size() != 3) return std::nullopt;
    return operands[2] != 0 ? operands[1] : operands[0];
  }
  if (kind == TypeKind::Float) return intrinsic_on_floats(intrinsic, operands);
  if (kind >= TypeKind::Char && kind <= TypeKind::ULong) return intrinsic_on_integers(intrinsic, kind, operands);
  return std::nullopt;
}

}  // namespace kymo::shader::ir
