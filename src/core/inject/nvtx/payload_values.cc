// The part of a decoded payload that is about its values: numbers, texts and enumerations as arguments.
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <bit>

#include "inject/nvtx/message.h"
#include "inject/nvtx/numbers.h"
#include "inject/nvtx/payload_decoder.h"

namespace kymo::inject::nvtx {

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
