// Schemas of payloads and enumerations that a program has registered, by id. They are copied, and live as long as the
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "inject/nvtx/payload_abi.h"

namespace kymo::inject::nvtx {

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
  uint32_t count;    // of entries, or of values
  bool has_strings;  // handles of registered strings, directly or in a schema inside
};

inline constexpr size_t kMaxEntries = 1024;

// Return the id; 0: the attributes are not valid, or there is no memory. `wanted` not 0: an id that another tool gave
// (chain.h).
uint64_t register_schema(Domain& domain, const SchemaAttributes* attributes, uint64_t wanted = 0) noexcept;
uint64_t register_enum(Domain& domain, const EnumAttributes* attributes, uint64_t wanted = 0) noexcept;

// A schema of this domain. Null: there is none with this id. No lock.
const Schema* find_schema(const Domain& domain, uint64_t id) noexcept;

}  // namespace kymo::inject::nvtx
