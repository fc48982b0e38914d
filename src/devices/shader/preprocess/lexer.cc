#include "shader/preprocess/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace kymo::shader {

namespace {

// Takes the next word or number from the text; empty at its end.
std::string_view unroll_next_word(std::string_view& text) {
  constexpr std::string_view kBetween = " \t(),";
  text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
  const std::string_view found = text.substr(0, text.find_first_of(kBetween));
  text.remove_prefix(found.size());
  return found;
}

uint16_t unroll_count(std::string_view word) {
  if (word.empty() || word == "full" || word == "enable") return kUnrollAll;
  if (word == "disable") return kNeverUnroll;
  uint16_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  return error == std::errc() && end == word.data() + word.size() ? count : kNoUnrollWish;
}

enum class CharClass : uint8_t { Unknown, Space, NewLine, Letter, Digit, Quote, Punctuation };

constexpr std::array<CharClass, 256> kCharClasses = [] {
  std::array<CharClass, 256> classes{};
  const auto set = [&](std::string_view characters, CharClass value) {
    for (const char c : characters) classes[static_cast<unsigned char>(c)] = value;
  };
  set(" \t\v\f\r", CharClass::Space);
  set("\n", CharClass::NewLine);
  set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", CharClass::Letter);
  set("0123456789", CharClass::Digit);
  set("\"'", CharClass::Quote);
  set("+-*/%=!<>&|^~?:;,.()[]{}#", CharClass::Punctuation);
  return classes;
}();

CharClass char_class(char c) { return kCharClasses[static_cast<unsigned char>(c)]; }
bool is_word_char(char c) { return char_class(c) == CharClass::Letter || char_class(c) == CharClass::Digit; }

// Of those with more than one character; ">>" is not among them (TokenKind).
constexpr std::string_view kLongPunctuators[] = {"<<=", ">>=", "...", "->*", "->", "++", "--", "+=", "-=",
                                                 "*=",  "/=",  "%=",  "==",  "!=", "<<", "<=", ">=", "&&",
                                                 "&=",  "||",  "|=",  "^=",  "::", ".*", "##"};

constexpr std::array<bool, 256> kBeginsLongPunctuator = [] {
  std::array<bool, 256> begins{};
  for (const std::string_view one : kLongPunctuators) begins[static_cast<unsigned char>(one[0])] = true;
  return begins;
}();

size_t punctuator_length(std::string_view text) {
  if (!kBeginsLongPunctuator[static_cast<unsigned char>(text[0])]) return 1;
  if (text.size() < 2 || char_class(text[1]) != CharClass::Punctuation) return 1;
  for (const std::string_view one : kLongPunctuators) {
    if (text.starts_with(one)) return one.size();
  }
  return 1;
}

// Words that C++ takes for operators. Most words have none of their beginnings.
std::string_view operator_word(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"and", "&&"},  {"or", "||"},     {"not", "!"},    {"xor", "^"},     {"bitand", "&"}, {"bitor", "|"},
      {"compl", "~"}, {"and_eq", "&="}, {"or_eq", "|="}, {"xor_eq", "^="}, {"not_eq", "!="}};
  if (word.size() < 2 || word.size() > 6) return {};
  const char first = word[0], second = word[1];
  const bool may_be = (first == 'a' && second == 'n') || (first == 'o' && second == 'r') ||
                      (second == 'o' && (first == 'n' || first == 'x' || first == 'c')) ||
                      (first == 'b' && second == 'i');
  if (!may_be) return {};
  for (const auto& [name, op] : kWords) {
    if (word == name) return op;
  }
  return {};
}

// How much of a text is a number as the preprocessor sees it: it may be nonsense until it is pasted to something.
size_t number_length(std::string_view text) {
  size_t at = 1;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (is_word_char(c) || c == '.') continue;
    const char before = static_cast<char>(text[at - 1] | 0x20);
    if ((c == '+' || c == '-') && (before == 'e' || before == 'p')) continue;
    if (c == '\'' && at + 1 < text.size() && is_word_char(text[at + 1])) continue;
    break;
  }
  return at;
}

}  // namespace

Lexer::Lexer(std::string_view text, uint32_t file, std::deque<std::string>& texts, Diagnostics& diagnostics)
    : text_(text), original_(text), file_(file), texts_(texts), diagnostics_(diagnostics) {
  remove_joins();
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the mark that some editors begin a file with
}

