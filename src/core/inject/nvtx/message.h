// The text of a message, in UTF-8 and as a name of Kymo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "inject/nvtx/abi.h"
#include "record/layout.h"

namespace kymo::inject::nvtx {

inline constexpr std::string_view kUnnamed = "(no message)";
// Longer messages are shortened. A name that the registry does not take would be stored with each event, and readers
// could not tell such names apart.
inline constexpr size_t kMaxTextBytes = record::kMaxInternedName;
inline constexpr size_t kMaxConvertedBytes =
    kMaxTextBytes - 4;  // of a wide text: the last character may have four bytes

// Appends one code point, up to four bytes; what is none becomes the replacement character. Returns the number of
// bytes.
size_t put_utf8(char* to, uint32_t point) noexcept;

// A text on the stack.
class Text {
 public:
  Text() noexcept : view_(kUnnamed) {}
  // A null pointer is a missing message.
  explicit Text(const char* ascii) noexcept;
  explicit Text(const wchar_t* wide) noexcept;
  Text(int32_t type, const MessageValue& value) noexcept;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::string_view view() const noexcept { return view_; }
  void set_view(std::string_view text) noexcept { view_ = text; }  // `text` must outlive this
  const char* c_str() const noexcept {
    return view_.data();
  }  // the same; the whole text, even if the view is truncated
  // The same with braces doubled, for an event with arguments: otherwise readers put the arguments into them.
  std::string_view as_name() noexcept;

 private:
  void set(const char* ascii) noexcept;
  void set(const wchar_t* wide) noexcept;
  void set(const RegisteredString& string) noexcept;

  std::string_view view_;
  char buffer_[kMaxConvertedBytes + 8];
  char name_[2 * kMaxConvertedBytes + 8];
};

}  // namespace kymo::inject::nvtx
