#include "inject/nvtx/payload_decoder.h"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace kymo::inject::nvtx {
namespace {

constexpr size_t kPointerSize = sizeof(uint64_t);

uint64_t array_kind(const SchemaEntry& entry) noexcept { return entry.flags & kArrayFlags; }

}  // namespace

bool read_own_memory(uint64_t address, void* into, size_t size) noexcept {
  const iovec to{into, size}, from{reinterpret_cast<void*>(address), size};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(size);
}

DecodedPayload::DecodedPayload(const Domain& domain, std::span<const PayloadData> payloads,
                               ReadAnywhere read_anywhere) noexcept
    : domain_(domain), payloads_(payloads), read_anywhere_(read_anywhere) {
  for (const PayloadData& payload : payloads) decode_payload(payload);
}

char* DecodedPayload::take_room(size_t bytes) noexcept {
  if (bytes > kTextBytes - used_) return nullptr;
  char* const room = text_ + used_;
  used_ += bytes;
  return room;
}

void DecodedPayload::decode_payload(const PayloadData& payload) noexcept {
  if (payload.data == nullptr || payload.schema == kReferencedPayload) return;
  const auto* const data = static_cast<const uint8_t*>(payload.data);
  if (payload.schema == kRawPayload) {
    if (payload.size != SIZE_MAX) add_arg("bytes", KYMO_BYTES, payload.size);
    return;
  }
  const Schema* const schema = find_schema(domain_, payload.schema);
  size_t size = payload.size;
  if (schema != nullptr) {
    if (size == SIZE_MAX) size = schema->size;
    if (schema_name_.empty()) schema_name_ = schema->name;
    if (schema->type == 0)
      decode_value({0, payload.schema, 0, 0, "value"}, {data, size}, "value", 0);
    else
      decode_schema(*schema, {data, size}, "", 0);
    return;
  }
  const size_t known = number_size(payload.schema);
  if (known != 0 && (size == SIZE_MAX || size >= known))
    decode_value({0, payload.schema, 0, 0, "value"}, {data, known}, "value", 0);
}

// Returns how many bytes it used.
size_t DecodedPayload::decode_schema(const Schema& schema, Bytes bytes, std::string_view prefix,
                                     uint32_t depth) noexcept {
  if (depth > kMaxDepth) return 0;
  if (schema.type == kUnionSchema || schema.type == kSelfSelectingUnion) return 0;  // not shown
  uint64_t values[kMaxFields] = {};
  size_t at = 0;
  for (uint32_t i = 0; i < schema.count && i < kMaxFields; ++i) {
    if (++fields_ > kMaxFields) break;
    const size_t used = decode_entry(schema, i, bytes, at, values, prefix, depth, values[i]);
    if (used == SIZE_MAX) break;
    at = used;
  }
  return at;
}

