// Converts fields to bytes and back. A field is its number and its length, two bytes each, and its value.
//
// A number (also a boolean or a state) has 8 bytes, a text its bytes, a list of numbers 8 bytes each in one field. A
// record has fields itself. A list of texts or records is one field per item. The limits of message.h apply in
// both directions, so that everything that is written can be read. An error ends the work with a reason; nothing is
// thrown.
#pragma once

#include <bitset>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/text.h"
#include "wire/message_fields.h"

namespace kymo::wire {

inline constexpr size_t kFieldHeadBytes = 4;
inline constexpr size_t kFieldNumberBytes = 8;
inline constexpr size_t kFieldNumbers = 64;  // all known field numbers are lower

template <class T>
concept FieldNumber = std::integral<T> || std::is_enum_v<T>;

// Numbers as 64 bits; a signed one keeps its sign. number_from returns false if the number does not fit the member.
template <FieldNumber T>
uint64_t number_bits(T value) {
  if constexpr (std::is_signed_v<T>) return static_cast<uint64_t>(static_cast<int64_t>(value));
  return static_cast<uint64_t>(value);
}

template <FieldNumber T>
bool number_from(uint64_t bits, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (bits > 1) return false;
    value = bits == 1;
  } else {
    value = static_cast<T>(bits);
  }
  return number_bits(value) == bits;
}

// Whether a text can be sent and accepted.
inline base::Check check_text(std::string_view text) {
  if (text.size() > kLongestText) return base::Refusal{"is too long for a text"};
  if (text.find('\0') != text.npos) return base::Refusal{"has a NUL in it"};
  return {};
}

class FieldWriter {
 public:
  explicit FieldWriter(base::ByteWriter& out) : out_(out) {}

  template <class T>
  void operator()(uint16_t number, const char* name, const T& value) {
    if constexpr (requires { value.empty(); }) {
      if (value.empty()) return;
    }
    put(number, name, value);
  }
  template <class T>
  void needed(uint16_t number, const char* name, const T& value) {
    put(number, name, value);
  }
  template <class T>
  void operator()(uint16_t number, const char* name, const std::optional<T>& value) {
    if (value) put(number, name, *value);
  }

  // The first error, or that everything was written.
  const base::Check& result() const { return result_; }

 private:
  template <FieldNumber T>
  void put(uint16_t number, const char*, const T& value) {
    head(number, kFieldNumberBytes);
    out_.fixed(number_bits(value));
  }
  void put(uint16_t number, const char* name, const std::string& text) {
    if (const base::Check text_check = check_text(text); !text_check) return refuse(name, text_check.reason());
    head(number, text.size());
    out_.append(base::as_bytes(text));
  }
  template <class T>
  void put(uint16_t number, const char* name, const std::vector<T>& items) {
    if (items.size() > kMaxItems) return refuse(name, "has too many items");
    if constexpr (FieldNumber<T>) {
      head(number, kFieldNumberBytes * items.size());
      for (const T item : items) out_.fixed(number_bits(item));
    } else {
      for (const T& item : items) put(number, name, item);
    }
  }
  // A record. Its length is filled in after it is written.
  template <class T>
  requires std::is_class_v<T>
  void put(uint16_t number, const char* name, const T& record) {
    const size_t at = out_.size();
    head(number, 0);
    each_field(record, *this);
    const size_t size = out_.size() - at - kFieldHeadBytes;
    if (size > kLargestMessage - kFieldHeadBytes) return refuse(name, "is too long");
    base::store(out_.data() + at + sizeof number, static_cast<uint16_t>(size));
  }

  void head(uint16_t number, size_t size) {
    out_.fixed(number);
    out_.fixed(static_cast<uint16_t>(size));  // at most kLongestText or kMaxItems numbers
  }
  void refuse(const char* name, std::string_view why) {
    if (result_) result_ = base::Refusal{base::format("{} {}", name, why)};
  }

  base::ByteWriter& out_;
  base::Check result_;
};

static_assert(kLongestText <= UINT16_MAX && kMaxItems * kFieldNumberBytes <= UINT16_MAX);

