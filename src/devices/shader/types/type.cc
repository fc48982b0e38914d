#include "shader/types/type.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kymo::shader {
namespace {

constexpr uint64_t kPointerBytes = 8;
constexpr uint64_t kSmallestAtomic = 4;
// The max size of a layout: sources may declare arrays of any size, and sizes must not overflow.
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

uint64_t type_times(uint64_t size, uint64_t count) {
  return count != 0 && size > kMaxBytes / count ? kMaxBytes : size * count;
}

uint64_t type_round_up(uint64_t size, uint64_t align) {
  return std::min(kMaxBytes, (std::min(size, kMaxBytes) + align - 1) / align * align);
}

constexpr std::string_view kPlainNames[] = {"void", "bool", "char",  "uchar", "short",  "ushort", "int",
                                            "uint", "long", "ulong", "half",  "bfloat", "float"};
constexpr uint32_t kPlainBytes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4};

// `declarator` is in the place of the name of an object: a pointer to an array is written around it.
std::string type_spelled(const Type* type, const std::string& declarator) {
  const auto with_space = [](const std::string& name, const std::string& rest) {
    return rest.empty() || rest.front() != '(' ? name + rest : name + " " + rest;
  };
  switch (type->kind) {
    case TypeKind::Vector:
      return with_space((type->packed ? "packed_" : "") + type_spelled(type->inner, "") + std::to_string(type->count),
                        declarator);
    case TypeKind::Array:
      return type_spelled(type->inner, declarator + base::format("[{}]", type->count));
    case TypeKind::Atomic:
      return with_space("atomic<" + type_spelled(type->inner, "") + ">", declarator);
    case TypeKind::Struct:
      return with_space(type->name, declarator);
    case TypeKind::Pointer:
    case TypeKind::Reference: {
      const std::string mark = (type->is(TypeKind::Pointer) ? "*" : "&") + declarator;
      const std::string qualifiers = std::string(space_name(type->space)) + (type->is_const ? " const" : "");
      const Type* to = type->inner;
      if (to->is_pointer() || to->is(TypeKind::Reference)) return type_spelled(to, " " + qualifiers + mark);
      if (to->is_array()) return qualifiers + " " + type_spelled(to, "(" + mark + ")");
      return qualifiers + " " + type_spelled(to, mark);
    }
    default:
      if (type->is_enum()) return with_space(type->name, declarator);
      return with_space(std::string(kPlainNames[static_cast<size_t>(type->kind)]), declarator);
  }
}

}  // namespace

uint32_t scalar_bytes(TypeKind kind) { return kPlainBytes[static_cast<size_t>(kind)]; }

std::string_view space_name(Space space) {
  switch (space) {
    case Space::Thread:
      return "thread";
    case Space::Device:
      return "device";
    case Space::Threadgroup:
      return "threadgroup";
    case Space::Constant:
    case Space::Program:
      break;
  }
  return "constant";
}

TypeTable::TypeTable() {
  for (size_t kind = 0; kind <= static_cast<size_t>(TypeKind::Float); ++kind) {
    Type& type = types_.emplace_back();
    type.kind = static_cast<TypeKind>(kind);
    type.size = scalar_bytes(type.kind);
    type.align = std::max(1U, scalar_bytes(type.kind));
    type.complete = true;
    type.id = static_cast<uint32_t>(kind);
    plain_[kind] = &type;
  }
}

