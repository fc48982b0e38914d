#include "shader/emit/c_types.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "shader/ir/scalar.h"

namespace kymo::shader {
namespace {

bool c_types_is_16_bit_float(const Type* scalar) { return scalar->is(TypeKind::Half) || scalar->is(TypeKind::BFloat); }

bool c_types_is_structure(const Type* type) {
  return type->is_struct() || type->is_array() || (type->is_vector() && type->packed);
}

// A scalar in memory.
TypeKind c_types_stored_as(const Type* scalar) {
  if (c_types_is_16_bit_float(scalar)) return TypeKind::UShort;
  return scalar->is(TypeKind::Bool) ? TypeKind::UChar : scalar->kind;
}

uint64_t c_types_round_up(uint64_t size, uint64_t align) { return (size + align - 1) / align * align; }

}  // namespace

bool CTypes::is_same(const Type* type) {
  switch (type->kind) {
    case TypeKind::Bool:
    case TypeKind::Half:
    case TypeKind::BFloat:
    case TypeKind::Pointer:
      return false;
    case TypeKind::Vector:
      return type->packed || !c_types_is_16_bit_float(type->inner);
    case TypeKind::Array:
      return is_same(type->inner);
    case TypeKind::Struct:
      break;
    default:
      return true;
  }
  Known& kept = known_[type];
  if (kept.same < 0) {
    kept.same = 1;
    for (size_t i = 0; i < type->fields.size(); ++i) kept.same &= is_same(type->fields[i].type) ? 1 : 0;
  }
  return kept.same != 0;
}

CTypes::Known& CTypes::known(const Type* type) {
  Known& kept = known_[type];
  if (!kept.name[0].empty()) return kept;
  const std::string part = name_part(type);
  kept.name[0] = names_.take_outermost(part);
  kept.name[1] = is_same(type) ? kept.name[0] : names_.take_outermost(part + "_memory");
  Names names(dialect_.reserved());
  names.enter();
  for (size_t i = 0; i < type->fields.size(); ++i) kept.fields.push_back(names.take(type->fields[i].name));
  return kept;
}

std::string CTypes::mention(Form form, const Type* type) {
  if (!c_types_is_structure(type)) return spelled(form, type);
  Known& kept = known(type);
  const size_t which = is_same(type) ? 0 : static_cast<size_t>(form);
  if (!kept.is_forward[which]) {
    kept.is_forward[which] = true;
    text_ += dialect_.forward(kept.name[which], false);
    mentioned_.emplace_back(form, type);
  }
  return kept.name[which];
}

// C lets a compiler assume that numbers of two types are never the same bytes, and Metal's programs rely on the
// contrary.
std::string CTypes::pointee(const std::string& name) {
  if (!pointers_alias_ || name == "void" || name == "char" || name == "uchar") return name;
  const auto [known, is_new] = aliases_.try_emplace(name);
  if (!is_new) return known->second;
  std::string alias = names_.take_outermost(name + "_bytes");
  const std::string text = dialect_.aliasing(name, alias);
  if (text.empty()) alias = name;
  text_ += text;
  return aliases_[name] = alias;
}

std::string CTypes::spelled(Form form, const Type* type) {
  const bool in_memory = form == Form::Memory;
  switch (type->kind) {
    case TypeKind::Void:
      return "void";
    case TypeKind::Atomic:
      return std::string(dialect_.scalar(type->inner->is(TypeKind::Bool) ? TypeKind::UInt : type->inner->kind));
    case TypeKind::Pointer:
    case TypeKind::Reference:
      if (in_memory) return std::string(dialect_.scalar(TypeKind::ULong));
      return std::string(dialect_.space(type->space)) + pointee(mention(form_in(type->space), type->inner)) + "*";
    case TypeKind::Vector:
      if (type->packed) break;
      return dialect_.vector(
          in_memory && c_types_is_16_bit_float(type->inner) ? TypeKind::UShort : held_as(type->inner), type->count);
    case TypeKind::Array:
    case TypeKind::Struct:
      break;
    default:
      return std::string(dialect_.scalar(in_memory ? c_types_stored_as(type) : held_as(type)));
  }
  complete(form, type);
  return known(type).name[static_cast<size_t>(form)];
}

void CTypes::complete(Form form, const Type* type) {
  Known& kept = known(type);
  const size_t which = is_same(type) ? 0 : static_cast<size_t>(form);
  if (kept.is_complete[which]) return;
  kept.is_complete[which] = true;
  const std::string body = body_of(form, type);  // may define other types first, and mention this one
  if (!kept.is_forward[which]) text_ += dialect_.forward(kept.name[which], true);
  kept.is_forward[which] = true;
  uint32_t align = 1;
  for (size_t i = 0; i < type->fields.size(); ++i) align = std::max(align, type->fields[i].type->align);
  const bool is_wider = type->is_struct() && type->align > align;
  text_ += dialect_.structure(kept.name[which], is_wider ? type->align : 0) + body + "};\n";
}

std::string CTypes::body_of(Form form, const Type* type) {
  if (type->is_vector())
    return base::format("  {} v[{}];\n", dialect_.scalar(c_types_stored_as(type->inner)), type->count);
  if (type->is_array()) return base::format("  {} v[{}];\n", spelled(form, type->inner), c_count(type));
  std::string body;
  uint64_t end = 0;
  uint32_t align = 1, pads = 0;
  const bool exact = form == Form::Memory || is_same(type);
  const auto pad = [&](uint64_t bytes) {
    body += base::format("  {} kymo_pad{}[{}];\n", dialect_.scalar(TypeKind::UChar), pads++, bytes);
    end += bytes;
  };
  for (size_t i = 0; i < type->fields.size(); ++i) {
    const Field& field = type->fields[i];
    const bool is_wider = exact && field.align > field.type->align;
    body += "  " + (is_wider ? dialect_.aligned(field.align) : "") + spelled(form, field.type) + " " +
            known(type).fields[i] + ";\n";
    const uint32_t own = std::max(field.type->align, is_wider ? field.align : 1U);
    end = c_types_round_up(end, own) + field.type->size;
    align = std::max(align, own);
  }
  if (type->fields.empty() || (exact && c_types_round_up(end, std::max(align, type->align)) < type->size))
    pad(std::max<uint64_t>(1, type->size - end));
  return body;
}

// ---- Between the forms ---------------------------------------------------------------------------------------------

CText CTypes::load(const Type* type, CText text) { return convert(type, std::move(text), true); }
CText CTypes::store(const Type* type, CText text) { return convert(type, std::move(text), false); }

CText CTypes::convert(const Type* type, CText text, bool is_load) {
  if (is_same(type)) return text;
  switch (type->kind) {
    case TypeKind::Bool:
      if (!is_load) return text;
      return c_binary(ir::Operator::NotEqual, std::move(text), {"0"});
    case TypeKind::Pointer:
      return c_cast(spelled(is_load ? Form::Value : Form::Memory, type), std::move(text));
    case TypeKind::Array:
    case TypeKind::Struct:
      return c_call(converter(type, is_load), std::move(text));
    default:
      break;
  }
  const bool is_half = type->scalar()->is(TypeKind::Half);
  const std::string_view function = is_half ? (is_load ? "kymo_half_to_float" : "kymo_float_to_half")
                                            : (is_load ? "kymo_bfloat_to_float" : "kymo_float_to_bfloat");
  return dialect_.convert16(function, !is_load, type->components(), std::move(text));
}

std::string CTypes::converter(const Type* type, bool is_load) {
  Known& kept = known(type);
  std::string& name = is_load ? kept.load : kept.store;
  if (!name.empty()) return name;
  name = names_.take_outermost((is_load ? "load_" : "store_") + kept.name[0]);
  const std::string from = spelled(is_load ? Form::Memory : Form::Value, type);
  const std::string to = spelled(is_load ? Form::Value : Form::Memory, type);
  std::string body = base::format("{}{} {}({} from) {{\n  {} to;\n", dialect_.function_head(false), to, name, from, to);
  if (type->is_array()) {
    CText element = convert(type->inner, {"from.v[i]"}, is_load);
    body += base::format("  for (int i = 0; i < {}; ++i) to.v[i] = {};\n", c_count(type), element.text);
  }
  for (size_t i = 0; i < type->fields.size(); ++i) {
    CText field = convert(type->fields[i].type, {"from." + kept.fields[i]}, is_load);
    body += base::format("  to.{} = {};\n", kept.fields[i], field.text);
  }
  text_ += body + "  return to;\n}\n";
  return name;
}

CText CTypes::unpack(const Type* packed, CText text) {
  Known& kept = known(packed);
  if (kept.load.empty()) {
    kept.load = names_.take_outermost("un" + kept.name[0]);
    const std::string component(dialect_.scalar(held_as(packed->inner)));
    const std::string plain = dialect_.vector(held_as(packed->inner), packed->count);
    std::vector<CText> parts;
    for (uint32_t i = 0; i < packed->count; ++i) parts.push_back(load(packed->inner, {base::format("from.v[{}]", i)}));
    const CText whole = dialect_.construct(plain, component, false, parts);
    const std::string from = spelled(Form::Memory, packed);
    text_ += base::format("{}{} {}({} from) {{ return {}; }}\n", dialect_.function_head(false), plain, kept.load, from,
                          whole.text);
  }
  return c_call(kept.load, std::move(text));
}

CText CTypes::pack(const Type* packed, CText text) {
  Known& kept = known(packed);
  if (kept.store.empty()) {
    kept.store = names_.take_outermost("make_" + kept.name[0]);
    const std::string to = spelled(Form::Memory, packed);
    std::string body = base::format("{}{} {}({} from) {{\n  {} to;\n", dialect_.function_head(false), to, kept.store,
                                    dialect_.vector(held_as(packed->inner), packed->count), to);
    for (uint32_t i = 0; i < packed->count; ++i)
      body += base::format("  to.v[{}] = {};\n", i, store(packed->inner, c_member({"from"}, component_name(i))).text);
    text_ += body + "  return to;\n}\n";
  }
  return c_call(kept.store, std::move(text));
}

// ---- Declarations --------------------------------------------------------------------------------------------------

std::string CTypes::declaration(Form form, const Type* type, std::string_view name) {
  std::string sizes;
  for (; type->is_array(); type = type->inner) sizes += base::format("[{}]", c_count(type));
  return base::format("{} {}{}", spelled(form, type), name, sizes);
}

const std::string& CTypes::field(const Type* structure, uint32_t index) { return known(structure).fields[index]; }

std::string CTypes::inline_value(const Type* type) {
  std::string& name = known_[type].inline_value;
  if (name.empty()) {
    const std::string held = spelled(Form::Memory, type);
    name = names_.take_outermost("inline_" + name_part(type));
    text_ += dialect_.forward(name, true) + dialect_.structure(name, 0);
    text_ += base::format("  {} address;\n  {} value;\n}};\n", dialect_.scalar(TypeKind::ULong), held);
  }
  return name;
}

std::string CTypes::take_text() {
  for (size_t i = 0; i < mentioned_.size(); ++i) complete(mentioned_[i].first, mentioned_[i].second);
  return std::move(text_);
}

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
        // Only constants are allowed here.
        if (std::isnan(as_float)) return "0.0f / 0.0f";
        if (std::isinf(as_float)) return as_float < 0 ? "-1.0f / 0.0f" : "1.0f / 0.0f";
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
