#include "shader/emit/c_literals.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "shader/ir/float16.h"

namespace kymo::shader {
namespace {

std::string c_float_text(float value) {
  std::string text = base::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + 'f';
}

std::string c_signed_text(int64_t value, bool is_long) {
  const std::string_view suffix = is_long ? "l" : "";
  const int64_t least = is_long ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  if (value == least) return base::format("({}{} - 1)", value + 1, suffix);  // C reads a number first, then its sign
  return base::format("{}{}", value, suffix);
}

// Constants of the program, in memory form.
class InitializerWriter {
 public:
  InitializerWriter(CDialect& dialect, CTypes& types) : dialect_(dialect), types_(types) {}

  // `is_plain`: an array is a plain one, not a structure with one in it.
  std::string text(const ir::Expression& value, bool is_plain) {
    const Type* type = value.type;
    if (type->is_scalar()) return scalar(value);
    if (type->is_pointer() && value.kind == ir::ExpressionKind::Null) return "0";
    if (value.kind == ir::ExpressionKind::Zero && !type->is_vector()) return base::format("{{{}}}", dialect_.zeros());
    if (type->is_vector()) {
      std::string parts;
      components(value, parts);
      return type->packed ? "{{" + parts + "}}" : dialect_.initializer(types_.spelled(Form::Memory, type), parts);
    }
    if (value.kind != ir::ExpressionKind::Construct) refuse(value);
    if (type->is_array() && !is_plain) return "{" + row(value, false) + "}";
    return row(value, is_plain);
  }

 private:
  static constexpr size_t kInALine = 16;

  [[noreturn]] static void refuse(const ir::Expression& value) {
    throw Rejected{value.at, "a constant of type \"" + TypeTable::name(value.type) +
                                 "\" has a value that is not known before the kernel runs"};
  }

  std::string scalar(const ir::Expression& value) const {
    if (value.kind == ir::ExpressionKind::Zero) return "0";
    if (value.kind != ir::ExpressionKind::Constant) refuse(value);
    const float as_float = std::bit_cast<float>(static_cast<uint32_t>(value.bits));
    switch (value.type->kind) {
      case TypeKind::Half:
        return base::format("{:#06x}", half_bits(as_float));
      case TypeKind::BFloat:
        return base::format("{:#06x}", bfloat_bits(as_float));
      case TypeKind::Float:
        if (!std::isfinite(as_float)) return dialect_.float_of_bits_static(static_cast<uint32_t>(value.bits));
        return c_float_text(as_float);
      case TypeKind::ULong:
        return base::format("{}ul", value.bits);
      case TypeKind::UInt:
        return base::format("{}u", static_cast<uint32_t>(value.bits));
      case TypeKind::Bool:
      case TypeKind::UChar:
      case TypeKind::UShort:
        return std::to_string(value.bits);
      default:
        return c_signed_text(static_cast<int64_t>(value.bits), value.type->is(TypeKind::Long));
    }
  }

  void components(const ir::Expression& value, std::string& text) {
    const auto add = [&](const std::string& one) { (text += text.empty() ? "" : ", ") += one; };
    if (value.type->is_scalar()) return add(scalar(value));
    switch (value.kind) {
      case ir::ExpressionKind::Zero:
        for (uint32_t i = 0; i < value.type->count; ++i) add("0");
        return;
      case ir::ExpressionKind::Splat:
        for (uint32_t i = 0; i < value.type->count; ++i) add(scalar(*value.operands[0]));
        return;
      case ir::ExpressionKind::Convert:
        if (value.operands[0]->type->scalar() != value.type->scalar()) refuse(value);
        return components(*value.operands[0], text);
      case ir::ExpressionKind::Construct:
        for (const ir::Expression* part : value.operands) components(*part, text);
        return;
      default:
        refuse(value);
    }
  }

  std::string row(const ir::Expression& value, bool is_plain) {
    if (std::string characters = in_quotes(value); !characters.empty()) return characters;
    std::string text = "{";
    for (size_t i = 0; i < value.operands.size(); ++i) {
      if (i != 0) text += i % kInALine == 0 ? ",\n    " : ", ";
      text += this->text(*value.operands[i], is_plain && value.type->is_array());
    }
    return text + "}";
  }

  // Characters that end with a 0 are a string.
  static std::string in_quotes(const ir::Expression& value) {
    const Type* type = value.type;
    if (!type->is_array() || !(type->inner->is(TypeKind::Char) || type->inner->is(TypeKind::UChar))) return {};
    if (value.operands.size() != type->count || type->count == 0) return {};
    std::string text = "\"";
    for (size_t i = 0; i + 1 < value.operands.size(); ++i) {
      const ir::Expression& one = *value.operands[i];
      if (one.kind != ir::ExpressionKind::Constant) return {};
      const auto c = static_cast<unsigned char>(one.bits);
      if (c < ' ' || c > '~' || c == '"' || c == '\\' || c == '?')
        text += base::format("\\{:03o}", c);
      else
        text += static_cast<char>(c);
    }
    const ir::Expression& last = *value.operands.back();
    return last.kind == ir::ExpressionKind::Constant && last.bits == 0 ? text + '"' : std::string();
  }

  CDialect& dialect_;
  CTypes& types_;
};

}  // namespace

CText c_constant(const CDialect& dialect, const Type* scalar, uint64_t bits) {
  const auto as_signed = static_cast<int64_t>(bits);
  const auto signed_constant = [&](bool is_long) -> CText {
    return {c_signed_text(as_signed, is_long), as_signed < 0 ? Binding::Prefix : Binding::Postfix};
  };
  switch (scalar->kind) {
    case TypeKind::Bool:
      return {bits != 0 ? "true" : "false"};
    case TypeKind::Int:
      return signed_constant(false);
    case TypeKind::Long:
      return signed_constant(true);
    case TypeKind::UInt:
      return {base::format("{}u", static_cast<uint32_t>(bits))};
    case TypeKind::ULong:
      return {base::format("{}ul", bits)};
    case TypeKind::Half:
    case TypeKind::BFloat:
    case TypeKind::Float: {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (!std::isfinite(value)) return {dialect.float_of_bits(static_cast<uint32_t>(bits))};
      return {c_float_text(value), std::signbit(value) ? Binding::Prefix : Binding::Postfix};
    }
    default:
      return c_cast(dialect.scalar(scalar->kind), signed_constant(false));
  }
}

std::string c_initializer(CDialect& dialect, CTypes& types, const ir::Expression& value) {
  return InitializerWriter(dialect, types).text(value, true);
}

}  // namespace kymo::shader
