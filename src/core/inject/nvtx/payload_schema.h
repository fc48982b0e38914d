// The types in a payload: numbers and characters, which NVTX defines, and the schemas and enumerations that a program
// has registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "inject/nvtx/abi.h"

namespace kymo::inject::nvtx {

// ---- Numbers and characters: what a predefined type is, and from its bytes to a value -------------------------------

enum class NumberKind : uint8_t { None, Signed, Unsigned, Real, Pointer };

// The size of a predefined type; 0: it is not a number.
size_t number_size(uint64_t type) noexcept;
NumberKind number_kind(uint64_t type) noexcept;

// The value of number_size(type) bytes: an integer, sign-extended, or the bits of a double. Of integers with 128 bits
// the low half.
uint64_t number_bits(uint64_t type, const uint8_t* bytes) noexcept;

bool is_string(uint64_t type) noexcept;
bool is_character(uint64_t type) noexcept;  // also true for a string, which consists of them
size_t character_size(uint64_t type) noexcept;

// ---- Schemas and enumerations, by id. They are copied, and live as long as the process. -----------------------------

struct Domain;

struct SchemaEntry {
  uint64_t flags, type, detail, offset;
  const char* name;  // never null
};

struct EnumEntry {
  const char* name;
  uint64_t value;
  bool is_flag;
};

// A schema, or an enumeration: they share their ids.
struct Schema {
  const Schema* next;
  uint64_t id;
  const char* name;  // never null
  uint64_t type;     // SchemaType; 0: an enumeration
  size_t size;       // 0: not known
  size_t pack_alignment;
  const SchemaEntry* entries;
  const EnumEntry* values;
  uint32_t count;  // of entries, or of values
};

inline constexpr size_t kMaxEntries = 1024;

// Return the id; 0: the attributes are not valid, or there is no memory.
uint64_t register_schema(Domain& domain, const SchemaAttributes* attributes) noexcept;
uint64_t register_enum(Domain& domain, const EnumAttributes* attributes) noexcept;

// A schema of this domain. Null: there is none with this id. No lock.
const Schema* find_schema(const Domain& domain, uint64_t id) noexcept;

}  // namespace kymo::inject::nvtx
