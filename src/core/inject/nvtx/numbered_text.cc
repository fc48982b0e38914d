#include "inject/nvtx/numbered_text.h"

#include <charconv>

namespace kymo::inject::nvtx {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool goes_on(char c) noexcept {
  return is_digit(c) || c == '.' || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

NumberedText::NumberedText(std::string_view text) noexcept {
  if (text.size() > kLongest / 2 || text.find('=') == text.npos || text.find_first_of("{}") != text.npos) return;
  bool is_value = false;  // an equals sign is before
  for (size_t at = 0; at < text.size();) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    const auto next = static_cast<size_t>(end - text.data());
    const bool is_whole = error == std::errc() && next > at && (next == text.size() || !goes_on(text[next]));
    if (is_value && is_whole && count_ < kMostNumbers) {
      args_[count_] = {nullptr, {}, 0, KYMO_UINT};
      args_[count_++].value.as_uint = number;
      name_[length_++] = '{';
      name_[length_++] = '}';
      at = next;
      is_value = false;
      continue;
    }
    is_value = text[at] == '=' || (is_value && text[at] == ' ');
    name_[length_++] = text[at++];
  }
}

}  // namespace kymo::inject::nvtx
