#include "capture/json_value.h"

#include <fmt/format.h>

#include <charconv>

#include "kymo/error.h"

namespace kymo::capture {

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
    throw Error(fmt::format("this is no JSON at byte {}: {}", at_, why));
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
  }

  void word(JsonValue& value) {
    constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyzE0123456789+-.";
    const size_t begin = at_;
    while (at_ < text_.size() && kWordLetters.find(text_[at_]) != std::string_view::npos) ++at_;
    const std::string_view letters = text_.substr(begin, at_ - begin);
    if (letters == "true" || letters == "false" || letters == "null") return;
    if (letters.empty() || (letters[0] != '-' && (letters[0] < '0' || letters[0] > '9'))) refuse("no value");
    value.kind_ = JsonValue::Kind::Number;
    value.text_ = letters;
  }

  std::string rest_of_string() {
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < ' ') refuse("a control character");
      text += c == '\\' ? escaped() : c;
    }
    if (at_ >= text_.size()) refuse("a text does not end");
    ++at_;
    return text;
  }

  // Kymo itself writes \u for controls alone; others' are refused, as no name in a manifest needs them.
  char escaped() {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const size_t known = kNames.find(c); c != '\0' && known != std::string_view::npos) return kMeant[known];
    unsigned code = 0;
    const std::string_view digits = c == 'u' ? text_.substr(std::min(at_, text_.size()), 4) : std::string_view();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc{} || end != digits.data() + 4 || code > 127) refuse("an escape");
    at_ += 4;
    return static_cast<char>(code);
  }

  std::string_view text_;
  size_t at_ = 0;
};

JsonValue JsonValue::parse(std::string_view untrusted) { return JsonParser(untrusted).whole(); }

const std::string& JsonValue::text(std::string_view what) const {
  if (kind_ != Kind::Text) throw Error(fmt::format("{} is no text", what));
  return text_;
}

uint64_t JsonValue::number(std::string_view what) const {
  uint64_t value = 0;
  const char* end = text_.data() + text_.size();
  const auto [stopped, error] = std::from_chars(text_.data(), end, value);
  if (kind_ != Kind::Number || error != std::errc{} || stopped != end)
    throw Error(fmt::format("{} is no whole number", what));
  return value;
}

const std::vector<JsonValue>& JsonValue::list(std::string_view what) const {
  if (kind_ != Kind::List) throw Error(fmt::format("{} is no list", what));
  return items_;
}

const JsonValue& JsonValue::operator[](std::string_view name) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return items_[i];
  throw Error(fmt::format("there is no \"{}\"", name));
}

std::string json_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace kymo::capture