Type* TypeTable::derive(TypeKind kind, const Type* inner, uint32_t count, bool packed, Space space, bool is_const) {
  Type*& known = derived_[Key{kind, inner, count, packed, space, is_const}];
  if (known != nullptr) return known;
  known = &types_.emplace_back();
  known->kind = kind;
  known->inner = inner;
  known->count = count;
  known->packed = packed;
  known->space = space;
  known->is_const = is_const;
  known->complete = true;
  known->id = static_cast<uint32_t>(types_.size() - 1);
  switch (kind) {
    case TypeKind::Vector:
      known->size = inner->size * (count == 3 && !packed ? 4 : count);
      known->align = packed ? inner->align : static_cast<uint32_t>(known->size);
      break;
    case TypeKind::Array: {
      known->size = type_times(inner->size, count);
      known->align = inner->align;
      const Type* element = inner;
      while (element->is_array()) element = element->inner;
      if (!element->complete) unsized_[element].push_back(known);
      break;
    }
    case TypeKind::Atomic:
      known->size = std::max(inner->size, kSmallestAtomic);
      known->align = static_cast<uint32_t>(known->size);
      break;
    case TypeKind::Pointer:
      known->size = kPointerBytes;
      known->align = kPointerBytes;
      break;
    default:
      break;
  }
  return known;
}

const Type* TypeTable::vector(const Type* component, uint32_t count, bool packed) {
  return derive(TypeKind::Vector, component, count, packed, Space::Thread, false);
}

const Type* TypeTable::array(const Type* element, uint32_t count) {
  return derive(TypeKind::Array, element, count, false, Space::Thread, false);
}

const Type* TypeTable::atomic(const Type* value) {
  return derive(TypeKind::Atomic, value, 0, false, Space::Thread, false);
}

const Type* TypeTable::pointer(const Type* to, Space space, bool is_const) {
  return derive(TypeKind::Pointer, to, 0, false, space, is_const);
}

const Type* TypeTable::reference(const Type* to, Space space, bool is_const) {
  return derive(TypeKind::Reference, to, 0, false, space, is_const);
}

Type* TypeTable::make_struct(std::string name, const void* declaration) {
  Type& made = types_.emplace_back();
  made.kind = TypeKind::Struct;
  made.name = std::move(name);
  made.declaration = declaration;
  made.id = static_cast<uint32_t>(types_.size() - 1);
  return &made;
}

const Type* TypeTable::make_enum(std::string name, const Type* underlying, bool is_scoped, const void* declaration) {
  Type& made = types_.emplace_back(*underlying);
  made.underlying = underlying;
  made.is_scoped = is_scoped;
  made.name = std::move(name);
  made.declaration = declaration;
  made.id = static_cast<uint32_t>(types_.size() - 1);
  return &made;
}

void TypeTable::complete(Type& made, std::vector<Field> fields, uint32_t at_least_align) {
  made.fields = std::move(fields);
  made.align = std::max(1U, at_least_align);
  made.size = 0;
  for (Field& field : made.fields) {
    const uint32_t align = std::max({1U, field.type->align, field.align});
    field.offset = type_round_up(made.size, align);
    made.size = std::max(made.size, std::min(kMaxBytes, field.offset + field.type->size));
    made.align = std::max(made.align, align);
  }
  made.size = type_round_up(std::max<uint64_t>(made.size, 1), made.align);
  made.complete = true;
  // Inner arrays were made before those that contain them.
  for (Type* array : unsized_[&made]) {
    array->size = type_times(array->inner->size, array->count);
    array->align = array->inner->align;
  }
  unsized_.erase(&made);
}

const Type* TypeTable::with_scalar(const Type* shape, const Type* scalar) {
  return shape->is_vector() ? vector(scalar, shape->count) : scalar;
}

std::string TypeTable::name(const Type* type) { return type_spelled(type, ""); }

bool fits(const Type* integer, int64_t value, bool is_unsigned) {
  if (integer->is(TypeKind::Bool)) return value == 0 || value == 1;
  const uint32_t bits = static_cast<uint32_t>(integer->size) * 8;
  if (integer->is_signed()) {
    const uint64_t most = (uint64_t{1} << (bits - 1)) - 1;
    if (is_unsigned || value >= 0) return static_cast<uint64_t>(value) <= most;
    return value >= -static_cast<int64_t>(most) - 1;
  }
  if (!is_unsigned && value < 0) return false;
  return bits == 64 || static_cast<uint64_t>(value) >> bits == 0;
}

}  // namespace kymo::shader
