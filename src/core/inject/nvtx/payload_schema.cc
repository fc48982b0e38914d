#include "inject/nvtx/payload_schema.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <initializer_list>

#include "inject/nvtx/domain.h"

namespace kymo::inject::nvtx {
namespace {

struct NumberType {
  uint8_t size;  // 0: it is not a number
  NumberKind kind;
};

// By type.
constexpr auto kTypes = [] {
  using enum NumberKind;
  std::array<NumberType, kTypeSelector + 1> all{};
  const auto set = [&](uint8_t size, NumberKind kind, std::initializer_list<EntryType> types) {
    for (const EntryType type : types) all[type] = {size, kind};
  };
  set(1, Signed, {kTypeChar, kTypeInt8});
  set(1, Unsigned, {kTypeUchar, kTypeUint8, kTypeChar8, kTypeByte});
  set(2, Signed, {kTypeShort, kTypeInt16});
  set(2, Unsigned, {kTypeUshort, kTypeUint16, kTypeChar16});
  set(2, Real, {kTypeFloat16, kTypeBfloat16});
  set(4, Signed, {kTypeInt, kTypeInt32});
  set(4, Unsigned, {kTypeUint, kTypeUint32, kTypeWchar, kTypeChar32, kTypeCategory, kTypeColour, kTypePid32});
  set(4, Unsigned, {kTypeTid32, kTypeSelector});
  set(4, Real, {kTypeFloat, kTypeFloat32, kTypeTf32});
  set(8, Signed, {kTypeLong, kTypeLongLong, kTypeInt64});
  set(8, Unsigned, {kTypeUlong, kTypeUlongLong, kTypeUint64, kTypeSize, kTypeScope, kTypePid64, kTypeTid64});
  set(8, Real, {kTypeDouble, kTypeFloat64});
  set(8, Pointer, {kTypeAddress});
  set(16, Signed, {kTypeInt128});
  set(16, Unsigned, {kTypeUint128});
  set(sizeof(long double), Real, {kTypeLongDouble});
  return all;
}();

template <class T>
T load(const uint8_t* bytes) noexcept {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

double half(uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double value;
  if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else if (exponent == 31)
    value = fraction == 0 ? HUGE_VAL : static_cast<double>(NAN);
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double real(uint64_t type, const uint8_t* bytes) noexcept {
  switch (type) {
    case kTypeFloat:
    case kTypeFloat32:
    case kTypeTf32:
      return load<float>(bytes);
    case kTypeLongDouble:
      return static_cast<double>(load<long double>(bytes));
    case kTypeFloat16:
      return half(load<uint16_t>(bytes));
    case kTypeBfloat16:
      return std::bit_cast<float>(uint32_t{load<uint16_t>(bytes)} << 16);
    default:
      return load<double>(bytes);
  }
}

}  // namespace

size_t number_size(uint64_t type) noexcept { return type < kTypes.size() ? kTypes[type].size : 0; }

NumberKind number_kind(uint64_t type) noexcept { return type < kTypes.size() ? kTypes[type].kind : NumberKind::None; }

uint64_t number_bits(uint64_t type, const uint8_t* bytes) noexcept {
  const NumberKind kind = number_kind(type);
  if (kind == NumberKind::Real) return std::bit_cast<uint64_t>(real(type, bytes));
  const bool is_signed = kind == NumberKind::Signed;
  switch (number_size(type)) {
    case 1:
      return is_signed ? static_cast<uint64_t>(int64_t{load<int8_t>(bytes)}) : load<uint8_t>(bytes);
    case 2:
      return is_signed ? static_cast<uint64_t>(int64_t{load<int16_t>(bytes)}) : load<uint16_t>(bytes);
    case 4:
      return is_signed ? static_cast<uint64_t>(int64_t{load<int32_t>(bytes)}) : load<uint32_t>(bytes);
    case 8:
    case 16:
      return load<uint64_t>(bytes);
    default:
      return 0;
  }
}

bool is_string(uint64_t type) noexcept { return type >= kTypeString && type <= kTypeUtf32; }

bool is_character(uint64_t type) noexcept {
  return type == kTypeChar || (type >= kTypeWchar && type <= kTypeChar32) || is_string(type);
}

size_t character_size(uint64_t type) noexcept {
  if (type == kTypeUtf16) return 2;
  if (type == kTypeUtf32) return 4;
  return is_string(type) ? 1 : number_size(type);
}

// ---- Schemas and enumerations --------------------------------------------------------------------------------------

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

uint64_t add(Domain& domain, Schema* made, bool has_id, uint64_t given) noexcept {
  made->id = has_id && given != 0 ? given : next_id.fetch_add(1, std::memory_order_relaxed);
  const Lock lock;
  made->next = domain.schemas.load(std::memory_order_relaxed);
  domain.schemas.store(made, std::memory_order_release);
  return made->id;
}

}  // namespace

uint64_t register_schema(Domain& domain, const SchemaAttributes* attributes) noexcept {
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
  if (made->size == 0 && made->type == kStaticSchema) made->size = computed_size(domain, *made);
  return add(domain, made, (attributes->fields & kSchemaId) != 0, attributes->id);
}

uint64_t register_enum(Domain& domain, const EnumAttributes* attributes) noexcept {
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
  return add(domain, made, (attributes->fields & kEnumId) != 0, attributes->id);
}

const Schema* find_schema(const Domain& domain, uint64_t id) noexcept {
  for (const Schema* one = domain.schemas.load(std::memory_order_acquire); one != nullptr; one = one->next)
    if (one->id == id) return one;
  return nullptr;
}

}  // namespace kymo::inject::nvtx
