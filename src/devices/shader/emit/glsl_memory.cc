#include "shader/emit/glsl_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/text.h"
#include "shader/ir/evaluate.h"

namespace kymo::shader::glsl {
namespace {

constexpr uint32_t kMaxZeros = 32;
constexpr uint32_t kGlslWordBytes = 4;
constexpr uint64_t kMostConstantValues = 1 << 20;

// As a value is in memory.
TypeKind glsl_memory_kind(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
      return TypeKind::UChar;
    case TypeKind::Half:
    case TypeKind::BFloat:
      return TypeKind::UShort;
    default:
      return kind;
  }
}

bool glsl_is_converted(TypeKind kind) { return glsl_memory_kind(kind) != kind; }

// Read and written as a whole.
bool glsl_is_plain_vector(const Type* type) {
  return type->is_vector() && !type->packed && type->count != 3 && !glsl_is_converted(type->inner->kind);
}

bool glsl_is_scalar_like(const Type* type) {
  return type->is_scalar() || type->is_pointer() || type->is(TypeKind::Atomic);
}

uint64_t glsl_stride(const Type* type) { return std::max<uint64_t>(1, type->size); }

}  // namespace

Text address_plus(const Text& address, uint64_t bytes) {
  if (bytes == 0) return address;
  return binary(address, "+", {number(bytes)}, Level::Sum);
}

TypeKind stored_kind(const Type* type) {
  if (type->is_pointer()) return TypeKind::ULong;
  if (!type->is(TypeKind::Atomic)) return type->kind;
  const TypeKind inner = type->inner->kind;
  return inner == TypeKind::Int || inner == TypeKind::Long || inner == TypeKind::ULong ? inner : TypeKind::UInt;
}

void Memory::note_static_pointers(const Type* type) const {
  if (is_static_pointer(type))
    unit_.refuse(base::format("a {} cannot be in a buffer on Vulkan", TypeTable::name(type)));
}

std::string Memory::scalar_at(TypeKind kind, const Text& address) {
  const TypeKind stored = glsl_memory_kind(kind);
  const std::string reference = unit_.reference(unit_.types.vector_name(stored, 1), scalar_bytes(stored));
  return base::format("{}({}).v", reference, address.text);
}

Text Memory::load_scalar(TypeKind kind, const Text& address) {
  const std::string stored = scalar_at(kind, address);
  switch (kind) {
    case TypeKind::Bool:
      return {base::format("bool({})", stored)};
    case TypeKind::Half:
      unit_.prelude.use("from_half");
      return {base::format("kymo_from_half({})", stored)};
    case TypeKind::BFloat:
      unit_.prelude.use("from_bfloat");
      return {base::format("kymo_from_bfloat({})", stored)};
    default:
      return {stored};
  }
}

std::string Memory::store_scalar(TypeKind kind, const Text& address, const Text& value) {
  const std::string stored = scalar_at(kind, address);
  switch (kind) {
    case TypeKind::Bool:
      return base::format("{} = uint8_t({});", stored, value.text);
    case TypeKind::Half:
      unit_.prelude.use("to_half");
      return base::format("{} = kymo_to_half({});", stored, value.text);
    case TypeKind::BFloat:
      unit_.prelude.use("to_bfloat");
      return base::format("{} = kymo_to_bfloat({});", stored, value.text);
    default:
      return base::format("{} = {};", stored, value.text);
  }
}

std::string Memory::direct(const Type* type, const Text& address) {
  if (glsl_is_plain_vector(type))
    return base::format("{}({}).v", unit_.reference(unit_.types.name(type), type->align), address.text);
  note_static_pointers(type);
  if (!glsl_is_scalar_like(type) || glsl_is_converted(stored_kind(type))) return {};
  return scalar_at(stored_kind(type), address);
}

Text Memory::load(const Type* type, const Text& address) {
  if (std::string whole = direct(type, address); !whole.empty()) return {whole};
  if (glsl_is_scalar_like(type)) return load_scalar(stored_kind(type), address);
  const std::string& function = unit_.helper(base::format("load {}", type->id), "load_" + name_part(type),
                                             [&](const std::string& name) { return load_function(type, name); });
  return {base::format("{}({})", function, address.text)};
}

