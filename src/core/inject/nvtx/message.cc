#include "inject/nvtx/message.h"

#include <string.h>

#include "inject/nvtx/domain.h"

namespace kymo::inject::nvtx {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

}  // namespace

size_t put_utf8(char* to, uint32_t point) noexcept {
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) point = kReplacement;
  if (point < 0x80) {
    to[0] = static_cast<char>(point);
    return 1;
  }
  const size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = length; i-- > 1; point >>= 6) to[i] = static_cast<char>(0x80 | (point & 0x3f));
  to[0] = static_cast<char>((0xf00 >> length) | point);
  return length;
}

Text::Text(const char* ascii) noexcept { set(ascii); }
Text::Text(const wchar_t* wide) noexcept { set(wide); }

Text::Text(int32_t type, const MessageValue& value) noexcept {
  view_ = kUnnamed;
  if (type == kAscii) set(value.ascii);
  if (type == kWide) set(value.wide);
  if (type == kRegistered && value.registered != nullptr) set(*value.registered);
}

void Text::set(const RegisteredString& string) noexcept {
  view_ = {string.site.label.name, string.site.label.name_length};
}

void Text::set(const char* ascii) noexcept {
  if (ascii == nullptr) {
    view_ = kUnnamed;
    return;
  }
  size_t size = strnlen(ascii, kMaxTextBytes + 1);
  if (size > kMaxTextBytes) {  // not inside of a character
    size = kMaxTextBytes;
    for (int i = 0; i < 3 && (static_cast<uint8_t>(ascii[size]) & 0xc0) == 0x80; ++i) --size;
  }
  view_ = {ascii, size};
}

void Text::set(const wchar_t* wide) noexcept {
  view_ = kUnnamed;
  if (wide == nullptr) return;
  size_t size = 0;
  for (; *wide != L'\0' && size < kMaxConvertedBytes; ++wide)
    size += put_utf8(buffer_ + size, static_cast<uint32_t>(*wide));
  buffer_[size] = '\0';
  view_ = {buffer_, size};
}

std::string_view Text::as_name() noexcept {
  if (view_.find_first_of("{}") == std::string_view::npos) return view_;
  size_t size = 0;
  for (const char byte : view_) {
    const bool is_brace = byte == '{' || byte == '}';
    if (size + (is_brace ? 2 : 1) > kMaxTextBytes) break;
    name_[size++] = byte;
    if (is_brace) name_[size++] = byte;
  }
  return {name_, size};
}

}  // namespace kymo::inject::nvtx
