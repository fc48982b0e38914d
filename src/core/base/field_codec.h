// The fields of a record, described once for writing and reading.
//
//   static void fields(auto& io, base::MaybeConst<Loss> auto& loss) { io(loss.cause, loss.track, loss.detail); }
//
//   base::FieldWriter{out}(loss);
//   base::FieldReader{in}(loss);
//
// A number, a flag and an enumerator are a varint, a floating-point number has 8 bytes. A text is a string. A list, a
// map and a block of bytes begin with their size. Every other type has a function fields() in its own namespace (not
// in an unnamed one, where it would not be found).
//
// FieldReader does not trust its bytes: it throws kymo::Error if they end too early or a number does not fit. Lists
// grow only as items are read, because a count may be forged.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::base {

// A record of this type: const when it is written.
template <class T, class Of>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Of>;

class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter& out) : out_(out) {}

  void operator()(const auto&... values) { (put(values), ...); }
  // A field at the end of a record, which records of older versions do not have.
  void later(const auto& value) { put(value); }
  // The same for a field of list items. The items have no length of their own, so the field is a list after all others.
  template <class T>
  void later(const std::vector<T>& items, uint64_t T::*field) {
    out_.varint(items.size());
    for (const T& item : items) put(item.*field);
  }
  void fixed(uint64_t value) { out_.fixed(value); }  // 8 bytes
  // An enumerator from `first` to `last`; `what` names it in the reader's error.
  template <class Enum>
  void one_of(Enum value, Enum, Enum, const char*) {
    put(value);
  }
  // A list of up to `max` items.
  template <class T>
  void list(const std::vector<T>& items, size_t, const char*) {
    put(items);
  }
  // Up to 7 flags as the bits of one byte, the first one lowest.
  void flags(std::same_as<bool> auto... flags) {
    unsigned bits = 0, bit = 1;
    ((bits |= flags ? bit : 0, bit <<= 1), ...);
    out_.byte(static_cast<uint8_t>(bits));
  }
  // What only a reader does with the value: a check, or a conversion. `use` takes auto&.
  void when_read(const auto&, auto&&) {}

 private:
  template <std::unsigned_integral T>
  void put(const T& value) {
    out_.varint(value);
  }
  void put(const double& value) { out_.fixed(std::bit_cast<uint64_t>(value)); }
  void put(const std::string& text) { out_.string(text); }
  void put(const std::vector<std::byte>& bytes) {
    out_.varint(bytes.size());
    out_.append(bytes);
  }
  template <class T>
  void put(const std::vector<T>& items) {
    out_.varint(items.size());
    for (const T& item : items) put(item);
  }
  template <class T, class Order>
  void put(const std::map<std::string, T, Order>& items) {
    out_.varint(items.size());
    for (const auto& item : items) put(item);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(value));
    } else {
      fields(*this, value);
    }
  }

  ByteWriter& out_;
};

class FieldReader {
 public:
  explicit FieldReader(ByteReader& untrusted) : in_(untrusted) {}

  void operator()(auto&... values) { (get(values), ...); }
  void later(auto& value) {
    if (in_.left() != 0) get(value);
  }
  template <class T>
  void later(std::vector<T>& items, uint64_t T::*field) {
    const size_t count = in_.left() != 0 ? in_.count() : 0;
    for (size_t i = 0; i < count; ++i) {
      uint64_t value = 0;
      get(value);
      if (i < items.size()) items[i].*field = value;
    }
  }
  void fixed(uint64_t& value) { value = in_.fixed<uint64_t>(); }
  template <class Enum>
  void one_of(Enum& value, Enum first, Enum last, const char* what) {
    const uint64_t number = in_.varint();
    if (number < static_cast<uint64_t>(first) || number > static_cast<uint64_t>(last))
      throw Error(format("{} is not a valid {}", number, what));
    value = static_cast<Enum>(number);
  }
  template <class T>
  void list(std::vector<T>& items, size_t max, const char* what) {
    if (const size_t count = ByteReader(in_).count(); count > max)
      throw Error(format("there are {} {}; the max is {}", count, what, max));
    get(items);
  }
  void flags(std::same_as<bool> auto&... flags) {
    const unsigned bits = in_.byte();
    unsigned bit = 1;
    ((flags = (bits & bit) != 0, bit <<= 1), ...);
  }
  void when_read(auto& value, auto&& use) { use(value); }

 private:
  template <std::unsigned_integral T>
  void get(T& value) {
    value = in_.varint_as<T>("a field");
  }
  void get(bool& value) {
    uint8_t number = 0;
    one_of(number, uint8_t{0}, uint8_t{1}, "flag");
    value = number == 1;
  }
  void get(double& value) { value = std::bit_cast<double>(in_.fixed<uint64_t>()); }
  void get(std::string& text) { text = in_.string(); }
  void get(std::vector<std::byte>& bytes) {
    const Bytes taken = in_.take(in_.count());
    bytes.assign(taken.begin(), taken.end());
  }
  template <class T>
  void get(std::vector<T>& items) {
    const size_t count = in_.count();
    for (size_t i = 0; i < count; ++i) get(items.emplace_back());
  }
  template <class T, class Order>
  void get(std::map<std::string, T, Order>& items) {
    for (size_t count = in_.count(); count > 0; --count) {
      std::string name(in_.string());
      get(items[std::move(name)]);
    }
  }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      get(number);
      value = static_cast<T>(number);
    } else {
      fields(*this, value);
    }
  }

  ByteReader& in_;
};

}  // namespace kymo::base
