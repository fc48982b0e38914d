// The types of values in GLSL: half and bfloat are floats, pointers to buffers are 64-bit addresses, atomics have their
// value type (for a float its bits), and pointers to variables are ints, the part of them that exists
// at run time (glsl_resolve.h).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "shader/emit/glsl_text.h"
#include "shader/emit/names.h"
#include "shader/types/type.h"

namespace kymo::shader::glsl {

// A pointer into buffers: an address.
bool is_address(const Type* type);
// A pointer to a variable, which must be known when the text is written: GLSL has no such pointers.
bool is_static_pointer(const Type* type);
// An array, or a vector of the wanted numbers that is laid out like one: a pointer to it may become a pointer to its
// first element.
bool has_first_element(const Type* type, const Type* wanted);

uint32_t words_of(const Type* type);  // as many as its bytes need

class Types {
 public:
  Types(Names& names, const Reserved& reserved) : names_(names), field_names_(reserved) {}

  // "float", "vec3", "i64vec2", "Pair", "float[4][2]". Declares structures on their first use.
  const std::string& name(const Type* type);
  std::string vector_name(TypeKind scalar, uint32_t count);
  std::string vector_name(const Type* scalar, uint32_t count) { return vector_name(scalar->kind, count); }
  const std::string& field_name(const Type* structure, uint32_t field);

  // The number of static pointers in a value of this type. Elements of an array share theirs.
  uint32_t static_pointers(const Type* type) { return facts(type).static_pointers; }
  uint32_t static_pointers_before(const Type* structure, uint32_t field);
  // The number of scalars and vectors in it, if it can be counted.
  uint32_t parts(const Type* type) { return facts(type).parts; }

  const std::string& declarations() const { return declarations_; }
  // Which integer sizes occur.
  bool has_8_bits() const { return has_8_bits_; }
  bool has_16_bits() const { return has_16_bits_; }

 private:
  struct Structure {
    std::string name;
    std::vector<std::string> fields;
  };
  struct Facts {
    uint32_t static_pointers = 0;
    uint32_t parts = 0;
  };
  const Structure& structure(const Type* type);
  const Facts& facts(const Type* type);
  std::string make_name(const Type* type);

  Names& names_;
  Names field_names_;  // unique within a structure
  std::unordered_map<const Type*, std::string> known_;
  std::unordered_map<const Type*, Structure> structures_;
  std::unordered_map<const Type*, Facts> facts_;
  std::string declarations_;
  bool has_8_bits_ = false, has_16_bits_ = false;
};

}  // namespace kymo::shader::glsl
