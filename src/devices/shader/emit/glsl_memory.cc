#include "shader/emit/glsl_memory.h"

#include <algorithm>

#include "base/text.h"

namespace kymo::shader::glsl {
namespace {

constexpr uint32_t kMaxZeros = 32;

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

uint32_t scalar_bytes(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
    case TypeKind::Char:
    case TypeKind::UChar:
      return 1;
    case TypeKind::Short:
    case TypeKind::UShort:
    case TypeKind::Half:
    case TypeKind::BFloat:
      return 2;
    case TypeKind::Long:
    case TypeKind::ULong:
      return 8;
    default:
      return 4;
  }
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
  } else if (type->is_struct() && type->is_union) {
    body = base::format("  {} value;\n", result);
    for (uint32_t i = 0; i < words_of(type); ++i) body += base::format("  value.words[{}] = 0u;\n", i);
    for (uint64_t i = 0; i < type->size; i += type->align >= 4 ? 4 : 1) {
      const Text byte = address_plus(at, i);
      if (type->align >= 4)
        body += base::format("  value.words[{}] = {};\n", i / 4, load_scalar(TypeKind::UInt, byte).text);
      else
        body += base::format("  value.words[{}] |= uint({}) << {};\n", i / 4, load_scalar(TypeKind::UChar, byte).text,
                             i % 4 * 8);
    }
    body += "  return value;\n";
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
  } else if (type->is_struct() && type->is_union) {
    for (uint64_t i = 0; i < type->size; i += type->align >= 4 ? 4 : 1) {
      const std::string word = base::format("value.words[{}]", i / 4);
      if (type->align >= 4)
        line(store_scalar(TypeKind::UInt, address_plus(at, i), {word}));
      else
        line(store_scalar(TypeKind::UChar, address_plus(at, i), {base::format("uint8_t({} >> {})", word, i % 4 * 8)}));
    }
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
  } else if (type->is_union) {
    for (uint32_t i = 0; i < words_of(type); ++i) add("0u");
    parts = base::format("uint[{}]({})", words_of(type), parts);
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
  } else if (type->is_union) {
    body = base::format("  for (int i = 0; i < {}; ++i) value.words[i] = 0u;\n", words_of(type));
  } else {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      body += base::format("  value.{} = {};\n", unit_.types.field_name(type, i), zero(type->fields[i].type).text);
  }
  return base::format("{} {}() {{\n  {} value;\n{}  return value;\n}}\n", result, name, result, body);
}

}  // namespace kymo::shader::glsl