std::string Memory::store(const Type* type, const Text& address, const Text& value) {
  if (const std::string whole = direct(type, address); !whole.empty())
    return base::format("{} = {};", whole, value.text);
  if (glsl_is_scalar_like(type)) return store_scalar(stored_kind(type), address, value);
  const std::string& function = unit_.helper(base::format("store {}", type->id), "store_" + name_part(type),
                                             [&](const std::string& name) { return store_function(type, name); });
  return base::format("{}({}, {});", function, address.text, value.text);
}

std::string Memory::load_function(const Type* type, const std::string& name) {
  const Text at{"at"};
  const std::string result = unit_.types.name(type);
  std::string body;
  if (type->is_array()) {
    const Text element{base::format("at + uint64_t(i) * {}", number(glsl_stride(type->inner))), Level::Sum};
    body = base::format("  {} values;\n  for (int i = 0; i < {}; ++i) values[i] = {};\n  return values;\n", result,
                        std::max(1U, type->count), load(type->inner, element).text);
  } else {
    std::string parts;
    const auto add = [&](const Text& part) { parts += (parts.empty() ? "" : ", ") + part.text; };
    if (type->is_vector() && glsl_is_converted(type->inner->kind) && !type->packed && type->count != 3) {
      // Read as a whole, converted one by one.
      const Type* inner = type->inner;
      const std::string stored = unit_.types.vector_name(glsl_memory_kind(inner->kind), type->count);
      body = base::format("  {} bits = {}(at).v;\n", stored, unit_.reference(stored, type->align));
      const bool is_half = inner->is(TypeKind::Half);
      if (!inner->is(TypeKind::Bool)) unit_.prelude.use(is_half ? "from_half" : "from_bfloat");
      const std::string_view convert = inner->is(TypeKind::Bool) ? "bool"
                                       : is_half                 ? "kymo_from_half"
                                                                 : "kymo_from_bfloat";
      for (uint32_t i = 0; i < type->count; ++i) add({base::format("{}(bits.{})", convert, kComponents[i])});
    } else if (type->is_vector()) {
      for (uint32_t i = 0; i < type->count; ++i)
        add(load_scalar(type->inner->kind, address_plus(at, uint64_t{i} * type->inner->size)));
    } else {
      for (const Field& field : type->fields) add(load(field.type, address_plus(at, field.offset)));
      if (type->fields.empty()) parts = "0";
    }
    body += base::format("  return {}({});\n", result, parts);
  }
  return base::format("{} {}(uint64_t at) {{\n{}}}\n", result, name, body);
}

std::string Memory::store_function(const Type* type, const std::string& name) {
  const Text at{"at"};
  std::string body;
  const auto line = [&](const std::string& statement) { body += "  " + statement + "\n"; };
  if (type->is_array()) {
    const Text element{base::format("at + uint64_t(i) * {}", number(glsl_stride(type->inner))), Level::Sum};
    line(base::format("for (int i = 0; i < {}; ++i) {}", std::max(1U, type->count),
                      store(type->inner, element, {"value[i]"})));
  } else if (type->is_vector()) {
    for (uint32_t i = 0; i < type->count; ++i)
      line(store_scalar(type->inner->kind, address_plus(at, uint64_t{i} * type->inner->size),
                        {base::format("value.{}", kComponents[i])}));
  } else {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      line(store(type->fields[i].type, address_plus(at, type->fields[i].offset),
                 {"value." + unit_.types.field_name(type, i)}));
  }
  return base::format("void {}(uint64_t at, {} value) {{\n{}}}\n", name, unit_.types.name(type), body);
}

Text Memory::zero(const Type* type) {
  const std::string name = unit_.types.name(type);
  if (is_static_pointer(type)) {
    unit_.prelude.use("null");
    return {"kymo_null"};
  }
  if (glsl_is_scalar_like(type)) return literal(stored_kind(type), 0);
  if (type->is_vector()) return {base::format("{}({})", name, literal(type->inner->kind, 0).text)};
  if (unit_.types.parts(type) > kMaxZeros) {
    const std::string& function = unit_.helper(base::format("zero {}", type->id), "zero_" + name_part(type),
                                               [&](const std::string& taken) { return zero_function(type, taken); });
    return {function + "()"};
  }
  std::string parts;
  const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : ", ") + part; };
  if (type->is_array()) {
    for (uint32_t i = 0; i < std::max(1U, type->count); ++i) add(zero(type->inner).text);
  } else {
    for (const Field& field : type->fields) add(zero(field.type).text);
    if (type->fields.empty()) parts = "0";
  }
  return {base::format("{}({})", name, parts)};
}

