#include "convert/json_list.h"

#include <cstddef>
#include <string>

#include "base/utf8.h"

namespace kymo::convert {

namespace {

constexpr int kDeepest = 64;

class ListChecker {
 public:
  explicit ListChecker(std::string_view text) : text_(text) {}

  bool passes() {
    skip_blanks();
    if (!list(0)) return false;
    skip_blanks();
    return at_ == text_.size();
  }

 private:
  bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!is_next(c)) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_blanks() {
    while (is_next(' ')) ++at_;
  }

  bool list(int depth) {
    if (depth >= kDeepest || !take('[')) return false;
    skip_blanks();
    if (take(']')) return true;
    do {
      skip_blanks();
      if (!item(depth)) return false;
      skip_blanks();
    } while (take(','));
    return take(']');
  }

  bool item(int depth) {
    if (is_next('[')) return list(depth + 1);
    if (is_next('"')) return string();
    return take("true") || take("false") || take("null") || number();
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < ' ' || (c == '\\' && !escape())) return false;
    }
    return false;
  }
  // Leaves its last character to the caller.
  bool escape() {
    if (++at_ >= text_.size()) return false;
    if (text_[at_] != 'u') return std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos;
    for (int i = 0; i < 4; ++i) {
      const std::string_view kHex = "0123456789abcdefABCDEF";
      if (++at_ >= text_.size() || kHex.find(text_[at_]) == std::string_view::npos) return false;
    }
    return true;
  }

  size_t digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - begin;
  }
  bool number() {
    take('-');
    const bool starts_with_zero = is_next('0');
    const size_t whole = digits();
    if (whole == 0 || (starts_with_zero && whole > 1)) return false;
    if (take('.') && digits() == 0) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits() != 0;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool is_json_list(std::string_view untrusted) {
  if (!ListChecker(untrusted).passes()) return false;
  std::string room;
  return base::valid_utf8(untrusted, room).data() == untrusted.data();
}

}  // namespace kymo::convert
