#include "symbols/short_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>
#include <utility>

namespace kymo::symbols {

namespace {

constexpr size_t kLongestParsed = 1 << 16;
constexpr size_t kMaxBrackets = 200;  // brackets inside each other
constexpr std::string_view kDots = "…";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Characters, not bytes.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// The part of `text` that begins at `at`: true if it begins a word with this text.
bool is_word_at(std::string_view text, size_t at, std::string_view word) {
  return text.substr(at).starts_with(word) && (at == 0 || !is_word(text[at - 1])) &&
         (at + word.size() == text.size() || !is_word(text[at + word.size()]));
}

// The symbol after "operator", which may look like a bracket. Its length.
size_t symbol_bytes(std::string_view text) {
  constexpr std::string_view kAll[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "<<",
                                       ">>",  "<=",  ">=",  "->",  "<",  ">",  ","};
  for (const std::string_view symbol : kAll)
    if (text.starts_with(symbol)) return symbol.size();
  return 0;
}

// A text with its brackets.
struct Parsed {
  std::string_view text;
  std::vector<uint32_t> closing;  // by the place of an opening bracket; 0: no bracket
  bool is_good = false;

  explicit Parsed(std::string_view name) : text(name), closing(name.size()) {
    std::array<uint32_t, kMaxBrackets> open;
    size_t depth = 0, after_operator = text.size();
    const auto close = [&](char bracket, size_t at) {
      size_t found = depth;
      while (found != 0 && text[open[found - 1]] != bracket) --found;
      if (found == 0 || (bracket == '<' && found != depth)) return;
      depth = found - 1;
      closing[open[depth]] = static_cast<uint32_t>(at);
    };
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == 'o' && is_word_at(text, i, "operator")) {
        i += 7 + symbol_bytes(text.substr(i + 8));
        after_operator = i + 1;
        continue;
      }
      const bool compares = c == '<' && i != after_operator &&
                            ((i != 0 && text[i - 1] == ')') || text.substr(i + 1).starts_with('=') ||
                             (i != 0 && text[i - 1] == ' ' && text.substr(i + 1).starts_with(' ')));
      if ((c == '<' && !compares) || c == '(' || c == '[' || c == '{') {
        if (depth == kMaxBrackets) return;
        open[depth++] = static_cast<uint32_t>(i);
      } else if (c == ')' || c == ']' || c == '}') {
        close(c == ')' ? '(' : c == ']' ? '[' : '{', i);
      } else if (c == '>' && i != 0 && text[i - 1] != '-') {
        close('<', i);
      }
    }
    is_good = true;
  }

  // The place after the character or the bracket at `at`.
  size_t after(size_t at) const { return closing[at] != 0 ? closing[at] + size_t{1} : at + 1; }
};

// ---- What is left out always ---------------------------------------------------------------------------------------

// The argument of a template that has one: "int" of "std::less<int>".
std::string_view argument_of(std::string_view type, std::string_view templ) {
  if (!type.starts_with(templ) || !type.ends_with('>')) return {};
  type.remove_prefix(templ.size());
  return type.starts_with('<') ? type.substr(1, type.size() - 2) : std::string_view();
}

bool is_default(std::string_view argument, std::string_view first) {
  if (!argument_of(argument, "std::allocator").empty()) return true;
  for (const std::string_view one :
       {"std::less", "std::char_traits", "std::default_delete", "std::hash", "std::equal_to"})
    if (argument_of(argument, one) == first && !first.empty()) return true;
  return false;
}

class Tidy {
 public:
  explicit Tidy(const Parsed& parsed) : parsed_(parsed), text_(parsed.text) {}

  std::string run() const {
    std::string name;
    for (const auto& [begin, end] : parts_of_name()) name += render(begin, end);
    return name;
  }

 private:
  using Parts = std::vector<std::pair<size_t, size_t>>;

  // What may follow the parameters of a function.
  static bool may_follow(std::string_view rest) {
    for (const std::string_view one :
         {" const", " volatile", " &", " noexcept", " requires", " [clone", "[abi:", " ->"})
      if (rest.starts_with(one)) return true;
    return rest.empty() || rest.front() == '&' || rest.front() == '@' || rest.front() == '.';
  }