std::string Memory::zero_function(const Type* type, const std::string& name) {
  const std::string result = unit_.types.name(type);
  std::string body;
  if (type->is_array()) {
    body = base::format("  for (int i = 0; i < {}; ++i) value[i] = {};\n", type->count, zero(type->inner).text);
  } else {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      body += base::format("  value.{} = {};\n", unit_.types.field_name(type, i), zero(type->fields[i].type).text);
  }
  return base::format("{} {}() {{\n  {} value;\n{}  return value;\n}}\n", result, name, result, body);
}

// ---- Variables that are reinterpreted -------------------------------------------------------------------------------

// Each access is a function of the variable and the type.
//
//   shared uint[1024] tile;
//   float load_half_tile(uint at) { return kymo_from_half(uint16_t(tile[(at) / 4u] >> int((at) % 4u) * 8)); }

namespace {

bool glsl_is_shared(const Cell& cell) { return cell.is_memory || cell.variable->space == Space::Threadgroup; }

bool glsl_is_narrow(const Type* type) { return type->is_scalar() && type->size < kGlslWordBytes; }

// Vectors of small numbers that no other value shares a word with.
bool glsl_has_own_words(const Type* type) {
  return type->is_vector() && glsl_is_narrow(type->inner) && type->align % kGlslWordBytes == 0;
}

Text glsl_element_at(const Type* element) {
  return {base::format("at + uint(i) * {}u", std::max<uint64_t>(1, element->size)), Level::Sum};
}

Text glsl_at_plus(uint64_t bytes) {
  return bytes == 0 ? Text{"at"} : Text{base::format("at + {}u", bytes), Level::Sum};
}

}  // namespace

Text Memory::load(const Type* type, const Cell& cell, const Text& at, const KernelSet& kernels) {
  const std::string& function =
      unit_.accessor(cell, kernels, base::format("load {} {}", cell.name, type->id),
                     base::format("load_{}_{}", name_part(type), cell.name),
                     [&](const std::string& name) { return load_function(type, cell, name, kernels); });
  return {base::format("{}({})", function, at.text)};
}

std::string Memory::store(const Type* type, const Cell& cell, const Text& at, const Text& value,
                          const KernelSet& kernels) {
  const std::string& function =
      unit_.accessor(cell, kernels, base::format("store {} {}", cell.name, type->id),
                     base::format("store_{}_{}", name_part(type), cell.name),
                     [&](const std::string& name) { return store_function(type, cell, name, kernels); });
  return base::format("{}({}, {});", function, at.text, value.text);
}

std::string Memory::load_function(const Type* type, const Cell& cell, const std::string& name,
                                  const KernelSet& kernels) {
  const std::string result = unit_.types.name(type);
  std::string body;
  if (type->is_array()) {
    body = base::format("  {} values;\n  for (int i = 0; i < {}; ++i) values[i] = {};\n  return values;\n", result,
                        std::max(1U, type->count), load(type->inner, cell, glsl_element_at(type->inner), kernels).text);
  } else if (type->is_struct()) {
    std::string parts;
    for (const Field& field : type->fields)
      (parts += parts.empty() ? "" : ", ") += load(field.type, cell, glsl_at_plus(field.offset), kernels).text;
    body = base::format("  return {}({});\n", result, parts.empty() ? "0" : parts);
  } else {
    body = base::format("  return {};\n", get(type, {cell.name, 0, "at", type->align}).text);
  }
  return base::format("{} {}(uint at) {{\n{}}}\n", result, name, body);
}

