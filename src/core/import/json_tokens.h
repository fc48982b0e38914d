// Walks over the tokens of a JSON text: brackets, colons, commas, and the first characters of strings and other values.
// simdjson finds them. Nothing is built from them: what a reader does not need costs it only the step over the tokens.
#pragma once

#include <simdjson.h>

#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "import/json_numbers.h"
#include "import/json_unescape.h"

namespace kymo::import {

class JsonTokens {
 public:
  struct Invalid {};  // thrown by all functions: the text is not valid JSON

  // The text must have SIMDJSON_PADDING bytes after it, which become zero.
  void start(char* text, size_t size) {
    // The next size is larger than the text, so that pieces of similar sizes need no new memory.
    if (tokens_ == nullptr || tokens_->capacity() < size) {
      constexpr size_t kDepth = 1;  // only simdjson's own second stage needs more
      if (simdjson::get_active_implementation()->create_dom_parser_implementation(size + size / 8, kDepth, tokens_) !=
          simdjson::SUCCESS)
        throw std::bad_alloc();
    }
    std::memset(text + size, 0, simdjson::SIMDJSON_PADDING);
    if (tokens_->stage1(reinterpret_cast<const uint8_t*>(text), size, simdjson::stage1_mode::regular) !=
        simdjson::SUCCESS)
      throw Invalid();
    text_ = text;
    uint32_t* const end = tokens_->structural_indexes.get() + tokens_->n_structural_indexes;
    end[0] = end[1] = static_cast<uint32_t>(size);  // as simdjson leaves them; a zero follows the text
    at_ = tokens_->structural_indexes.get();
    end_ = end;
    has_escapes_ = std::memchr(text, '\\', size) != nullptr;
  }

  // A place among the tokens, to return to.
  using Place = const uint32_t*;
  Place place() const { return at_; }
  void go_to(Place place) { at_ = place; }
  bool is_at_end() const { return at_ == end_; }

  char token() const { return text_[*at_]; }  // 0 at the end
  void expect(char c) {
    if (token() != c) throw Invalid();
    ++at_;
  }
  // True: a comma follows. False: the end of the object or list.
  bool goes_on(char closing) {
    const char c = token();
    if (c != ',' && c != closing) throw Invalid();
    ++at_;
    return c == ',';
  }

  // From the first character of the token to the last one that is not blank.
  [[gnu::always_inline]] std::string_view take_raw() {
    const char* const begin = text_ + at_[0];
    const char* end = text_ + at_[1];
    while (end != begin && end[-1] <= ' ' && is_blank(end[-1])) --end;
    ++at_;
    return {begin, static_cast<size_t>(end - begin)};
  }

  [[gnu::always_inline]] std::string_view take_text() {
    const std::string_view raw = take_raw();
    if (raw.size() < 2 || raw.back() != '"') throw Invalid();
    const std::string_view text(raw.data() + 1, raw.size() - 2);
    return has_escapes_ ? without_escapes(text) : text;
  }

  void next() { ++at_; }
  bool is_number() const { return is_digit(token()) || token() == '-'; }

  // Steps over a value of any type.
  void skip() {
    if (is_number() || token() == '"') {
      ++at_;
      return;
    }
    skip_long();
  }

  // "true", "false" or "null".
  void check_word() {
    if (at_ == end_) throw Invalid();
    const std::string_view word = take_raw();
    if (word != "true" && word != "false" && word != "null") throw Invalid();
    --at_;
  }

  // Strings may be numbers: some writers quote their times and ids.
  std::string_view take_number_text() {
    if (is_number()) return take_raw();
    if (token() == '"') return take_text();
    skip();
    return {};
  }

  // Calls read(key) for each member, which takes the value.
  template <typename Read>
  void read_members(Read&& read) {
    if (token() != '{') return skip();
    ++at_;
    if (token() == '}') {
      ++at_;
      return;
    }
    do {
      if (token() != '"') throw Invalid();
      const std::string_view key = take_text();
      expect(':');
      read(key);
    } while (goes_on('}'));
  }

  // The token with the blanks after it. take_raw() is without them.
  std::string_view token_text() const { return {text_ + at_[0], at_[1] - at_[0]}; }
  // From `begin` to the last token that was taken, which is a bracket.
  std::string_view text_since(Place begin) const { return {text_ + *begin, at_[-1] + 1 - *begin}; }
  // Ends the life of texts that had escapes.
  void forget_texts() { texts_.clear(); }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  [[gnu::noinline]] std::string_view without_escapes(std::string_view text) {
    return text.find('\\') == text.npos ? text : texts_.emplace_back(unescaped_json(text));
  }

  void skip_long() {
    uint32_t depth = 0;
    do {
      switch (token()) {
        case '{':
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          if (depth == 0) throw Invalid();
          --depth;
          break;
        case ',':
        case ':':
          if (depth == 0) throw Invalid();
          break;
        case '"':
          break;
        default:
          if (!is_number()) check_word();
      }
      ++at_;
    } while (depth != 0);
  }

  std::unique_ptr<simdjson::internal::dom_parser_implementation> tokens_;
  char* text_ = nullptr;
  Place at_ = nullptr, end_ = nullptr;
  bool has_escapes_ = false;
  std::deque<std::string> texts_;  // those with escapes
};

}  // namespace kymo::import
