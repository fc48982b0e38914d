#include "inject/nvtx/payload_schema.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/message.h"
#include "inject/nvtx/numbers.h"

namespace kymo::inject::nvtx {
namespace {

constinit std::atomic<uint64_t> next_id{kFirstDynamicId};

// A text that is never null. The empty text if there is no memory.
const char* keep(const char* text) noexcept {
  if (text == nullptr || *text == '\0') return "";
  const char* const copy = keep_text(Text(text).view());
  return copy != nullptr ? copy : "";
}

template <class T>
T* make_array(size_t count) noexcept {
  return static_cast<T*>(calloc(count == 0 ? 1 : count, sizeof(T)));
}

// The size of a static schema whose registration does not say it; 0: it depends on the data.
size_t computed_size(const Domain& domain, const Schema& schema) noexcept {
  size_t end = 0, largest = 1;
  for (uint32_t i = 0; i < schema.count; ++i) {
    const SchemaEntry& entry = schema.entries[i];
    const bool is_reference = (entry.flags & (kPointerFlag | kOffsetFromBase | kOffsetFromHere)) != 0;
    const uint64_t kind = entry.flags & kArrayFlags;
    const Schema* const inner = find_schema(domain, entry.type);
    size_t size = is_reference || entry.type == kTypeRegistered ? sizeof(void*) : number_size(entry.type);
    if (size == 0 && inner != nullptr) size = inner->size;
    if (size == 0 && entry.type == kTypeString) size = entry.detail != 0 ? 1 : sizeof(void*);
    if (size == 0) return 0;
    const size_t alignment = inner == nullptr ? size : std::min(size, sizeof(void*));
    const size_t packed = schema.pack_alignment != 0 ? std::min(schema.pack_alignment, alignment) : alignment;
    const size_t begin = entry.offset != 0 ? entry.offset : (end + packed - 1) / packed * packed;
    const bool is_fixed_text = entry.type == kTypeString && kind == 0 && entry.detail != 0;
    if (!is_reference && kind != 0 && kind != kFixedArray) return 0;
    const uint64_t length = !is_reference && (kind == kFixedArray || is_fixed_text) ? entry.detail : 1;
    if (length > (size_t{1} << 32) / size || begin > size_t{1} << 32) return 0;
    end = begin + length * size;
    largest = std::max(largest, packed);
  }
  return (end + largest - 1) / largest * largest;
}

uint64_t add(Domain& domain, Schema* made, bool has_id, uint64_t given, uint64_t wanted) noexcept {
  made->id = has_id && given != 0 ? given : wanted != 0 ? wanted : next_id.fetch_add(1, std::memory_order_relaxed);
  const Lock lock;
  made->next = domain.schemas.load(std::memory_order_relaxed);
  domain.schemas.store(made, std::memory_order_release);
  return made->id;
}

}  // namespace

uint64_t register_schema(Domain& domain, const SchemaAttributes* attributes, uint64_t wanted) noexcept {
  constexpr uint64_t kNeeded = kSchemaType | kSchemaEntries | kSchemaEntryCount;
  if (attributes == nullptr || (attributes->fields & kNeeded) != kNeeded) return 0;
  const bool valid = attributes->type >= kStaticSchema && attributes->type <= kSelfSelectingUnion;
  if (!valid || attributes->entries == nullptr || attributes->entry_count > kMaxEntries) return 0;
  auto* const made = make_array<Schema>(1);
  auto* const entries = make_array<SchemaEntry>(attributes->entry_count);
  if (made == nullptr || entries == nullptr) return 0;
  for (size_t i = 0; i < attributes->entry_count; ++i) {
    const SchemaEntryAttributes& from = attributes->entries[i];
    entries[i] = {from.flags, from.type, from.detail, from.offset, keep(from.name)};
  }
  made->type = attributes->type;
  made->name = keep((attributes->fields & kSchemaName) != 0 ? attributes->name : nullptr);
  made->size = (attributes->fields & kSchemaStaticSize) != 0 ? attributes->static_size : 0;
  made->pack_alignment = (attributes->fields & kSchemaAlignment) != 0 ? attributes->pack_alignment : 0;
  made->entries = entries;
  made->count = static_cast<uint32_t>(attributes->entry_count);
  for (uint32_t i = 0; i < made->count; ++i) {
    const Schema* const inner = find_schema(domain, entries[i].type);
    made->has_strings |= entries[i].type == kTypeRegistered || (inner != nullptr && inner->has_strings);
  }
  if (made->size == 0 && made->type == kStaticSchema) made->size = computed_size(domain, *made);
  return add(domain, made, (attributes->fields & kSchemaId) != 0, attributes->id, wanted);
}

uint64_t register_enum(Domain& domain, const EnumAttributes* attributes, uint64_t wanted) noexcept {
  constexpr uint64_t kNeeded = kEnumEntries | kEnumEntryCount;
  if (attributes == nullptr || (attributes->fields & kNeeded) != kNeeded) return 0;
  if (attributes->entries == nullptr || attributes->entry_count > kMaxEntries) return 0;
  auto* const made = make_array<Schema>(1);
  auto* const values = make_array<EnumEntry>(attributes->entry_count);
  if (made == nullptr || values == nullptr) return 0;
  for (size_t i = 0; i < attributes->entry_count; ++i) {
    const EnumEntryAttributes& from = attributes->entries[i];
    values[i] = {keep(from.name), from.value, from.is_flag != 0};
  }
  made->name = "";
  made->size = (attributes->fields & kEnumSize) != 0 ? attributes->size : sizeof(int);
  made->values = values;
  made->count = static_cast<uint32_t>(attributes->entry_count);
  return add(domain, made, (attributes->fields & kEnumId) != 0, attributes->id, wanted);
}

const Schema* find_schema(const Domain& domain, uint64_t id) noexcept {
  for (const Schema* one = domain.schemas.load(std::memory_order_acquire); one != nullptr; one = one->next)
    if (one->id == id) return one;
  return nullptr;
}

}  // namespace kymo::inject::nvtx
