// Values in memory: in buffers, which are accessed by address and have Metal's layout; and in arrays of 32-bit words,
// which hold the values of arguments, and variables that are reinterpreted (glsl_resolve.h).
#pragma once

#include <string>

#include "shader/emit/glsl_text.h"
#include "shader/emit/glsl_unit.h"

namespace kymo::shader::glsl {

// Bytes in an array of uint with this name.
struct WordPlace {
  std::string words;
  uint64_t offset = 0;
  std::string moving;  // additional bytes, a uint expression; empty: none
  uint32_t align = 1;  // of the additional bytes
};

class Memory {
 public:
  explicit Memory(Unit& unit) : unit_(unit) {}

  Text load(const Type* type, const Text& address);
  // A statement, with its semicolon.
  std::string store(const Type* type, const Text& address, const Text& value);
  // A scalar, or a whole vector, that can be changed in place; empty: it must be loaded and stored.
  std::string direct(const Type* type, const Text& address);

  // In a variable that is reinterpreted: `at` is an offset in bytes. `kernels`: those that contain the access.
  Text load(const Type* type, const Cell& cell, const Text& at, const KernelSet& kernels);
  std::string store(const Type* type, const Cell& cell, const Text& at, const Text& value, const KernelSet& kernels);

  Text zero(const Type* type);

  Text get(const Type* type, const WordPlace& from);
  // Statements, one per line, indented. `value` is a name.
  std::string put(const Type* type, const WordPlace& to, const Text& value, std::string_view indent);
  Text bitcast(const Type* to, const Type* from, const Text& value);

 private:
  Text load_scalar(TypeKind kind, const Text& address);
  std::string store_scalar(TypeKind kind, const Text& address, const Text& value);
  std::string load_function(const Type* type, const std::string& name);
  std::string store_function(const Type* type, const std::string& name);
  std::string zero_function(const Type* type, const std::string& name);
  std::string load_function(const Type* type, const Cell& cell, const std::string& name, const KernelSet& kernels);
  std::string store_function(const Type* type, const Cell& cell, const std::string& name, const KernelSet& kernels);
  const std::string& insert_function(const Cell& cell, const KernelSet& kernels);
  std::string bits_of(TypeKind kind, const Text& value);
  Text get_scalar(TypeKind kind, const WordPlace& from);
  std::string put_scalar(TypeKind kind, const WordPlace& to, const Text& value);
  std::string scalar_at(TypeKind kind, const Text& address);
  void note_static_pointers(const Type* type) const;

  Unit& unit_;
};

// `address` plus this number of bytes.
Text address_plus(const Text& address, uint64_t bytes);
// The bytes of constants: tables that a kernel reads as another type are arrays of uint.
bool has_known_bytes(const ir::Variable& constant);
std::string words_text(const ir::Variable& constant);  // uint[](…); its bytes are known
// The type of an address, an atomic or a scalar in memory.
TypeKind stored_kind(const Type* type);

}  // namespace kymo::shader::glsl
