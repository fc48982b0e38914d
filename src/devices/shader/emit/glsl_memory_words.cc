// Values in rows of 32-bit words.

#include <algorithm>

#include "base/text.h"
#include "shader/emit/glsl_memory.h"

namespace kymo::shader::glsl {
namespace {

constexpr uint32_t kGlslWordBytes = 4;

std::string glsl_word_bytes(const WordPlace& place) {
  return place.offset == 0 ? place.moving : base::format("{} + {}u", place.moving, place.offset);
}

std::string glsl_word(const WordPlace& place, uint32_t further = 0) {
  if (place.moving.empty()) return base::format("{}[{}]", place.words, place.offset / 4 + further);
  if (place.align % kGlslWordBytes == 0) {
    const uint64_t more = place.offset / 4 + further;
    return more == 0 ? base::format("{}[{} / 4u]", place.words, place.moving)
                     : base::format("{}[{} / 4u + {}u]", place.words, place.moving, more);
  }
  const std::string index = base::format("({}) / 4u", glsl_word_bytes(place));
  return further == 0 ? base::format("{}[{}]", place.words, index)
                      : base::format("{}[{} + {}u]", place.words, index, further);
}

// The shift in its word, in bits; empty: no shift.
std::string glsl_word_shift(const WordPlace& place) {
  if (!place.moving.empty() && place.align % kGlslWordBytes != 0)
    return base::format("int(({}) % 4u) * 8", glsl_word_bytes(place));
  return place.offset % 4 == 0 ? "" : std::to_string(place.offset % 4 * 8);
}

WordPlace glsl_further(WordPlace place, uint64_t bytes) {
  place.offset += bytes;
  return place;
}

}  // namespace

Text Memory::get_scalar(TypeKind kind, const WordPlace& from) {
  const std::string word = glsl_word(from);
  switch (kind) {
    case TypeKind::UInt:
      return {word};
    case TypeKind::Int:
      return {base::format("int({})", word)};
    case TypeKind::Float:
      return {base::format("uintBitsToFloat({})", word)};
    case TypeKind::Long:
    case TypeKind::ULong: {
      unit_.prelude.use("wide");
      const std::string wide = base::format("kymo_wide({}, {})", word, glsl_word(from, 1));
      return {kind == TypeKind::ULong ? wide : base::format("int64_t({})", wide)};
    }
    default:
      break;
  }
  const std::string shift = glsl_word_shift(from);
  const std::string bits = shift.empty() ? word : base::format("{} >> {}", word, shift);
  if (kind == TypeKind::Bool) return {base::format("({} & 255u) != 0u", bits), Level::Equality};
  const bool is_half = kind == TypeKind::Half;
  if (!is_half && kind != TypeKind::BFloat) return {base::format("{}({})", unit_.types.vector_name(kind, 1), bits)};
  unit_.types.vector_name(TypeKind::UShort, 1);
  unit_.prelude.use(is_half ? "from_half" : "from_bfloat");
  return {base::format("{}(uint16_t({}))", is_half ? "kymo_from_half" : "kymo_from_bfloat", bits)};
}

std::string Memory::put_scalar(TypeKind kind, const WordPlace& to, const Text& value) {
  const std::string word = glsl_word(to);
  switch (kind) {
    case TypeKind::UInt:
    case TypeKind::Int:
      return base::format("{} = uint({});", word, value.text);
    case TypeKind::Float:
      return base::format("{} = floatBitsToUint({});", word, value.text);
    case TypeKind::Long:
    case TypeKind::ULong:
      return base::format("{} = uint({}); {} = uint({} >> 32);", word, value.text, glsl_word(to, 1),
                          operand(value, Level::Shift));
    default:
      break;
  }
  const std::string shift = glsl_word_shift(to);
  return base::format("{} = bitfieldInsert({}, {}, {}, {});", word, word, bits_of(kind, value),
                      shift.empty() ? "0" : shift, scalar_bytes(kind) * 8);
}

// Of a number of 8 or 16 bits, or of bool. Above them are copies of the sign.
std::string Memory::bits_of(TypeKind kind, const Text& value) {
  if (kind != TypeKind::Half && kind != TypeKind::BFloat) return base::format("uint({})", value.text);
  const bool is_half = kind == TypeKind::Half;
  unit_.types.vector_name(TypeKind::UShort, 1);
  unit_.prelude.use(is_half ? "to_half" : "to_bfloat");
  return base::format("uint({}({}))", is_half ? "kymo_to_half" : "kymo_to_bfloat", value.text);
}

Text Memory::get(const Type* type, const WordPlace& from) {
  note_static_pointers(type);
  if (type->is_scalar() || type->is_pointer() || type->is(TypeKind::Atomic)) return get_scalar(stored_kind(type), from);
  std::string parts;
  const auto add = [&](const Text& part) { parts += (parts.empty() ? "" : ", ") + part.text; };
  if (type->is_vector() || type->is_array()) {
    for (uint32_t i = 0; i < std::max(1U, type->count); ++i)
      add(get(type->inner, glsl_further(from, i * type->inner->size)));
  } else if (type->is_union) {
    for (uint32_t i = 0; i < words_of(type); ++i) add({glsl_word(from, i)});
    parts = base::format("uint[{}]({})", words_of(type), parts);
  } else {
    for (const Field& field : type->fields) add(get(field.type, glsl_further(from, field.offset)));
    if (type->fields.empty()) add({"0"});
  }
  return {base::format("{}({})", unit_.types.name(type), parts)};
}

std::string Memory::put(const Type* type, const WordPlace& to, const Text& value, std::string_view indent) {
  note_static_pointers(type);
  if (type->is_scalar() || type->is_pointer() || type->is(TypeKind::Atomic))
    return base::format("{}{}\n", indent, put_scalar(stored_kind(type), to, value));
  std::string text;
  if (type->is_vector() || type->is_array()) {
    for (uint32_t i = 0; i < type->count; ++i)
      text +=
          put(type->inner, glsl_further(to, i * type->inner->size), {base::format("{}[{}]", value.text, i)}, indent);
  } else if (type->is_union) {
    for (uint32_t i = 0; i < words_of(type); ++i)
      text += base::format("{}{} = {}.words[{}];\n", indent, glsl_word(to, i), value.text, i);
  } else {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      text += put(type->fields[i].type, glsl_further(to, type->fields[i].offset),
                  {base::format("{}.{}", value.text, unit_.types.field_name(type, i))}, indent);
  }
  return text;
}

Text Memory::bitcast(const Type* to, const Type* from, const Text& value) {
  const TypeKind target = to->scalar()->kind, source = from->scalar()->kind;
  const std::string& name = unit_.types.name(to);
  if (to->components() == from->components()) {
    const bool to_float = target == TypeKind::Float, from_float = source == TypeKind::Float;
    if (target == source) return value;
    if (to_float && source == TypeKind::UInt) return {base::format("uintBitsToFloat({})", value.text)};
    if (to_float && source == TypeKind::Int) return {base::format("intBitsToFloat({})", value.text)};
    if (from_float && target == TypeKind::UInt) return {base::format("floatBitsToUint({})", value.text)};
    if (from_float && target == TypeKind::Int) return {base::format("floatBitsToInt({})", value.text)};
    if (to->scalar()->is_integer() && from->scalar()->is_integer()) return {base::format("{}({})", name, value.text)};
  }
  const std::string& function =
      unit_.helper(base::format("bits {} {}", to->id, from->id),
                   base::format("as_{}_of_{}", name_part(to), name_part(from)), [&](const std::string& taken) {
                     const uint64_t words = std::max<uint64_t>(1, (std::max(to->size, from->size) + 3) / 4);
                     std::string zeros = "0u";
                     for (uint64_t i = 1; i < words; ++i) zeros += ", 0u";
                     return base::format("{} {}({} value) {{\n  uint words[{}] = uint[{}]({});\n{}  return {};\n}}\n",
                                         name, taken, unit_.types.name(from), words, words, zeros,
                                         put(from, {"words", 0, {}}, {"value"}, "  "), get(to, {"words", 0, {}}).text);
                   });
  return {base::format("{}({})", function, value.text)};
}

}  // namespace kymo::shader::glsl
