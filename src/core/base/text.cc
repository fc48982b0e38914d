#define FMT_HEADER_ONLY
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/hex.h"

namespace kymo::base {

std::string format_arguments(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

void append_arguments(std::string& out, fmt::string_view format, fmt::format_args arguments) {
  fmt::vformat_to(std::back_inserter(out), format, arguments);
}

void append_arguments(TextBuffer& out, fmt::string_view format, fmt::format_args arguments) {
  fmt::memory_buffer text;
  fmt::vformat_to(std::back_inserter(text), format, arguments);
  out.append({text.data(), text.size()});
}

void append_shortest(TextBuffer& out, double number) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "{}", number);
  out.append({text.data(), text.size()});
}

void TextBuffer::grow(size_t count) {
  constexpr size_t kSmallest = 256;
  const size_t larger = std::max({kSmallest, capacity_ * 2, size_ + count});
  std::unique_ptr<char[]> bytes = std::make_unique_for_overwrite<char[]>(larger);
  if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = larger;
}

std::string hex(std::span<const uint8_t> bytes) {
  std::string text(2 * bytes.size(), '\0');
  put_hex(text.data(), bytes.data(), bytes.size());
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace kymo::base
