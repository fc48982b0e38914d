#include "shader/emit/glsl_types.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "shader/diagnostic.h"

namespace kymo::shader::glsl {
namespace {

// The type in which an atomic is stored: atomic operations on floats use their bits.
TypeKind glsl_atomic_kind(const Type* type) {
  const TypeKind inner = type->inner->kind;
  return inner == TypeKind::Int || inner == TypeKind::Long || inner == TypeKind::ULong ? inner : TypeKind::UInt;
}

uint32_t glsl_limited(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, std::numeric_limits<uint16_t>::max()));
}

}  // namespace

bool is_address(const Type* type) {
  return type->is_pointer() && (type->space == Space::Device || type->space == Space::Constant);
}

bool is_static_pointer(const Type* type) { return type->is_pointer() && !is_address(type); }

bool has_first_element(const Type* type, const Type* wanted) {
  constexpr uint64_t kWord = 4;  // smaller numbers may be wider in the text
  return type->is_array() || (type->is_vector() && type->inner == wanted && !type->packed && type->count != 3 &&
                              type->inner->size == kWord);
}

uint32_t words_of(const Type* type) { return static_cast<uint32_t>(std::max<uint64_t>(1, (type->size + 3) / 4)); }

std::string Types::vector_name(TypeKind scalar, uint32_t count) {
  has_8_bits_ |= scalar == TypeKind::Char || scalar == TypeKind::UChar;
  has_16_bits_ |= scalar == TypeKind::Short || scalar == TypeKind::UShort;
  constexpr std::string_view kNames[] = {"void", "bool",    "int8_t",   "uint8_t", "int16_t", "uint16_t", "int",
                                         "uint", "int64_t", "uint64_t", "float",   "float",   "float"};
  // How a vector of it begins: "i8" of i8vec3.
  constexpr std::string_view kPrefixes[] = {"", "b", "i8", "u8", "i16", "u16", "i", "u", "i64", "u64", "", "", ""};
  const auto kind = static_cast<size_t>(scalar);
  return count == 1 ? std::string(kNames[kind]) : base::format("{}vec{}", kPrefixes[kind], count);
}

const std::string& Types::name(const Type* type) {
  const auto found = known_.find(type);
  if (found != known_.end()) return found->second;
  std::string made = make_name(type);
  return known_[type] = std::move(made);
}

std::string Types::make_name(const Type* type) {
  switch (type->kind) {
    case TypeKind::Vector:
      return vector_name(type->inner, type->count);
    case TypeKind::Array: {
      // The outermost dimension comes first, as in C.
      std::string dimensions;
      for (; type->is_array(); type = type->inner) dimensions += base::format("[{}]", std::max(1U, type->count));
      return name(type) + dimensions;
    }
    case TypeKind::Atomic:
      return vector_name(glsl_atomic_kind(type), 1);
    case TypeKind::Pointer:
    case TypeKind::Reference:
      return is_address(type) ? "uint64_t" : "int";
    case TypeKind::Struct:
      return structure(type).name;
    default:
      return vector_name(type, 1);
  }
}

const Types::Structure& Types::structure(const Type* type) {
  const auto found = structures_.find(type);
  if (found != structures_.end()) return found->second;
  Structure made;
  std::string text;
  // Its members are declared before it.
  std::vector<std::string> types_of;
  for (const Field& field : type->fields) types_of.push_back(name(field.type));
  field_names_.enter();
  for (size_t i = 0; i < type->fields.size(); ++i) {
    made.fields.push_back(field_names_.take(type->fields[i].name));
    text += base::format("  {} {};\n", types_of[i], made.fields.back());
  }
  field_names_.leave();
  if (type->fields.empty()) text = "  int nothing;\n";
  made.name = names_.take_outermost(type->name.empty() ? "structure" : type->name);
  declarations_ += base::format("struct {} {{\n{}}};\n", made.name, text);
  return structures_[type] = std::move(made);
}

const std::string& Types::field_name(const Type* type, uint32_t field) { return structure(type).fields[field]; }

// Kept for each type, as structures may nest so that walking through them would take for ever.
const Types::Facts& Types::facts(const Type* type) {
  const auto found = facts_.find(type);
  if (found != facts_.end()) return found->second;
  Facts made;
  if (type->is_array()) {
    made = facts(type->inner);
    made.parts = glsl_limited(uint64_t{made.parts} * type->count);
  } else if (type->is_struct()) {
    for (const Field& field : type->fields) {
      const Facts& part = facts(field.type);
      made.static_pointers = glsl_limited(uint64_t{made.static_pointers} + part.static_pointers);
      made.parts = glsl_limited(uint64_t{made.parts} + part.parts);
    }
  } else {
    made = {is_static_pointer(type) ? 1U : 0U, 1};
  }
  return facts_[type] = made;
}

uint32_t Types::static_pointers_before(const Type* structure, uint32_t field) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < field; ++i) count += static_pointers(structure->fields[i].type);
  return count;
}

}  // namespace kymo::shader::glsl