// One entry, at its own offset or after the one before, which ended at `at`. `values` are the numbers of the entries so
// far. Returns where it ends; SIZE_MAX: the payload is too short for it.
size_t DecodedPayload::decode_entry(const Schema& schema, uint32_t index, Bytes bytes, size_t at,
                                    const uint64_t* values, std::string_view prefix, uint32_t depth,
                                    uint64_t& value) noexcept {
  const SchemaEntry& entry = schema.entries[index];
  const bool is_reference = (entry.flags & (kPointerFlag | kOffsetFromBase | kOffsetFromHere)) != 0;
  const size_t alignment = is_reference ? kPointerSize : alignment_of(entry.type);
  const size_t packed = schema.pack_alignment != 0 ? std::min(schema.pack_alignment, alignment) : alignment;
  size_t begin = at;
  if (packed > 1 && begin % packed != 0) begin += packed - begin % packed;
  if (entry.offset != 0) begin = entry.offset;
  if (begin > bytes.size) return SIZE_MAX;
  const Bytes rest{bytes.data + begin, bytes.size - begin};

  const auto known = [&](uint64_t wanted) { return wanted < index ? values[wanted] : 0; };
  const uint64_t kind = array_kind(entry);
  const size_t unit = is_character(entry.type) ? character_size(entry.type) : size_of_type(entry.type);
  const bool fixed_text = is_string(entry.type) && kind == 0 && entry.detail != 0;
  uint64_t length = kind == kCountedArray ? known(entry.detail) : kind == kFixedArray || fixed_text ? entry.detail : 1;
  const bool until_zero = kind == kTerminatedArray || (is_string(entry.type) && kind == 0 && entry.detail == 0);

  char* const name_room = take_room(prefix.size() + strlen(entry.name) + 1);
  if (name_room == nullptr) return SIZE_MAX;
  memcpy(name_room, prefix.data(), prefix.size());
  strcpy(name_room + prefix.size(), entry.name);
  const std::string_view name(name_room);

  Bytes found = rest;
  size_t end = 0;
  // A text without a length and without flags is a pointer to it.
  const bool is_pointer = is_reference || (is_string(entry.type) && kind == 0 && entry.detail == 0);
  if (is_pointer) {
    if (rest.size < kPointerSize) return SIZE_MAX;
    uint64_t target;
    memcpy(&target, rest.data, sizeof target);
    end = begin + kPointerSize;
    if ((entry.flags & kOffsetFromBase) != 0) target += reinterpret_cast<uintptr_t>(bytes.data);
    if ((entry.flags & kOffsetFromHere) != 0) target += reinterpret_cast<uintptr_t>(bytes.data) + end;
    const size_t wanted = unit != 0 && length <= kMaxFollowed / unit ? length * unit : kMaxFollowed;
    if (!follow(target, wanted, until_zero, found)) return end;
  }
  if (unit == 0) return is_pointer ? end : SIZE_MAX;
  if (until_zero) {
    length = 0;
    const auto is_zero = [&](uint64_t i) {
      const uint8_t* const one = found.data + i * unit;
      return std::all_of(one, one + unit, [](uint8_t byte) { return byte == 0; });
    };
    while (length < found.size / unit && !is_zero(length)) ++length;
    if (!is_pointer) end = begin + std::min(found.size, (length + 1) * unit);
  } else if (!is_pointer) {
    if (length > rest.size / unit) return SIZE_MAX;
    end = begin + length * unit;
  }
  found.size = std::min<size_t>(found.size, length <= found.size / unit ? length * unit : found.size);

  const bool is_array = kind != 0 || is_string(entry.type);
  if (!is_array && found.size >= unit && number_size(entry.type) != 0) value = number_bits(entry.type, found.data);
  if (!is_array && !is_pointer && find_schema(domain_, entry.type) != nullptr &&
      find_schema(domain_, entry.type)->type == 0 && found.size >= unit && unit <= sizeof value)
    memcpy(&value, found.data, unit);
  if ((entry.flags & kHiddenFlag) != 0) return end;
  if (is_array)
    decode_array(entry, found, found.size / unit, name, depth);
  else
    decode_value(entry, found, name, depth);
  return end;
}

// Finds the bytes at an address. In a payload of the event they are used where they are, up to the end of the payload.
bool DecodedPayload::follow(uint64_t address, size_t wanted, bool until_zero, Bytes& found) noexcept {
  if (address == 0) return false;
  for (const PayloadData& payload : payloads_) {
    const auto base = reinterpret_cast<uintptr_t>(payload.data);
    if (payload.data == nullptr || payload.size == SIZE_MAX || address < base || address - base >= payload.size)
      continue;
    found = {static_cast<const uint8_t*>(payload.data) + (address - base), payload.size - (address - base)};
    return true;
  }
  if (wanted == 0) return false;
  if (!until_zero) {
    char* const room = take_room(wanted);
    if (room == nullptr || !read_anywhere_(address, room, wanted)) return false;
    found = {reinterpret_cast<uint8_t*>(room), wanted};
    return true;
  }
  // A text may end just before memory that cannot be read.
  constexpr size_t kPiece = 64;
  const size_t before = used_;
  found = {reinterpret_cast<uint8_t*>(text_ + used_), 0};
  while (found.size < kMaxFollowed) {
    const size_t piece = kPiece - (address + found.size) % kPiece;
    char* const room = take_room(piece);
    if (room == nullptr || !read_anywhere_(address + found.size, room, piece)) break;
    found.size += piece;
    if (memchr(room, 0, piece) != nullptr) break;
  }
  if (found.size == 0) used_ = before;
  return found.size != 0;
}