// A token may continue after a backslash at the end of a line. These line ends are removed first, and their positions
// are stored, so that no other code handles them.
void Lexer::remove_joins() {
  std::string joined;
  size_t kept = 0;
  for (size_t at = 0; (at = original_.find('\\', at)) != std::string_view::npos;) {
    const size_t end = original_.find_first_not_of(" \t\v\f\r", at + 1);
    if (end == std::string_view::npos) break;
    if (original_[end] == '\n') {
      joined.append(original_, kept, at - kept);
      kept = end + 1;
      joins_.push_back({joined.size(), kept});
    }
    at = end;
  }
  if (joins_.empty()) return;
  joined.append(original_, kept);
  text_ = texts_.emplace_back(std::move(joined));
}

Location Lexer::here() const { return {file_, line_, static_cast<uint32_t>(at_ - line_begin_ + 1)}; }

void Lexer::fault(const Location& at, std::string text) {
  if (!muted_) diagnostics_.error(at, std::move(text));
}

void Lexer::catch_up(size_t at) {
  for (; next_join_ < joins_.size() && joins_[next_join_].at <= at; ++next_join_) {
    ++line_;
    line_begin_ = joins_[next_join_].at;
  }
}

void Lexer::new_line(size_t begin) {
  catch_up(begin - 1);
  ++line_;
  line_begin_ = begin;
}

void Lexer::skip_comment() {
  catch_up(at_);
  const Location begin = here();
  size_t end = text_.find("*/", at_ + 2);
  if (end == std::string_view::npos) {
    fault(begin, "this comment does not end: \"*/\" is missing");
    end = text_.size();
  } else {
    end += 2;
  }
  skip_to(end);
}

void Lexer::skip_to(size_t end) {
  const std::string_view skipped = text_.substr(0, end);
  while ((at_ = skipped.find('\n', at_)) != std::string_view::npos) new_line(++at_);
  at_ = end;
}

bool Lexer::skip_space(bool in_line) {
  for (; at_ < text_.size(); space_before_ = true) {
    const char c = text_[at_];
    const CharClass kind = char_class(c);
    if (kind == CharClass::Space) {
      ++at_;
    } else if (kind == CharClass::NewLine) {
      if (in_line) return false;
      new_line(++at_);
      line_start_ = true;
    } else if (c == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && peek(1) == '*') {
      skip_comment();
    } else {
      catch_up(at_);
      return true;
    }
  }
  catch_up(at_);
  return false;
}

Token Lexer::next() {
  Token token;
  while (skip_space(false)) {
    if (scan(token)) return token;
  }
  token.at = here();
  token.line_start = true;
  return token;
}

bool Lexer::next_in_line(Token& token) {
  while (skip_space(true)) {
    if (scan(token)) return true;
  }
  return false;
}

std::string_view Lexer::rest_of_line() {
  const bool was_muted = std::exchange(muted_, true);
  skip_space(true);
  const size_t begin = at_;
  size_t end = at_;
  for (Token token; next_in_line(token);) end = at_;
  muted_ = was_muted;
  return text_.substr(begin, end - begin);
}

bool Lexer::scan(Token& token) {
  token.at = here();
  token.space_before = std::exchange(space_before_, false);
  token.line_start = line_start_;
  const std::string_view rest = text_.substr(at_);
  size_t length = 1;
  switch (char_class(rest[0])) {
    case CharClass::Letter: {
      while (length < rest.size() && is_word_char(rest[length])) ++length;
      if (length == 1 && rest.starts_with("R\"")) {
        scan_raw_string(token);
        line_start_ = false;
        return true;
      }
      token.text = rest.substr(0, length);
      token.kind = operator_word(token.text).empty() ? TokenKind::Identifier : TokenKind::Punctuator;
      break;
    }
    case CharClass::Digit:
      token.kind = TokenKind::Integer;
      length = number_length(rest);
      token.text = rest.substr(0, length);
      break;
    case CharClass::Punctuation:
      if (rest[0] == '.' && char_class(peek(1)) == CharClass::Digit) {
        token.kind = TokenKind::Float;
        length = number_length(rest);
      } else {
        token.kind = TokenKind::Punctuator;
        length = punctuator_length(rest);
      }
      token.text = rest.substr(0, length);
      break;
    case CharClass::Quote:
      scan_quoted(token);
      length = 0;
      break;
    default:
      skip_unknown();
      space_before_ = true;
      return false;
  }
  at_ += length;
  line_start_ = false;
  return true;
}

