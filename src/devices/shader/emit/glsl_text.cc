#include "shader/emit/glsl_text.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "shader/embedded.h"

namespace kymo::shader::glsl {
namespace {

Text glsl_float(float value) {
  if (std::isnan(value)) return {"(0.0 / 0.0)"};
  const bool negative = std::signbit(value);
  if (std::isinf(value)) return {negative ? "(-1.0 / 0.0)" : "(1.0 / 0.0)"};
  std::string text = base::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return {text, negative ? Level::Prefix : Level::Postfix};
}

Text glsl_signed(int64_t value, int64_t least, std::string_view suffix) {
  // The least has no literal: it would be the negation of one that is too large.
  if (value == least) return {base::format("({}{} - 1{})", value + 1, suffix, suffix)};
  return {base::format("{}{}", value, suffix), value < 0 ? Level::Prefix : Level::Postfix};
}

}  // namespace

std::string operand(const Text& text, Level level) { return Text(text).in(level); }

Text binary(const Text& left, std::string_view sign, const Text& right, Level level) {
  const Level tighter = static_cast<Level>(static_cast<uint8_t>(level) + 1);
  return {base::format("{} {} {}", operand(left, level), sign, operand(right, tighter)), level};
}

Text sum(const Text& left, const Text& right) {
  if (left.text == "0") return right;
  if (right.text == "0") return left;
  if (right.binding == Level::Prefix && right.text.starts_with('-'))
    return {base::format("{} - {}", operand(left, Level::Sum), std::string_view(right.text).substr(1)), Level::Sum};
  return binary(left, "+", right, Level::Sum);
}

Text product(const Text& left, uint64_t factor, bool wide) {
  if (factor == 1) return left;
  // Of a small number, at once.
  if (!wide && left.text.size() < 6 && left.text.find_first_not_of("0123456789") == std::string::npos)
    return {std::to_string(std::stoull(left.text) * factor)};
  return binary(left, "*", {wide ? number(factor) : std::to_string(factor)}, Level::Product);
}

Text literal(TypeKind kind, uint64_t bits) {
  switch (kind) {
    case TypeKind::Bool:
      return {bits != 0 ? "true" : "false"};
    case TypeKind::Char:
      return {base::format("int8_t({})", static_cast<int8_t>(bits))};
    case TypeKind::UChar:
      return {base::format("uint8_t({})", static_cast<uint8_t>(bits))};
    case TypeKind::Short:
      return {base::format("int16_t({})", static_cast<int16_t>(bits))};
    case TypeKind::UShort:
      return {base::format("uint16_t({})", static_cast<uint16_t>(bits))};
    case TypeKind::Int:
      return glsl_signed(static_cast<int32_t>(bits), std::numeric_limits<int32_t>::min(), "");
    case TypeKind::UInt:
      return {base::format("{}u", static_cast<uint32_t>(bits))};
    case TypeKind::Long:
      return glsl_signed(static_cast<int64_t>(bits), std::numeric_limits<int64_t>::min(), "l");
    case TypeKind::ULong:
      return {number(bits)};
    default:
      return glsl_float(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
}

std::string number(uint64_t value) { return base::format("{}ul", value); }

const Reserved& reserved_words() {
  static const Reserved words = read_reserved(embedded::reserved_glsl_txt);
  return words;
}

}  // namespace kymo::shader::glsl