size_t DecodedPayload::size_of_type(uint64_t type) const noexcept {
  if (const size_t known = number_size(type); known != 0) return known;
  if (type == kTypeRegistered) return kPointerSize;
  const Schema* const schema = find_schema(domain_, type);
  return schema != nullptr ? schema->size : 0;
}

size_t DecodedPayload::alignment_of(uint64_t type) const noexcept {
  if (is_character(type)) return character_size(type);
  const size_t size = size_of_type(type);
  // A structure has the alignment of its largest member, which is not known here; most contain a word.
  if (number_size(type) == 0 && find_schema(domain_, type) != nullptr && find_schema(domain_, type)->type != 0)
    return size >= kPointerSize ? kPointerSize : std::bit_floor(std::max<size_t>(size, 1));
  return std::max<size_t>(size, 1);
}

void DecodedPayload::decode_value(const SchemaEntry& entry, Bytes bytes, std::string_view name,
                                  uint32_t depth) noexcept {
  if (const size_t size = number_size(entry.type); size != 0) {
    if (bytes.size >= size) add_number(entry, bytes, name);
    return;
  }
  if (entry.type == kTypeRegistered) {
    uint64_t handle = 0;
    if (bytes.size < sizeof handle) return;
    memcpy(&handle, bytes.data, sizeof handle);
    RegisteredString* const string = checked_string(handle, read_anywhere_);
    if (string != nullptr) add_text(entry, {string->site.label.name, string->site.label.name_length}, name);
    return;
  }
  const Schema* const schema = find_schema(domain_, entry.type);
  if (schema == nullptr) return;
  if (schema->type == 0) {
    uint64_t value = 0;
    if (schema->size > sizeof value || bytes.size < schema->size) return;
    memcpy(&value, bytes.data, schema->size);
    return add_text(entry, enum_text(*schema, value), name);
  }
  char* const prefix = take_room(name.size() + 2);
  if (prefix == nullptr) return;
  const int length =
      name.empty() ? 0 : snprintf(prefix, name.size() + 2, "%.*s.", static_cast<int>(name.size()), name.data());
  const std::string_view inside(prefix, static_cast<size_t>(length));
  decode_schema(*schema, bytes, inside, depth + 1);
}

void DecodedPayload::decode_array(const SchemaEntry& entry, Bytes bytes, uint64_t length, std::string_view name,
                                  uint32_t depth) noexcept {
  if (is_character(entry.type)) return add_text(entry, converted(entry.type, bytes), name);
  const size_t unit = size_of_type(entry.type);
  const size_t shown = std::min<size_t>(length, kMaxShown);
  if (number_kind(entry.type) != NumberKind::None) {
    constexpr size_t kLongest = 32;
    char* const room = take_room(shown * kLongest + 16);
    if (room == nullptr) return;
    size_t used = 0;
    room[used++] = '[';
    for (size_t i = 0; i < shown; ++i) {
      if (i != 0) used += static_cast<size_t>(snprintf(room + used, 3, ", "));
      used += put_number(entry.type, {bytes.data + i * unit, unit}, room + used, kLongest - 4);
    }
    used += static_cast<size_t>(snprintf(room + used, 8, shown < length ? ", …]" : "]"));
    return add_text(entry, {room, used}, name);
  }
  for (size_t i = 0; i < shown; ++i) {
    char* const element = take_room(name.size() + 8);
    if (element == nullptr || ++fields_ > kMaxFields) return;
    const int size = snprintf(element, name.size() + 8, "%.*s[%zu]", static_cast<int>(name.size()), name.data(), i);
    decode_value(entry, {bytes.data + i * unit, unit}, {element, static_cast<size_t>(size)}, depth);
  }
}

// ---- Values: numbers, texts and enumerations as arguments -----------------------------------------------------------

size_t DecodedPayload::put_number(uint64_t type, Bytes bytes, char* into, size_t room) const noexcept {
  const uint64_t bits = number_bits(type, bytes.data);
  int used = 0;
  switch (number_kind(type)) {
    case NumberKind::Signed:
      used = snprintf(into, room, "%lld", static_cast<long long>(bits));
      break;
    case NumberKind::Real:
      used = snprintf(into, room, "%.9g", std::bit_cast<double>(bits));
      break;
    case NumberKind::Pointer:
      used = snprintf(into, room, "0x%llx", static_cast<unsigned long long>(bits));
      break;
    default:
      used = snprintf(into, room, "%llu", static_cast<unsigned long long>(bits));
      break;
  }
  return std::min(static_cast<size_t>(std::max(used, 0)), room - 1);
}

