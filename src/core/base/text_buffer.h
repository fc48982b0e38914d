// A buffer for building large texts: like a std::string, but its bytes are not cleared before they are written.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.h"

namespace kymo::base {

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

}  // namespace kymo::base
