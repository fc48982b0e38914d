// Formats text with format strings that are checked at compile time: base::format("{} of {}", done, all).
//
// Uses fmt, which is compiled only once, in text.cc. fmt's own headers cost four seconds per file, so no other file
// includes them; this header costs a tenth of a second. fmt's names are in a namespace of Kymo, so that libkymo.a never
// conflicts with another version of fmt in the program that links it.
#pragma once

#define FMT_BEGIN_NAMESPACE \
  namespace fmt {           \
  inline namespace for_kymo {
#define FMT_END_NAMESPACE \
  }                       \
  }
#include <fmt/core.h>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::base {

// A literal that matches the values. Functions that pass a format string on take it.
template <typename... Args>
using FormatString = fmt::format_string<Args...>;

// The implementation of the templates below.
std::string format_arguments(fmt::string_view format, fmt::format_args arguments);
void append_arguments(std::string& out, fmt::string_view format, fmt::format_args arguments);

template <typename... Args>
std::string format(FormatString<Args...> format, Args&&... args) {
  return format_arguments(format, fmt::make_format_args(args...));
}

// The same, appended to `out`.
template <typename... Args>
void format_to(std::string& out, FormatString<Args...> format, Args&&... args) {
  append_arguments(out, format, fmt::make_format_args(args...));
}

// The texts of the items, with `separator` between them.
template <typename Items>
std::string join(const Items& items, std::string_view separator) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += separator;
    is_first = false;
    if constexpr (std::convertible_to<decltype(item), std::string_view>) {
      text += std::string_view(item);
    } else {
      format_to(text, "{}", item);
    }
  }
  return text;
}

// The parts between the separators: one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);

// Two lowercase digits per byte.
std::string hex(std::span<const uint8_t> bytes);
inline std::string hex(std::span<const std::byte> bytes) {
  return hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

// A buffer for building large texts: like a std::string, but its bytes are not cleared before they are written.
class TextBuffer {
 public:
  size_t size() const noexcept { return size_; }
  const char* data() const noexcept { return bytes_.get(); }
  std::string_view view() const noexcept { return {bytes_.get(), size_}; }
  std::string string() const { return std::string(view()); }
  void clear() noexcept { size_ = 0; }  // keeps the memory

  void push_back(char c) { *extend(1) = c; }
  // By far the most frequent call of an export: a literal becomes one or two stores.
  void append(std::string_view text) {
    if (!text.empty()) std::memcpy(extend(text.size()), text.data(), text.size());
  }
  // Several texts at once: the capacity is checked once, and literals are still stores.
  template <std::convertible_to<std::string_view>... Texts>
  void append(std::string_view first, std::string_view second, const Texts&... others) {
    char* to = extend(((first.size() + second.size()) + ... + std::string_view(others).size()));
    const auto copy = [&to](std::string_view text) {
      if (!text.empty()) std::memcpy(to, text.data(), text.size());
      to += text.size();
    };
    copy(first);
    copy(second);
    (copy(others), ...);
  }
  template <std::integral Number>
  void append_number(Number number, int radix = 10) {
    constexpr size_t kLongest = std::numeric_limits<uint64_t>::digits + 1;
    append_in_place(kLongest, [&](char* to) { return std::to_chars(to, to + kLongest, number, radix).ptr; });
  }
  // Up to `max` bytes: `write` puts them where its argument points, and returns their end.
  template <typename Write>
  void append_in_place(size_t max, Write&& write) {
    if (capacity_ - size_ < max) grow(max);
    char* const place = bytes_.get() + size_;
    size_ += static_cast<size_t>(write(place) - place);
  }

  // Adds `count` bytes, which the caller must write.
  char* extend(size_t count) {
    if (capacity_ - size_ < count) grow(count);
    char* const place = bytes_.get() + size_;
    size_ += count;
    return place;
  }

 private:
  void grow(size_t count);

  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

// The shortest digits that give the same number when read.
void append_shortest(TextBuffer& out, double number);

void append_arguments(TextBuffer& out, fmt::string_view format, fmt::format_args arguments);

// The same as for a string.
template <typename... Args>
void format_to(TextBuffer& out, FormatString<Args...> format, Args&&... args) {
  append_arguments(out, format, fmt::make_format_args(args...));
}

// Character classes for source text, independent of the locale.
constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

}  // namespace kymo::base