void DecodedPayload::add_number(const SchemaEntry& entry, Bytes bytes, std::string_view name) noexcept {
  const uint64_t bits = number_bits(entry.type, bytes.data);
  if (entry.type == kTypeColour) {
    colour_ = static_cast<uint32_t>(bits);
    return;
  }
  if (entry.type == kTypeCategory) {
    category_ = static_cast<uint32_t>(bits);
    return;
  }
  switch (number_kind(entry.type)) {
    case NumberKind::Signed:
      return add_arg(name, KYMO_INT, bits);
    case NumberKind::Real:
      return add_arg(name, KYMO_DOUBLE, bits);
    case NumberKind::Pointer:
      return add_arg(name, KYMO_POINTER, bits);
    default:
      return add_arg(name, KYMO_UINT, bits);
  }
}

void DecodedPayload::add_text(const SchemaEntry& entry, std::string_view text, std::string_view name) noexcept {
  if ((entry.flags & kMessageFlag) != 0) {
    message_ = text;
    return;
  }
  if (count_ == record::kMaxStoredArgs) return;
  add_arg(name, KYMO_STRING, 0);
  args_[count_ - 1].value.as_text = text.data();
  args_[count_ - 1].length = static_cast<uint32_t>(text.size());
}

// A name that is not the last part of its buffer is terminated already.
void DecodedPayload::add_arg(std::string_view name, kymo_type type, uint64_t bits) noexcept {
  if (count_ == record::kMaxStoredArgs) return;
  kymo_arg& made = args_[count_++];
  made = {name.empty() ? "value" : name.data(), {}, 0, static_cast<uint32_t>(type)};
  made.value.as_uint = bits;
}

// "read | write" for a set of flags. A value without a name is a number.
std::string_view DecodedPayload::enum_text(const Schema& schema, uint64_t value) noexcept {
  for (uint32_t i = 0; i < schema.count; ++i)
    if (schema.values[i].value == value) return schema.values[i].name;
  constexpr size_t kMost = 128;
  char* const room = take_room(kMost);
  if (room == nullptr) return {};
  size_t used = 0;
  uint64_t left = value;
  for (uint32_t i = 0; i < schema.count && left != 0; ++i) {
    const EnumEntry& flag = schema.values[i];
    if (!flag.is_flag || flag.value == 0 || (left & flag.value) != flag.value) continue;
    const int length = snprintf(room + used, kMost - used, "%s%s", used == 0 ? "" : " | ", flag.name);
    if (length < 0 || static_cast<size_t>(length) >= kMost - used) break;
    used += static_cast<size_t>(length);
    left &= ~flag.value;
  }
  if (left != 0 || used == 0) {
    const int length =
        snprintf(room + used, kMost - used, "%s%llu", used == 0 ? "" : " | ", static_cast<unsigned long long>(left));
    if (length > 0) used += std::min(static_cast<size_t>(length), kMost - used - 1);
  }
  return {room, used};
}

// Characters of any width as UTF-8.
std::string_view DecodedPayload::converted(uint64_t type, Bytes bytes) noexcept {
  const size_t unit = character_size(type);
  size_t length = bytes.size / unit;
  if (unit == 1) {
    const auto* const text = reinterpret_cast<const char*>(bytes.data);
    return {text, strnlen(text, length)};
  }
  length = std::min(length, kMaxFollowed / 4);
  char* const room = take_room(length * 4);
  if (room == nullptr) return {};
  size_t used = 0;
  for (size_t i = 0; i < length; ++i) {
    uint32_t point = 0;
    memcpy(&point, bytes.data + i * unit, unit);
    if (point == 0) break;
    if (unit == 2 && point >= 0xd800 && point < 0xdc00 && i + 1 < length) {  // the first half of a pair
      uint16_t low = 0;
      memcpy(&low, bytes.data + (i + 1) * unit, unit);
      if (low >= 0xdc00 && low < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00u);
        ++i;
      }
    }
    used += put_utf8(room + used, point);
  }
  return {room, used};
}

}  // namespace kymo::inject::nvtx
