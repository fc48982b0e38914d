// The types of a shader. Created and kept by a TypeTable, with one object per type: two types are the same if their
// pointers are.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace kymo::shader {

enum class Space : uint8_t {
  Thread,       // a thread's own variables
  Device,       // buffers
  Constant,     // buffers that are never written
  Threadgroup,  // shared by a group
  Program,      // constants of the program itself: tables and strings at namespace scope. Spelled `constant` in Metal
};
std::string_view space_name(Space);  // as Metal spells it

// clang-format off
enum class TypeKind : uint8_t {
  Void, Bool,
  Char, UChar, Short, UShort, Int, UInt, Long, ULong,  // 8, 8, 16, 16, 32, 32, 64, 64 bits
  Half, BFloat, Float,
  Vector,     // of 2 to 4 numbers; `packed`: without padding, only in memory; converted before it is used
  Array, Struct, Atomic, Pointer,
  Reference,  // only in the language: the IR has pointers
};
// clang-format on

struct Type;

struct Field {
  std::string name;
  const Type* type = nullptr;
  uint64_t offset = 0;
  uint32_t align = 1;  // at least; alignas
};

struct Type {
  TypeKind kind = TypeKind::Void;
  const Type* inner = nullptr;  // the element of a vector, array or atomic, the target of a pointer or reference
  uint32_t count = 0;           // number of components of a vector, or elements of an array
  bool packed = false;          // of a vector
  Space space = Space::Thread;  // of the target of a pointer or reference
  bool is_const = false;        // the target of a pointer or reference may not be written through it

  // For an enum, whose kind is that of the integer that holds it: this integer.
  const Type* underlying = nullptr;
  bool is_scoped = false;  // enum class

  // For a struct, and the name of an enum. Set once by its creator.
  std::string name;  // as in the source, with its scope and template arguments: for messages
  std::vector<Field> fields;
  bool complete = false;
  const void* declaration = nullptr;  // of the stage that created it

  // In Metal's memory layout: a vector of 3 takes the space of 4 unless it is packed. 0 for void and references.
  uint64_t size = 0;
  uint32_t align = 1;
  uint32_t id = 0;  // in the order of creation

  bool is(TypeKind wanted) const { return kind == wanted; }
  bool is_integer() const { return kind >= TypeKind::Char && kind <= TypeKind::ULong; }  // bool is not
  bool is_signed() const {
    return kind == TypeKind::Char || kind == TypeKind::Short || kind == TypeKind::Int || kind == TypeKind::Long;
  }
  bool is_floating() const { return kind >= TypeKind::Half && kind <= TypeKind::Float; }
  bool is_scalar() const { return kind >= TypeKind::Bool && kind <= TypeKind::Float; }
  bool is_vector() const { return kind == TypeKind::Vector; }
  bool is_number() const { return is_scalar() || is_vector(); }
  bool is_pointer() const { return kind == TypeKind::Pointer; }
  bool is_struct() const { return kind == TypeKind::Struct; }
  bool is_array() const { return kind == TypeKind::Array; }
  const Type* scalar() const { return is_vector() ? inner : this; }  // the component type of a vector, else itself
  uint32_t components() const { return is_vector() ? count : 1; }
  bool is_enum() const { return underlying != nullptr; }
};

uint32_t scalar_bytes(TypeKind kind);  // the size of a scalar; 0 for void

class TypeTable {
 public:
  TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  const Type* get(TypeKind kind) const { return plain_[static_cast<size_t>(kind)]; }  // void and the scalars
  const Type* vector(const Type* component, uint32_t count, bool packed = false);
  const Type* array(const Type* element, uint32_t count);
  const Type* atomic(const Type* value);
  const Type* pointer(const Type* to, Space space, bool is_const = false);
  const Type* reference(const Type* to, Space space, bool is_const = false);
  // A new struct, different from all others; complete() computes the layout of its fields.
  Type* make_struct(std::string name, const void* declaration);
  void complete(Type& made, std::vector<Field> fields, uint32_t at_least_align = 1);
  // A new enum, different from all others and from its integer type.
  const Type* make_enum(std::string name, const Type* underlying, bool is_scoped, const void* declaration);

  const Type* with_scalar(const Type* shape, const Type* scalar);  // float4, int -> int4; float, int -> int
  // void, float, half3, packed_float3, device const float*, thread int&, float[4], S<int>, atomic<uint>
  static std::string name(const Type* type);

 private:
  using Key = std::tuple<TypeKind, const Type*, uint32_t, bool, Space, bool>;
  Type* derive(TypeKind kind, const Type* inner, uint32_t count, bool packed, Space space, bool is_const);

  std::deque<Type> types_;
  std::map<Key, Type*> derived_;
  std::map<const Type*, std::vector<Type*>> unsized_;  // arrays of a struct that is not complete yet
  const Type* plain_[static_cast<size_t>(TypeKind::Float) + 1] = {};
};

// Whether an integer type can hold a value: for literals and braces.
bool fits(const Type* integer, int64_t value, bool is_unsigned);

}  // namespace kymo::shader