void Lexer::scan_quoted(Token& token) {
  const char quote = text_[at_];
  const bool is_string = quote == '"';
  token.kind = is_string ? TokenKind::String : TokenKind::Character;
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || text_[end] == '\n') {
    fault(token.at, is_string ? "this string does not end in its line: '\"' is missing"
                              : "this character does not end in its line: \"'\" is missing");
    token.text = is_string ? "\"\"" : "' '";
    at_ = std::min(text_.find('\n', at_), text_.size());
    return;
  }
  token.text = text_.substr(at_, end + 1 - at_);
  at_ = end + 1;
  if (!is_string && token.text.size() == 2) {
    fault(token.at, "there is no character between the quotes");
    token.text = "' '";
  }
}

// Here a backslash at the end of a line is nothing but that, so the text is taken as it was before joining.
void Lexer::scan_raw_string(Token& token) {
  constexpr size_t kLongestMark = 16;
  token.kind = TokenKind::String;
  const Join before = next_join_ == 0 ? Join{0, 0} : joins_[next_join_ - 1];
  const std::string_view rest = original_.substr(at_ - before.at + before.original);
  const size_t open = rest.substr(0, kLongestMark + 3).find('(');
  const std::string_view mark = rest.substr(2, open == std::string_view::npos ? 0 : open - 2);
  const bool has_mark =
      open != std::string_view::npos && mark.find_first_of(" )\\\"\t\v\f\r\n") == std::string_view::npos;
  if (!has_mark) {
    fault(token.at, "a raw string begins with R\"( or R\"mark(, where the mark has at most 16 characters");
    token.text = "\"\"";
    at_ = std::min(text_.find('\n', at_), text_.size());
    return;
  }
  const std::string closing = base::format("){}\"", mark);
  const size_t close = rest.find(closing, open);
  if (close == std::string_view::npos)
    fault(token.at, base::format("this raw string does not end: {} is missing", closing));
  std::string quoted = "\"";
  for (const char c : rest.substr(open + 1, close == std::string_view::npos ? close : close - open - 1)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
  token.text = texts_.emplace_back(quoted + '"');

  size_t end = text_.size();
  if (close != std::string_view::npos) {
    const size_t original_end = rest.data() - original_.data() + close + closing.size();
    Join last = before;
    for (size_t i = next_join_; i < joins_.size() && joins_[i].original <= original_end; ++i) last = joins_[i];
    end = original_end - last.original + last.at;
  }
  skip_to(end);
}

void Lexer::skip_unknown() {
  const Location at = here();
  const auto byte = static_cast<unsigned char>(text_[at_]);
  while (at_ < text_.size() && char_class(text_[at_]) == CharClass::Unknown) ++at_;
  if (!muted_ && diagnostics_.is_full()) return skip_to(text_.size());  // this is not a source
  if (byte == '\\') {
    fault(at, "a backslash is allowed only at the end of a line, to join it with the next");
  } else if (byte > ' ' && byte < 0x7f) {
    fault(at, base::format("the character '{}' (byte 0x{:02x}) has no meaning outside of comments and strings",
                           static_cast<char>(byte), byte));
  } else {
    fault(at, base::format("the byte 0x{:02x} has no meaning outside of comments and strings: only ASCII does", byte));
  }
}

void spell_operator(Token& token) {
  if (token.kind == TokenKind::Punctuator && char_class(token.text[0]) == CharClass::Letter)
    token.text = operator_word(token.text);
}

bool lex_one(std::string_view text, std::deque<std::string>& texts, Token& token) {
  const SourceFiles no_files;
  Diagnostics nobody_reads(no_files);
  Lexer lexer(text, 0, texts, nobody_reads);
  Token second;
  return lexer.next_in_line(token) && !lexer.next_in_line(second) && !nobody_reads.has_errors();
}

uint16_t unroll_wish(std::string_view pragma) {
  std::string_view word = unroll_next_word(pragma);
  const bool is_list = word == "clang" && unroll_next_word(pragma) == "loop";  // of wishes: vectorize(…) unroll(…)
  if (is_list) word = unroll_next_word(pragma);
  for (; !word.empty(); word = unroll_next_word(pragma)) {
    if (word == "nounroll") return kNeverUnroll;
    if (word == "unroll" || word == "unroll_count") return unroll_count(unroll_next_word(pragma));
    if (!is_list) break;
  }
  return kNoUnrollWish;
}

}  // namespace kymo::shader