  // Without the result and the parameters, also of the functions around a local one. All of it if it is something else.
  Parts parts_of_name() const {
    const Parts all{{0, text_.size()}};
    Parts parts;
    constexpr std::string_view kThunk = "thunk to ";
    const size_t thunk = text_.substr(0, 2 * kThunk.size() + 4).find(kThunk);
    size_t begin = thunk != text_.npos ? thunk + kThunk.size() : 0;
    bool is_operator = false;
    for (size_t i = begin; i < text_.size(); i = parsed_.after(i)) {
      if (text_[i] == 'o' && is_word_at(text_, i, "operator")) {
        is_operator = true;
        i += 7 + symbol_bytes(text_.substr(i + 8));
        continue;
      }
      if (text_[i] == ' ' && !is_operator && parts.empty() && !text_.substr(0, i).ends_with("decltype")) begin = i + 1;
      if (text_[i] != '(' || parsed_.closing[i] == 0) continue;
      const std::string_view before = text_.substr(0, i);
      if (text_.substr(i).starts_with("(anonymous") || before.ends_with('.') || before.ends_with("decltype") ||
          before.ends_with("decltype "))
        continue;
      if (i == begin) return all;
      parts.emplace_back(begin, i);
      size_t next = parsed_.after(i);
      const std::string_view rest = text_.substr(next);
      const size_t scope = rest.find("::");
      if (scope != rest.npos && (scope == 0 || trimmed(rest.substr(0, scope)) == "const")) {
        begin = next + scope;
        is_operator = false;
        i = begin;  // a colon
        continue;
      }
      if (!may_follow(rest)) return all;
      if (rest.starts_with('@')) parts.emplace_back(next, text_.size());
      return parts;
    }
    return all;
  }

  std::string render(size_t begin, size_t end) const {
    std::string out;
    for (size_t i = begin; i < end; i = parsed_.after(i)) {
      const char c = text_[i];
      if (c == 'o' && is_word_at(text_, i, "operator")) {
        const size_t bytes = 8 + symbol_bytes(text_.substr(i + 8));
        out += text_.substr(i, bytes);
        i += bytes - 1;
        continue;
      }
      if (c == '_' && out.ends_with("std::")) {
        const std::string_view rest = text_.substr(i);
        size_t skipped = 0;
        for (const std::string_view one : {"__cxx11::", "__1::", "__ndk1::"})
          if (rest.starts_with(one)) skipped = one.size();
        if (skipped != 0) {
          i += skipped - 1;
          continue;
        }
      }
      if (c == 'g' && text_.substr(i).starts_with("go.shape.")) {
        i += 8;
        continue;
      }
      const size_t close = parsed_.closing[i];
      if (close == 0 || close >= end) {
        out += c;
        continue;
      }
      const std::string_view inside = text_.substr(i + 1, close - i - 1);
      if (c == '[' && (inside.starts_with("abi:") || inside.starts_with("clone "))) {
        while (out.ends_with(' ')) out.pop_back();
      } else if ((c == '{' || c == '<') && inside.starts_with("lambda(")) {
        const size_t number = inside.rfind('#');
        out += "{lambda" + std::string(number != inside.npos ? inside.substr(number) : "") + "}";
      } else if (c == '<') {
        add_arguments(i + 1, close, out);
      } else {
        out += c + render(i + 1, close) + text_[close];
      }
    }
    return out;
  }

  void add_arguments(size_t begin, size_t end, std::string& out) const {
    std::vector<std::string> all;
    size_t from = begin;
    for (size_t i = begin; i < end; i = parsed_.after(i)) {
      if (text_[i] != ',') continue;
      all.emplace_back(trimmed(render(from, i)));
      from = i + 1;
    }
    all.emplace_back(trimmed(render(from, end)));
    // The key of a map is its first argument, and so is the type of a set, a vector and a pointer.
    while (all.size() > 1 && is_default(all.back(), all.front())) all.pop_back();
    if (all.size() == 1 && all[0] == "char") {
      constexpr std::string_view kBasic = "std::basic_";
      size_t word = out.size();
      while (word != 0 && (is_word(out[word - 1]) || out[word - 1] == ':')) --word;
      if (out.compare(word, kBasic.size(), kBasic) == 0) {  // "std::string"
        out.erase(word + std::string_view("std::").size(), std::string_view("basic_").size());
        return;
      }
    }
    out += '<';
    for (size_t i = 0; i < all.size(); ++i) out += (i == 0 ? "" : ", ") + all[i];
    out += '>';
  }

  const Parsed& parsed_;
  std::string_view text_;
};