std::string Memory::store_function(const Type* type, const Cell& cell, const std::string& name,
                                   const KernelSet& kernels) {
  std::string body;
  const auto line = [&](const std::string& statement) { body += "  " + statement + "\n"; };
  if (type->is_array()) {
    line(base::format("for (int i = 0; i < {}; ++i) {}", std::max(1U, type->count),
                      store(type->inner, cell, glsl_element_at(type->inner), {"value[i]"}, kernels)));
  } else if (type->is_struct()) {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      line(store(type->fields[i].type, cell, glsl_at_plus(type->fields[i].offset),
                 {"value." + unit_.types.field_name(type, i)}, kernels));
  } else if (glsl_has_own_words(type)) {
    const uint32_t in_word = kGlslWordBytes / static_cast<uint32_t>(type->inner->size), bits = 32 / in_word;
    for (uint32_t i = 0; i < type->count; ++i) {
      const std::string part =
          base::format("({} & {}u) << {}", bits_of(type->inner->kind, {base::format("value[{}]", i)}),
                       (uint64_t{1} << bits) - 1, i % in_word * bits);
      const bool is_first = i % in_word == 0, is_last = i % in_word == in_word - 1 || i == type->count - 1;
      if (is_first) body += base::format("  {}[at / 4u + {}u] = ", cell.name, i / in_word);
      body += part + (is_last ? ";\n" : " | ");
    }
  } else if (type->is_vector()) {
    for (uint32_t i = 0; i < type->count; ++i)
      line(store(type->inner, cell, glsl_at_plus(i * type->inner->size), {base::format("value[{}]", i)}, kernels));
  } else if (glsl_is_narrow(type) && glsl_is_shared(cell)) {
    line(base::format("{}(at, {}u, {});", insert_function(cell, kernels),
                      (uint64_t{1} << scalar_bytes(type->kind) * 8) - 1, bits_of(type->kind, {"value"})));
  } else {
    body = put(type, {cell.name, 0, "at", type->align}, {"value"}, "  ");
  }
  return base::format("void {}(uint at, {} value) {{\n{}}}\n", name, unit_.types.name(type), body);
}

// Several threads may write different parts of a word at the same time.
const std::string& Memory::insert_function(const Cell& cell, const KernelSet& kernels) {
  return unit_.accessor(cell, kernels, base::format("insert {}", cell.name), "insert_" + cell.name,
                        [&](const std::string& name) {
                          return base::format(
                              "void {}(uint at, uint mask, uint bits) {{\n"
                              "  uint shift = at % 4u * 8u, seen = {}[at / 4u], found;\n"
                              "  for (; {}; seen = found) {{\n"
                              "    uint next = seen & ~(mask << shift) | (bits & mask) << shift;\n"
                              "    if (next == seen) break;\n"
                              "    found = atomicCompSwap({}[at / 4u], seen, next);\n"
                              "    if (found == seen) break;\n"
                              "  }}\n"
                              "}}\n",
                              name, cell.name, unit_.goes_on(), cell.name);
                        });
}

// ---- Rows of 32-bit words -------------------------------------------------------------------------------------------

namespace {

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

// ---- Constants ------------------------------------------------------------------------------------------------------

namespace {

std::optional<ir::Evaluated> glsl_constant_value(const ir::Variable& constant) {
  uint64_t steps = kMostConstantValues;
  if (constant.value == nullptr) return ir::make_evaluated(constant.type, true, steps);
  return ir::evaluated_literal(*constant.value, steps);
}

void glsl_put_bytes(const Type* type, const ir::Evaluated& value, std::span<uint8_t> into) {
  if (value.kind == ir::EvaluatedKind::Scalar)
    for (size_t i = 0; i < type->size && i < sizeof(value.bits); ++i)
      into[i] = static_cast<uint8_t>(value.bits >> (i * 8));
  for (size_t i = 0; i < value.parts.size(); ++i) {
    const Type* part = ir::part_type(type, i);
    glsl_put_bytes(part, value.parts[i], into.subspan(type->is_struct() ? type->fields[i].offset : i * part->size));
  }
}

}  // namespace

bool has_known_bytes(const ir::Variable& constant) { return glsl_constant_value(constant).has_value(); }

std::string words_text(const ir::Variable& constant) {
  std::vector<uint8_t> bytes(words_of(constant.type) * sizeof(uint32_t));
  if (const std::optional<ir::Evaluated> value = glsl_constant_value(constant))
    glsl_put_bytes(constant.type, *value, bytes);
  std::string words;
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, &bytes[i], sizeof(word));
    base::format_to(words, "{}{}u", words.empty() ? "" : ", ", word);
  }
  return base::format("uint[]({})", words);
}

}  // namespace kymo::shader::glsl
