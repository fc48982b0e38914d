#include "device/cuda/signature.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "device/cuda/source_tokens.h"
#include "device/cuda/type_names.h"

namespace kymo::device::cuda {
namespace {

using Tokens = std::vector<std::string_view>;

constexpr bool opens(std::string_view token) { return token == "(" || token == "<" || token == "[" || token == "{"; }
constexpr bool closes(std::string_view token) { return token == ")" || token == ">" || token == "]" || token == "}"; }

std::string join(const Tokens& tokens, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) {
    if (!text.empty()) text += ' ';
    text += tokens[i];
  }
  return text;
}

// The index after the bracket that `at` opens; tokens.size() if it is never closed.
size_t behind_bracket(const Tokens& tokens, size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    depth += opens(tokens[at]) - closes(tokens[at]);
    if (depth == 0) return at + 1;
  }
  return tokens.size();
}

bool is_identifier(std::string_view token) {
  const char c = token.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view token) {
  return std::find(words.begin(), words.end(), token) != words.end();
}

bool is_type_word(std::string_view token) {
  constexpr std::array<std::string_view, 10> kWords{"int",    "char",  "short",  "long", "unsigned",
                                                    "signed", "float", "double", "bool", "void"};
  return is_one_of(kWords, token);
}

// One parameter's declaration: its name is the last word, unless that word is the type, or part of it.
DeclaredParameter declared(const Tokens& tokens, size_t begin, size_t end) {
  const auto first = [&](std::string_view token) {
    return static_cast<size_t>(std::find(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                                         tokens.begin() + static_cast<std::ptrdiff_t>(end), token) -
                               tokens.begin());
  };
  end = first("=");  // a default
  const size_t bracket = first("[");
  size_t name = bracket;
  if (bracket > begin) {
    const std::string_view last = tokens[bracket - 1];
    bool has_type = false;
    for (size_t i = begin; i + 1 < bracket; ++i) has_type |= is_identifier(tokens[i]) && !is_qualifier(tokens[i]);
    const bool qualified = bracket - begin > 1 && tokens[bracket - 2] == "::";
    if (is_identifier(last) && has_type && !qualified && !is_qualifier(last) && !is_type_word(last)) name = bracket - 1;
  }
  DeclaredParameter parameter;
  parameter.type = join(tokens, begin, name);
  if (name < bracket) parameter.name = tokens[name];
  if (bracket < end) parameter.type += " *";  // int data[16] is a pointer
  return parameter;
}

std::vector<DeclaredParameter> declared_list(const Tokens& tokens, size_t begin, size_t end) {
  std::vector<DeclaredParameter> parameters;
  int depth = 0;
  size_t first = begin;
  for (size_t i = begin; i < end; ++i) {
    depth += opens(tokens[i]) - closes(tokens[i]);
    if (depth == 0 && tokens[i] == ",") {
      parameters.push_back(declared(tokens, first, i));
      first = i + 1;
    }
  }
  if (first < end && !(end - first == 1 && tokens[first] == "void")) parameters.push_back(declared(tokens, first, end));
  return parameters;
}

// After `__global__`: attributes, `void`, more attributes, NAME, perhaps <arguments>, ( parameters ).
std::optional<Signature> kernel_at(const Tokens& tokens, size_t at) {
  constexpr size_t kFarEnough = 64;
  const size_t limit = std::min(tokens.size(), at + kFarEnough);
  while (at + 1 < limit) {
    const std::string_view token = tokens[at];
    if (token == ";" || token == "{" || token == "}") return {};
    if (is_identifier(token)) {
      size_t next = at + 1;
      const bool attribute = token.starts_with("__") && (token.ends_with("__") || token == "__attribute");
      if (!attribute && tokens[next] == "<") next = behind_bracket(tokens, next);
      if (next < tokens.size() && tokens[next] == "(") {
        const size_t end = behind_bracket(tokens, next);
        if (!attribute) return Signature{std::string(token), declared_list(tokens, next + 1, end - 1)};
        at = end;
        continue;
      }
    }
    at = token == "[" ? behind_bracket(tokens, at) : at + 1;
  }
  return {};
}

// using NAME = TYPE;  and  typedef TYPE NAME;
void read_alias(const Tokens& tokens, size_t at, Aliases& aliases) {
  constexpr size_t kSimple = 12;
  const size_t limit = std::min(tokens.size(), at + kSimple);
  size_t end = at;
  while (end < limit && tokens[end] != ";") ++end;
  if (end == limit) return;
  if (tokens[at] == "using" && end - at >= 4 && tokens[at + 2] == "=")
    aliases.emplace(tokens[at + 1], join(tokens, at + 3, end));
  else if (tokens[at] == "typedef" && end - at >= 3 && is_identifier(tokens[end - 1]))
    aliases.emplace(tokens[end - 1], join(tokens, at + 1, end - 1));
}

}  // namespace

std::optional<Signature> demangle_signature(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> buffer(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || buffer == nullptr) return {};
  const std::string_view text = buffer.get();
  const size_t close = text.rfind(')');
  if (close == std::string_view::npos) return {};
  size_t open = close, depth = 0;
  do {
    if (text[open] == ')') ++depth;
    if (text[open] == '(') --depth;
  } while (depth > 0 && open-- > 0);
  if (depth > 0) return {};
  // The name of a template instantiation begins with its return type.
  const std::string_view head = text.substr(0, open);
  size_t begin = 0;
  for (size_t i = 0, nested = 0; i < head.size(); ++i) {
    if (head[i] == '<' || head[i] == '(') ++nested;
    if ((head[i] == '>' || head[i] == ')') && nested > 0) --nested;
    if (head[i] == ' ' && nested == 0) begin = i + 1;
  }
  Signature signature;
  signature.name = head.substr(begin);
  const std::string_view list = text.substr(open + 1, close - open - 1);
  int nested = 0;
  for (size_t i = 0, first = 0; i <= list.size(); ++i) {
    if (i < list.size()) nested += opens(list.substr(i, 1)) - closes(list.substr(i, 1));
    if (i < list.size() && (nested > 0 || list[i] != ',')) continue;
    while (first < i && list[first] == ' ') ++first;
    if (i > first) signature.parameters.push_back({std::string(list.substr(first, i - first)), {}});
    first = i + 1;
  }
  return signature;
}

SourceScan scan_source(std::string_view text) {
  const SourceTokens source = split_source(text);
  SourceScan scan;
  for (const auto& [name, value] : source.defines) scan.aliases.emplace(name, value);
  for (size_t i = 0; i < source.tokens.size(); ++i) {
    const std::string_view token = source.tokens[i];
    if (token == "using" || token == "typedef") read_alias(source.tokens, i, scan.aliases);
    if (token != "__global__") continue;
    if (auto kernel = kernel_at(source.tokens, i + 1)) scan.kernels.push_back(std::move(*kernel));
  }
  return scan;
}

std::string_view unqualified(std::string_view name) {
  size_t begin = 0, end = name.size(), depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') {
      if (depth++ == 0 && name[i] == '<') end = i;
    } else if (name[i] == '>' || name[i] == ')') {
      if (depth > 0) --depth;
    } else if (name[i] == ':' && depth == 0) {
      begin = i + 1;
      end = name.size();
    }
  }
  return name.substr(begin, end - begin);
}

}  // namespace kymo::device::cuda