// Rust's older names: "core::ptr::drop_in_place$LT$T$GT$::h0123456789abcdef". False: it is none.
bool decode_rust(std::string_view name, std::string& into) {
  constexpr size_t kHash = 19;
  if (name.size() <= kHash || !name.substr(name.size() - kHash).starts_with("::h") ||
      !std::ranges::all_of(name.substr(name.size() - kHash + 3), [](unsigned char c) { return std::isxdigit(c) != 0; }))
    return false;
  name.remove_suffix(kHash);
  constexpr std::pair<std::string_view, std::string_view> kCodes[] = {
      {"$LT$", "<"},  {"$GT$", ">"},   {"$LP$", "("},  {"$RP$", ")"},  {"$RF$", "&"},  {"$BP$", "*"},  {"$C$", ","},
      {"$u20$", " "}, {"$u27$", "'"},  {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u5b$", "["}, {"$u5d$", "]"}, {"$u2b$", "+"},
      {"$SP$", "@"},  {"$u22$", "\""}, {"$u7e$", "~"}, {"$u3b$", ";"}, {"..", "::"}};
  for (size_t i = 0; i < name.size();) {
    const std::string_view rest = name.substr(i);
    const auto* const code = std::ranges::find_if(kCodes, [&](const auto& one) { return rest.starts_with(one.first); });
    if (code != std::end(kCodes)) {
      into += code->second;
      i += code->first.size();
    } else if (rest.starts_with("_$") && (into.empty() || into.ends_with(':'))) {
      ++i;
    } else {
      into += name[i++];
    }
  }
  return true;
}

std::string tidy_name(std::string_view name) {
  std::string decoded;
  if (decode_rust(name, decoded)) name = decoded;
  const Parsed parsed(name);
  std::string tidy = parsed.is_good ? Tidy(parsed).run() : std::string();
  return tidy.empty() ? std::string(name) : tidy;
}

// ---- What is left out to fit ---------------------------------------------------------------------------------------

// Keeps the beginning and the end.
std::string without_middle(std::string_view text, size_t width) {
  if (width_of(text) <= width) return std::string(text);
  const size_t kept = std::max<size_t>(width, 2) - 1;
  const auto is_inside = [&](size_t at) { return at < text.size() && (text[at] & 0xC0) == 0x80; };
  size_t head = std::min(kept / 2, text.size()), tail = text.size() - std::min(kept - kept / 2, text.size());
  while (head != 0 && is_inside(head)) --head;
  while (is_inside(tail)) ++tail;
  return std::string(text.substr(0, head)).append(kDots).append(text.substr(tail));
}

// With "…" for template arguments that are inside of so many others.
std::string without_arguments(const Parsed& parsed, size_t depth) {
  std::string out;
  std::vector<size_t> ends;  // of the brackets around
  for (size_t i = 0; i < parsed.text.size(); ++i) {
    while (!ends.empty() && i >= ends.back()) ends.pop_back();
    out += parsed.text[i];
    const size_t close = parsed.closing[i];
    if (close == 0 || (parsed.text[i] != '<' && parsed.text[i] != '[' && parsed.text[i] != '(')) continue;
    if (parsed.text.substr(i).starts_with("(anonymous") || close == i + 1) continue;
    // "<T as Trait>::f" of Rust: what is inside has a better claim than other arguments
    if (ends.size() >= depth && i != 0) {
      out += kDots;
      i = close - 1;
    } else if (i != 0) {
      ends.push_back(close);
    }
  }
  return out;
}

size_t depth_of(const Parsed& parsed) {
  size_t deepest = 0;
  std::vector<size_t> ends;
  for (size_t i = 0; i < parsed.text.size(); ++i) {
    while (!ends.empty() && i >= ends.back()) ends.pop_back();
    if (parsed.closing[i] != 0) ends.push_back(parsed.closing[i]);
    deepest = std::max(deepest, ends.size());
  }
  return deepest;
}

// "at::…::kernel<…>": the first scope, and as many of the last ones as fit.
std::string without_scopes(std::string_view name, size_t width) {
  const Parsed parsed(name);
  std::vector<size_t> scopes;  // where they begin
  for (size_t i = 0; parsed.is_good && i < name.size(); i = parsed.after(i))
    if (name.substr(i).starts_with("::") && i + 2 < name.size()) scopes.push_back(++i + 1);
  for (const size_t begin : scopes) {
    if (name.size() - begin + scopes.front() > 4 * width) continue;
    const std::string shorter =
        std::string(name.substr(0, scopes.front())).append(kDots).append("::").append(name.substr(begin));
    if (begin != scopes.front() && width_of(shorter) <= width) return shorter;
  }
  return without_middle(name, width);
}

}  // namespace

std::string short_name(std::string_view name, size_t width) {
  if (name.size() > kLongestParsed) return without_middle(name, std::min(width, kLongestParsed));
  const std::string tidy = tidy_name(name);
  if (width_of(tidy) <= width) return tidy;
  const Parsed parsed(tidy);
  if (!parsed.is_good) return without_middle(tidy, width);
  std::string shorter = tidy;
  for (size_t depth = depth_of(parsed); depth-- > 0 && width_of(shorter) > width;)
    shorter = without_arguments(parsed, depth);
  if (std::ranges::none_of(shorter, is_word)) shorter = tidy;
  return width_of(shorter) <= width ? shorter : without_scopes(shorter, width);
}

std::vector<std::string> short_names(const std::vector<std::string>& names, size_t width) {
  std::vector<std::string> all;
  for (const size_t wanted : {width, kAnyWidth}) {
    std::unordered_map<std::string_view, std::string_view> owners;  // the first name with this short one
    std::unordered_map<std::string_view, bool> is_shared;
    if (all.empty())
      for (const std::string& name : names) all.push_back(short_name(name, wanted));
    for (size_t i = 0; i < names.size(); ++i)
      is_shared[all[i]] |= owners.try_emplace(all[i], names[i]).first->second != names[i];
    std::vector<std::string> longer = all;
    for (size_t i = 0; i < names.size(); ++i)
      if (is_shared[all[i]]) longer[i] = wanted == width ? short_name(names[i], kAnyWidth) : names[i];
    all = std::move(longer);
  }
  return all;
}

}  // namespace kymo::symbols
