#include "shader/preprocess/literals.h"

#include <algorithm>
#include <climits>

#include "base/text.h"

namespace kymo::shader {

namespace {

// Parses a number from the left.
class NumberScanner {
 public:
  explicit NumberScanner(std::string_view text) : text_(text) {
    if (take_prefix("0x")) {
      base_ = 16;
    } else if (take_prefix("0b")) {
      base_ = 2;
    }
  }

  static int value_of(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    const char lower = static_cast<char>(digit | 0x20);
    return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : INT_MAX;
  }
  static bool is_digit(char c, int base) { return value_of(c) < base; }

  int base() const { return base_; }
  std::string_view rest() const { return text_.substr(at_); }

  // The number of digits, with ' between them where it is allowed.
  size_t take_digits(int base) {
    size_t count = 0;
    for (; at_ < text_.size(); ++at_) {
      const bool separates =
          text_[at_] == '\'' && count > 0 && at_ + 1 < text_.size() && is_digit(text_[at_ + 1], base);
      if (separates) continue;
      if (!is_digit(text_[at_], base)) break;
      ++count;
    }
    return count;
  }

  bool take_any(std::string_view of) {
    if (at_ == text_.size() || of.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }

  // After e or p. False: there are no digits.
  bool take_exponent() {
    take_any("+-");
    return take_digits(10) > 0;
  }

 private:
  bool take_prefix(std::string_view prefix) {
    if (text_.size() < 2 || text_[0] != prefix[0] || (text_[1] | 0x20) != prefix[1]) return false;
    at_ = 2;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  int base_ = 10;
};

bool is_integer_suffix(std::string_view suffix) {
  const auto is_u = [](char c) { return c == 'u' || c == 'U'; };
  if (!suffix.empty() && is_u(suffix.front())) {
    suffix.remove_prefix(1);
  } else if (!suffix.empty() && is_u(suffix.back())) {
    suffix.remove_suffix(1);
  }
  return suffix.empty() || suffix == "l" || suffix == "L" || suffix == "ll" || suffix == "LL";
}

bool is_float_suffix(std::string_view suffix) {
  static constexpr std::string_view kSuffixes[] = {"", "f", "F", "h", "H", "bf", "BF"};
  return std::find(std::begin(kSuffixes), std::end(kSuffixes), suffix) != std::end(kSuffixes);
}

NumberSpelling bad_number(TokenKind kind, std::string_view text, std::string_view why) {
  return {kind, base::format("\"{}\" is not a number: {}", text, why)};
}

}  // namespace

NumberSpelling spelling_of_number(std::string_view text) {
  NumberScanner in(text);
  const int base = in.base();
  const size_t whole = in.take_digits(base);
  const bool has_point = base != 2 && in.take_any(".");
  const size_t part = has_point ? in.take_digits(base) : 0;
  const bool has_exponent = base != 2 && in.take_any(base == 16 ? "pP" : "eE");
  const TokenKind kind = has_point || has_exponent ? TokenKind::Float : TokenKind::Integer;

  if (whole + part == 0) return bad_number(kind, text, "it has no digits");
  if (has_exponent && !in.take_exponent()) return bad_number(kind, text, "its exponent has no digits");
  const std::string_view suffix = in.rest();
  if (kind == TokenKind::Float) {
    if (base == 16 && !has_exponent)
      return bad_number(kind, text, "a hexadecimal number with a point needs p and an exponent");
    if (!is_float_suffix(suffix)) {
      return bad_number(kind, text, base::format("\"{}\" may not follow, only f, h or bf", suffix));
    }
    return {kind, ""};
  }
  if (!is_integer_suffix(suffix)) {
    if (base == 10 && is_float_suffix(suffix)) {
      const std::string_view digits = text.substr(0, text.size() - suffix.size());
      return bad_number(kind, text, base::format("write {}.0{}", digits, suffix));
    }
    return bad_number(kind, text, base::format("\"{}\" may not follow, only u and l", suffix));
  }
  const bool is_octal = base == 10 && text[0] == '0';
  const std::string_view digits = text.substr(0, text.size() - suffix.size());
  if (is_octal && digits.find_first_of("89") != std::string_view::npos) {
    return bad_number(kind, text, "after a leading 0 only the octal digits 0 to 7 are allowed");
  }
  if (!integer_value(text)) return bad_number(kind, text, "it takes more than 64 bits");
  return {kind, ""};
}

std::optional<IntegerValue> integer_value(std::string_view text) {
  NumberScanner in(text);
  int base = in.base();
  if (base == 10 && text.starts_with('0')) base = 8;
  IntegerValue result;
  const std::string_view all = in.rest();
  in.take_digits(in.base());
  const std::string_view suffix = in.rest();
  for (const char c : all.substr(0, all.size() - suffix.size())) {
    if (c == '\'') continue;
    if (!NumberScanner::is_digit(c, base)) return std::nullopt;
    if (__builtin_mul_overflow(result.value, static_cast<uint64_t>(base), &result.value) ||
        __builtin_add_overflow(result.value, static_cast<uint64_t>(NumberScanner::value_of(c)), &result.value)) {
      return std::nullopt;
    }
  }
  if (suffix.size() == all.size() || !is_integer_suffix(suffix)) return std::nullopt;
  result.is_unsigned = suffix.find_first_of("uU") != std::string_view::npos || result.value > INT64_MAX;
  result.is_long = suffix.find_first_of("lL") != std::string_view::npos;
  return result;
}

bool append_unescaped(std::string_view content, std::string& into) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"?", kValues = "\a\b\f\n\r\t\v\\'\"?";
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] != '\\') {
      into += content[i];
      continue;
    }
    if (++i == content.size()) return false;
    if (const size_t known = kLetters.find(content[i]); known != std::string_view::npos) {
      into += kValues[known];
      continue;
    }
    const bool is_hex = content[i] == 'x';
    const int base = is_hex ? 16 : 8;
    if (is_hex) ++i;
    int value = 0;
    size_t digits = 0;
    for (; i < content.size() && NumberScanner::is_digit(content[i], base) && (is_hex || digits < 3); ++i, ++digits) {
      value = value * base + NumberScanner::value_of(content[i]);
      if (value > UINT8_MAX) return false;
    }
    if (digits == 0) return false;
    into += static_cast<char>(value);
    --i;
  }
  return true;
}

std::optional<char> character_value(std::string_view text) {
  if (text.size() < 3 || text.front() != '\'' || text.back() != '\'') return std::nullopt;
  std::string value;
  if (!append_unescaped(text.substr(1, text.size() - 2), value) || value.size() != 1) return std::nullopt;
  return value[0];
}

}  // namespace kymo::shader