// One field of a message that is being read. It is compared with each known field.
class FieldMatch {
 public:
  FieldMatch(uint16_t number, base::Bytes value, std::bitset<kFieldNumbers>& seen, base::Check& result)
      : number_(number), value_(value), seen_(seen), result_(result) {}

  template <class T>
  void operator()(uint16_t number, const char* name, T& member) {
    if (number != number_) return;
    if (seen_[number] && !is_list(member)) return refuse(name, "is there twice");
    seen_[number] = true;
    take(name, member);
  }
  template <class T>
  void needed(uint16_t number, const char* name, T& member) {
    (*this)(number, name, member);
  }

 private:
  template <class T>
  static constexpr bool is_list(const T&) {
    return false;
  }
  template <class T>
  static constexpr bool is_list(const std::vector<T>&) {
    return !FieldNumber<T>;
  }

  template <FieldNumber T>
  void take(const char* name, T& member) {
    if (value_.size() != kFieldNumberBytes) return refuse(name, "is no number of 8 bytes");
    if (!number_from(base::load<uint64_t>(value_.data()), member)) refuse(name, "is out of range");
  }
  void take(const char* name, std::string& member) {
    const std::string_view text(reinterpret_cast<const char*>(value_.data()), value_.size());
    if (const base::Check text_check = check_text(text); !text_check) return refuse(name, text_check.reason());
    member = text;
  }
  template <class T>
  void take(const char* name, std::optional<T>& member) {
    take(name, member.emplace());
  }
  template <class T>
  void take(const char* name, std::vector<T>& member) {
    if constexpr (FieldNumber<T>) {
      if (value_.size() % kFieldNumberBytes != 0) return refuse(name, "is no list of numbers of 8 bytes");
      if (value_.size() / kFieldNumberBytes > kMaxItems) return refuse(name, "has too many items");
      member.resize(value_.size() / kFieldNumberBytes);
      for (size_t i = 0; i < member.size(); ++i) {
        const auto bits = base::load<uint64_t>(value_.data() + i * kFieldNumberBytes);
        if (!number_from(bits, member[i])) return refuse(name, "is out of range");
      }
    } else {
      if (member.size() == kMaxItems) return refuse(name, "has too many items");
      take(name, member.emplace_back());
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void take(const char* name, T& record);

  void refuse(const char* name, std::string_view why) { result_ = base::Refusal{base::format("{} {}", name, why)}; }

  uint16_t number_;
  base::Bytes value_;
  std::bitset<kFieldNumbers>& seen_;
  base::Check& result_;
};

// Finds a missing needed field.
class FieldNeeds {
 public:
  FieldNeeds(const std::bitset<kFieldNumbers>& seen, base::Check& result) : seen_(seen), result_(result) {}
  void operator()(uint16_t, const char*, const auto&) {}
  void needed(uint16_t number, const char* name, const auto&) {
    if (!seen_[number]) missing(name);
  }

 private:
  void missing(const char* name) {
    if (result_) result_ = base::Refusal{base::format("{} is missing", name)};
  }

  const std::bitset<kFieldNumbers>& seen_;
  base::Check& result_;
};

// Reads all fields of a message or record.
template <class M>
base::Check read_fields(base::Bytes untrusted, M& message) {
  std::bitset<kFieldNumbers> seen;
  base::Check result;
  while (!untrusted.empty()) {
    if (untrusted.size() < kFieldHeadBytes) return base::Refusal{"a field is cut off"};
    const auto number = base::load<uint16_t>(untrusted.data());
    const size_t size = base::load<uint16_t>(untrusted.data() + sizeof number);
    untrusted = untrusted.subspan(kFieldHeadBytes);
    if (size > untrusted.size()) return base::Refusal{"a field is longer than its message"};
    if (number < kFieldNumbers) each_field(message, FieldMatch(number, untrusted.first(size), seen, result));
    if (!result) return result;
    untrusted = untrusted.subspan(size);
  }
  each_field(message, FieldNeeds(seen, result));
  return result;
}

template <class T>
requires std::is_class_v<T>
void FieldMatch::take(const char* name, T& record) {
  if (const base::Check read = read_fields(value_, record); !read) refuse(name, read.reason());
}

}  // namespace kymo::wire
