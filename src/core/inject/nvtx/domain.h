// Domains, registered strings and categories. They are created by the program's calls, also while nothing records, and
// live as long as the process: handles must stay valid, and a domain that is destroyed may be created again.
//
// Creating needs a lock; reading needs none.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "inject/nvtx/abi.h"
#include "kymo/kymo.h"
#include "record/layout.h"

namespace kymo::inject::nvtx {

struct Schema;   // payload_schema.h
struct Counter;  // counters.h

struct Category {
  Category* next;
  uint32_t number;
  uint32_t length;
  const char* name;
};

struct Domain {
  Domain* next;
  const char* name;  // the category of its events
  uint32_t name_length;
  uint32_t index;  // 0: the default domain
  // Its ranges nest on their own (record::on_stack). 0: its events are not recorded, because they are Kymo's own
  // annotations, sent to NVTX by the sink.
  uint16_t stack;
  std::atomic<Category*> categories;
  std::atomic<const Schema*> schemas;
  std::atomic<Counter*> counters;
  std::atomic<void*> chained;  // the same domain for the chained tool; null: not created there
};

// The label of a registered string, whose class is looked up once.
struct RegisteredString {
  static constexpr uint64_t kMagic = 0x6e72747378766e6b;
  uint64_t magic;
  kymo_site site;
  std::atomic<uint32_t> word;  // of a push with only this string: record::on_stack; 0: not known
  Domain* domain;
  void* chained;
};

extern Domain default_domain;
inline Domain& domain_of(Domain* handle) noexcept { return handle != nullptr ? *handle : default_domain; }

// The domain with this name. Null: no memory, or too many domains.
Domain* create_domain(std::string_view name) noexcept;
uint32_t domain_count() noexcept;

// Null: no memory.
RegisteredString* register_string(Domain& domain, std::string_view text) noexcept;

// A handle from the contents of a payload, which may be anything. Null: it is none. `read` copies memory that may be
// invalid.
RegisteredString* checked_string(uint64_t handle, bool (*read)(uint64_t, void*, size_t) noexcept) noexcept;

void name_category(Domain& domain, uint32_t number, std::string_view name) noexcept;
// Empty: it has no name.
std::string_view category_name(const Domain& domain, uint32_t number) noexcept;

// A copy with a NUL, which is never freed. Null: no memory.
char* keep_text(std::string_view text) noexcept;

// The lock of everything that is created. A forked child releases it.
class Lock {
 public:
  Lock() noexcept;
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

}  // namespace kymo::inject::nvtx
