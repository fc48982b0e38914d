#include "symbols/rust_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kymo::symbols {

namespace {

constexpr std::string_view basic_type(char tag) {
  constexpr std::string_view kTags = "abcdefhijlmnopstuvxyz";
  constexpr std::string_view kNames[] = {"i8",    "bool",  "char", "f64", "str",  "f32",  "u8",
                                         "isize", "usize", "i32",  "u32", "i128", "u128", "_",
                                         "i16",   "u16",   "()",   "...", "i64",  "u64",  "!"};
  const size_t at = kTags.find(tag);
  return at != kTags.npos ? kNames[at] : std::string_view();
}

class RustName {
 public:
  explicit RustName(std::string_view text) : text_(text) {}

  std::string run() {
    path(true);
    return is_good_ ? std::move(out_) : std::string();
  }

 private:
  static constexpr int kMaxDepth = 100, kMaxSteps = 10'000;
  static constexpr size_t kMaxBytes = 1 << 14;

  char next() { return at_ < text_.size() ? text_[at_++] : (is_good_ = false, '\0'); }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void add(std::string_view text) {
    if (!is_silent_) out_ += text;
    if (out_.size() > kMaxBytes) is_good_ = false;
  }

  // "_" is 0, "0_" is 1, and so on.
  uint64_t base62() {
    if (take('_')) return 0;
    uint64_t value = 0;
    while (is_good_ && !take('_')) {
      const char c = next();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'z' ? c - 'a' + 10
                        : c >= 'A' && c <= 'Z' ? c - 'A' + 36
                                               : -1;
      if (digit < 0) return is_good_ = false, 0;
      value = 62 * value + static_cast<uint64_t>(digit);
    }
    return value + 1;
  }
  uint64_t disambiguator() { return take('s') ? base62() + 1 : 0; }

  std::string_view identifier() {
    take('u');
    size_t bytes = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && bytes < text_.size())
      bytes = 10 * bytes + static_cast<size_t>(text_[at_++] - '0');
    take('_');
    if (bytes > text_.size() - at_) return is_good_ = false, std::string_view();
    at_ += bytes;
    return text_.substr(at_ - bytes, bytes);
  }

  // Reads what is at an earlier place.
  template <class Read>
  void refer(Read read) {
    const size_t tag = at_ - 1, to = base62();
    if (to >= tag) is_good_ = false;
    if (!enter()) return;
    const size_t back = at_;
    at_ = to;
    read();
    at_ = back;
    --depth_;
  }

  // False: too deep, or too long.
  bool enter() {
    is_good_ = is_good_ && ++depth_ < kMaxDepth && ++steps_ < kMaxSteps;
    return is_good_;
  }

  void path(bool is_value) {
    if (!enter()) return;
    switch (const char tag = next()) {
      case 'C':
        disambiguator();
        add(identifier());
        break;
      case 'N':
        nested(is_value);
        break;
      case 'M':
      case 'X':
      case 'Y':
        if (tag != 'Y') skip_impl();
        add("<");
        type();
        if (tag != 'M') add(" as "), path(false);
        add(">");
        break;
      case 'I':
        path(is_value);
        add(is_value ? "::<" : "<");
        list([this] { argument(); });
        add(">");
        break;
      case 'B':
        refer([&] { path(is_value); });
        break;
      default:
        is_good_ = false;
    }
    --depth_;
  }

  void nested(bool is_value) {
    const char kind = next();
    path(is_value);
    const uint64_t number = disambiguator();
    const std::string_view name = identifier();
    if (kind >= 'A' && kind <= 'Z') {
      add(kind == 'C' ? "::{closure" : kind == 'S' ? "::{shim" : "::{");
      if (!name.empty()) add(":"), add(name);
      add("#"), add(std::to_string(number)), add("}");
    } else if (!name.empty()) {
      add("::"), add(name);
    }
  }

  void skip_impl() {
    const bool before = is_silent_;
    is_silent_ = true;
    disambiguator();
    path(false);
    is_silent_ = before;
  }

  // Returns how many there are.
  template <class Read>
  size_t list(Read read, std::string_view separator = ", ") {
    size_t count = 0;
    for (; is_good_ && !take('E'); ++count) {
      if (count != 0) add(separator);
      read();
    }
    return count;
  }

  void argument() {
    if (take('L'))
      base62(), add("'_");
    else if (take('K'))
      constant();
    else
      type();
  }

  void constant() {
    if (take('B')) return refer([this] { constant(); });
    if (take('p')) return add("_");
    next();  // its type
    const size_t begin = at_;
    while (is_good_ && next() != '_') continue;
    if (!is_good_) return;
    std::string_view digits = text_.substr(begin, at_ - begin - 1);
    if (digits.starts_with('n')) add("-"), digits.remove_prefix(1);
    constexpr size_t kPlain = 15;
    if (digits.size() > kPlain) return add("0x"), add(digits);
    uint64_t value = 0;
    for (const char c : digits) value = 16 * value + static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    add(std::to_string(value));
  }

  void type() {
    if (!enter()) return;
    const char tag = next();
    const std::string_view basic = basic_type(tag);
    if (!basic.empty()) {
      add(basic);
    } else if (tag == 'R' || tag == 'Q') {
      if (take('L')) base62();
      add(tag == 'R' ? "&" : "&mut ");
      type();
    } else if (tag == 'P' || tag == 'O') {
      add(tag == 'P' ? "*const " : "*mut ");
      type();
    } else if (tag == 'A' || tag == 'S') {
      add("[");
      type();
      if (tag == 'A') add("; "), constant();
      add("]");
    } else if (tag == 'T') {
      add("(");
      add(list([this] { type(); }) == 1 ? ",)" : ")");
    } else if (tag == 'F') {
      function();
    } else if (tag == 'D') {
      add("dyn ");
      if (take('G')) base62();
      list([this] { trait(); }, " + ");
      if (take('L')) base62();
    } else if (tag == 'B') {
      refer([this] { type(); });
    } else {
      --at_;
      path(false);
    }
    --depth_;
  }

  void function() {
    if (take('G')) base62();
    take('U');
    if (take('K') && !take('C')) identifier();
    add("fn(");
    list([this] { type(); });
    add(")");
    if (!take('u')) add(" -> "), type();
  }

  void trait() {
    path(false);
    while (is_good_ && take('p')) {
      add("<"), add(identifier()), add(" = ");
      type();
      add(">");
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string out_;
  bool is_good_ = true, is_silent_ = false;
  int depth_ = 0, steps_ = 0;
};

}  // namespace

std::string demangled_rust(std::string_view name) {
  constexpr size_t kLongest = 1 << 16;
  if (name.size() < 3 || name.size() > kLongest || !name.starts_with("_R") || name[2] < 'A' || name[2] > 'Z') return {};
  return RustName(name.substr(2)).run();
}

}  // namespace kymo::symbols
