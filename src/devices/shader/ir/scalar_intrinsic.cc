#include <algorithm>
#include <bit>
#include <cmath>

#include "shader/ir/scalar.h"

namespace kymo::shader::ir {
namespace {

std::optional<float> intrinsic_of_float(Intrinsic intrinsic, float x) {
  switch (intrinsic) {
    case Intrinsic::Abs:
      return std::fabs(x);
    case Intrinsic::Floor:
      return std::floor(x);
    case Intrinsic::Ceil:
      return std::ceil(x);
    case Intrinsic::Trunc:
      return std::trunc(x);
    case Intrinsic::Rint:
      return std::nearbyint(x);
    case Intrinsic::Sqrt:
      return std::sqrt(x);
    case Intrinsic::Rsqrt:
      return 1.0F / std::sqrt(x);
    case Intrinsic::Exp:
      return std::exp(x);
    case Intrinsic::Exp2:
      return std::exp2(x);
    case Intrinsic::Exp10:
      return static_cast<float>(std::pow(10.0, static_cast<double>(x)));
    case Intrinsic::Log:
      return std::log(x);
    case Intrinsic::Log2:
      return std::log2(x);
    case Intrinsic::Log10:
      return std::log10(x);
    case Intrinsic::Sin:
      return std::sin(x);
    case Intrinsic::Cos:
      return std::cos(x);
    case Intrinsic::Tan:
      return std::tan(x);
    case Intrinsic::Asin:
      return std::asin(x);
    case Intrinsic::Acos:
      return std::acos(x);
    case Intrinsic::Atan:
      return std::atan(x);
    case Intrinsic::Sinh:
      return std::sinh(x);
    case Intrinsic::Cosh:
      return std::cosh(x);
    case Intrinsic::Tanh:
      return std::tanh(x);
    case Intrinsic::Asinh:
      return std::asinh(x);
    case Intrinsic::Acosh:
      return std::acosh(x);
    case Intrinsic::Atanh:
      return std::atanh(x);
    default:
      return std::nullopt;
  }
}

std::optional<float> intrinsic_of_floats(Intrinsic intrinsic, float x, float y) {
  switch (intrinsic) {
    case Intrinsic::Fmin:
      return std::fmin(x, y);
    case Intrinsic::Fmax:
      return std::fmax(x, y);
    case Intrinsic::Fmod:
      return std::fmod(x, y);
    case Intrinsic::Pow:
      return std::pow(x, y);
    case Intrinsic::Atan2:
      return std::atan2(x, y);
    case Intrinsic::Copysign:
      return std::copysign(x, y);
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> intrinsic_on_floats(Intrinsic intrinsic, std::span<const uint64_t> operands) {
  const float x = float_of(operands[0]);
  if (intrinsic == Intrinsic::IsNan) return static_cast<uint64_t>(std::isnan(x));
  if (intrinsic == Intrinsic::IsInf) return static_cast<uint64_t>(std::isinf(x));
  std::optional<float> result;
  if (operands.size() == 1) result = intrinsic_of_float(intrinsic, x);
  if (operands.size() == 2) result = intrinsic_of_floats(intrinsic, x, float_of(operands[1]));
  if (operands.size() == 3 && intrinsic == Intrinsic::Fma)
    result = std::fma(x, float_of(operands[1]), float_of(operands[2]));
  if (!result) return std::nullopt;
  return bits_of(*result);
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
