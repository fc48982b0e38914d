#include "base/json_value.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::base {
namespace {

bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

size_t json_digits(std::string_view text, size_t at) {
  const size_t begin = at;
  while (at < text.size() && is_json_digit(text[at])) ++at;
  return at - begin;
}

// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_json_number(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t whole = json_digits(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const size_t digits = json_digits(text, ++at);
    if (digits == 0) return false;
    at += digits;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t digits = json_digits(text, at);
    if (digits == 0) return false;
    at += digits;
  }
  return at == text.size();
}

void append_utf8(std::string& out, uint32_t code) {
  const auto byte = [&](uint32_t bits) { out += static_cast<char>(bits); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xe0 | code >> 12);
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
    }
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

}  // namespace

class JsonParser {
 public:
  explicit JsonParser(std::string_view untrusted) : text_(untrusted) {}

  JsonValue whole() {
    JsonValue value = any(0);
    skip_blanks();
    if (at_ != text_.size()) refuse("something follows");
    return value;
  }

 private:
  static constexpr int kDeepest = 16;

  [[noreturn]] void refuse(std::string_view why) const {
    throw Error(base::format("this is no JSON at byte {}: {}", at_, why));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool follows(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  JsonValue any(int depth) {
    if (depth > kDeepest) refuse("it is nested too deep");
    JsonValue value;
    if (follows('{')) {
      value.kind_ = JsonValue::Kind::Object;
      members(value, depth);
    } else if (follows('[')) {
      value.kind_ = JsonValue::Kind::List;
      if (follows(']')) return value;
      do value.items_.push_back(any(depth + 1));
      while (follows(','));
      if (!follows(']')) refuse("a list does not end");
    } else if (follows('"')) {
      value.kind_ = JsonValue::Kind::Text;
      value.text_ = rest_of_string();
    } else {
      word(value);
    }
    return value;
  }

  void members(JsonValue& object, int depth) {
    if (follows('}')) return;
    do {
      if (!follows('"')) refuse("a member has no name");
      object.names_.push_back(rest_of_string());
      if (!follows(':')) refuse("a member has no value");
      object.items_.push_back(any(depth + 1));
    } while (follows(','));
    if (!follows('}')) refuse("an object does not end");
    std::vector<std::string_view> names(object.names_.begin(), object.names_.end());
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end()) refuse("a member is named twice");
  }

  void word(JsonValue& value) {
    constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyzE0123456789+-.";
    const size_t begin = at_;
    while (at_ < text_.size() && kWordLetters.find(text_[at_]) != std::string_view::npos) ++at_;
    const std::string_view letters = text_.substr(begin, at_ - begin);
    if (letters == "null") return;
    if (letters == "true" || letters == "false") {
      value.kind_ = letters == "true" ? JsonValue::Kind::True : JsonValue::Kind::False;
      return;
    }
    if (!is_json_number(letters)) refuse("no value");
    value.kind_ = JsonValue::Kind::Number;
    value.text_ = letters;
  }

  std::string rest_of_string() {
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < ' ') refuse("a control character");
      if (c == '\\') {
        append_utf8(text, escaped());
      } else {
        text += c;
      }
    }
    if (at_ >= text_.size()) refuse("a text does not end");
    ++at_;
    return text;
  }

  uint32_t escaped() {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const size_t known = kNames.find(c); c != '\0' && known != std::string_view::npos) {
      return static_cast<uint32_t>(kMeant[known]);
    }
    if (c != 'u') refuse("an escape");
    const uint32_t code = four_digits();
    if (code < 0xd800 || code > 0xdfff) return code;
    // The first half of a pair; the second must follow.
    if (code > 0xdbff || text_.substr(at_, 2) != "\\u") refuse("an escape");
    at_ += 2;
    const uint32_t low = four_digits();
    if (low < 0xdc00 || low > 0xdfff) refuse("an escape");
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }

  uint32_t four_digits() {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc{} || end != digits.data() + 4) refuse("an escape");
    at_ += 4;
    return code;
  }

  std::string_view text_;
  size_t at_ = 0;
};

namespace {

template <class T>
T whole_number(bool is_number, const std::string& text, std::string_view what) {
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (!is_number || error != std::errc{} || stopped != end) throw Error(base::format("{} is no whole number", what));
  return value;
}

}  // namespace

JsonValue JsonValue::parse(std::string_view untrusted) { return JsonParser(untrusted).whole(); }

const std::string& JsonValue::text(std::string_view what) const {
  if (kind_ != Kind::Text) throw Error(base::format("{} is no text", what));
  return text_;
}

uint64_t JsonValue::number(std::string_view what) const {
  return whole_number<uint64_t>(kind_ == Kind::Number, text_, what);
}

int64_t JsonValue::integer(std::string_view what) const {
  return whole_number<int64_t>(kind_ == Kind::Number, text_, what);
}

bool JsonValue::boolean(std::string_view what) const {
  if (kind_ != Kind::True && kind_ != Kind::False) throw Error(base::format("{} is neither true nor false", what));
  return kind_ == Kind::True;
}

const std::vector<JsonValue>& JsonValue::list(std::string_view what) const {
  if (kind_ != Kind::List) throw Error(base::format("{} is no list", what));
  return items_;
}

const JsonValue* JsonValue::find(std::string_view name) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return &items_[i];
  return nullptr;
}

const JsonValue& JsonValue::operator[](std::string_view name) const {
  if (const JsonValue* member = find(name)) return *member;
  throw Error(base::format("there is no \"{}\"", name));
}

std::string json_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      quoted += base::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace kymo::base
