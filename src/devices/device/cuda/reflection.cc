#include "device/cuda/reflection.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::cuda {
namespace {

using base::is_space;
using base::is_word;

size_t found_or_end(size_t found, size_t beyond, size_t end) {
  return found == std::string_view::npos ? end : found + beyond;
}

// The position after the literal that begins at `at`.
size_t skip_literal(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// The position after R"tag( … )tag"; `at` is the position of the quote.
size_t skip_raw_literal(std::string_view text, size_t at) {
  const size_t open = text.find('(', at);
  if (open == std::string_view::npos || open - at > 17) return skip_literal(text, at);
  const std::string_view tag = text.substr(at + 1, open - at - 1);
  for (size_t close = text.find(')', open); close != std::string_view::npos; close = text.find(')', close + 1))
    if (text.substr(close + 1, tag.size()) == tag && text.substr(close + 1 + tag.size(), 1) == "\"")
      return close + tag.size() + 2;
  return text.size();
}

// The end of a preprocessor line, continued lines included.
size_t directive_end(std::string_view text, size_t at) {
  for (;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    size_t last = end;
    if (last > at && text[last - 1] == '\r') --last;
    if (last == at || text[last - 1] != '\\') return end;
    at = end + 1;
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void read_define(std::string_view line, SourceTokens& into) {
  line = trimmed(line.substr(1));
  if (!line.starts_with("define")) return;
  line = trimmed(line.substr(6));
  size_t name = 0;
  while (name < line.size() && is_word(line[name])) ++name;
  if (name == 0 || name == line.size() || line[name] == '(') return;
  const std::string_view value = trimmed(line.substr(name, line.find("//", name) - name));
  if (!value.empty()) into.defines.emplace_back(line.substr(0, name), value);
}

}  // namespace

SourceTokens split_source(std::string_view text) {
  SourceTokens source;
  bool line_start = true;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_space(c)) {
      line_start |= c == '\n';
      ++at;
      continue;
    }
    if (text.substr(at, 2) == "//") {
      at = found_or_end(text.find('\n', at), 0, text.size());
    } else if (text.substr(at, 2) == "/*") {
      at = found_or_end(text.find("*/", at + 2), 2, text.size());
    } else if (c == '#' && line_start) {
      const size_t end = directive_end(text, at);
      read_define(text.substr(at, end - at), source);
      at = end;
    } else if (c == '"' || c == '\'') {
      const bool raw = c == '"' && !source.tokens.empty() && source.tokens.back().ends_with('R') &&
                       source.tokens.back().end() == text.begin() + static_cast<std::ptrdiff_t>(at);
      at = raw ? skip_raw_literal(text, at) : skip_literal(text, at);
      line_start = false;
    } else {
      size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      if (end == at) end = text.substr(at, 2) == "::" ? at + 2 : at + 1;
      source.tokens.push_back(text.substr(at, end - at));
      at = end;
      line_start = false;
    }
  }
  return source;
}

namespace {

constexpr int kAliasDepth = 8;  // more levels are a cycle

struct Name {
  std::string_view text;
  DType type;
  uint32_t count = 1;
};

constexpr std::array kNames = {
    Name{"bool", DType::Bool},
    Name{"float", DType::F32},
    Name{"double", DType::F64},
    Name{"half", DType::F16},
    Name{"__half", DType::F16},
    Name{"_Float16", DType::F16},
    Name{"__half_raw", DType::F16},
    Name{"half2", DType::F16, 2},
    Name{"__half2", DType::F16, 2},
    Name{"nv_bfloat16", DType::BF16},
    Name{"__nv_bfloat16", DType::BF16},
    Name{"__bf16", DType::BF16},
    Name{"__nv_bfloat16_raw", DType::BF16},
    Name{"nv_bfloat162", DType::BF16, 2},
    Name{"__nv_bfloat162", DType::BF16, 2},
    Name{"int8_t", DType::I8},
    Name{"uint8_t", DType::U8},
    Name{"int16_t", DType::I16},
    Name{"uint16_t", DType::U16},
    Name{"int32_t", DType::I32},
    Name{"uint32_t", DType::U32},
    Name{"int64_t", DType::I64},
    Name{"uint64_t", DType::U64},
    Name{"__int8_t", DType::I8},
    Name{"__uint8_t", DType::U8},
    Name{"size_t", DType::U64},
    Name{"ptrdiff_t", DType::I64},
    Name{"intptr_t", DType::I64},
    Name{"uintptr_t", DType::U64},
    Name{"uchar", DType::U8},
    Name{"ushort", DType::U16},
    Name{"uint", DType::U32},
    Name{"ulong", DType::U64},
    Name{"dim3", DType::U32, 3},
    Name{"__int64", DType::I64},
};

// The vectors: one of these names and a digit from 1 to 4.
constexpr std::array kVectors = {
    Name{"char", DType::I8},      Name{"uchar", DType::U8},      Name{"short", DType::I16}, Name{"ushort", DType::U16},
    Name{"int", DType::I32},      Name{"uint", DType::U32},      Name{"long", DType::I64},  Name{"ulong", DType::U64},
    Name{"longlong", DType::I64}, Name{"ulonglong", DType::U64}, Name{"float", DType::F32}, Name{"double", DType::F64},
};

std::optional<NamedType> single_name(std::string_view name) {
  for (const Name& known : kNames)
    if (known.text == name) return NamedType{false, known.type, known.count};
  for (const std::string_view alignment : {"_16a", "_32a"})  // CUDA 13: double4_16a
    if (name.ends_with(alignment)) name.remove_suffix(alignment.size());
  if (name.empty() || name.back() < '1' || name.back() > '4') return {};
  const auto count = static_cast<uint32_t>(name.back() - '0');
  name.remove_suffix(1);
  for (const Name& known : kVectors)
    if (known.text == name) return NamedType{false, known.type, count};
  return {};
}

// `unsigned long long int` and similar types, with the words in any order.
std::optional<DType> builtin_integer(const std::vector<std::string_view>& words) {
  bool is_unsigned = false, is_char = false, is_short = false;
  int longs = 0;
  for (const std::string_view word : words) {
    if (word == "unsigned")
      is_unsigned = true;
    else if (word == "char")
      is_char = true;
    else if (word == "short")
      is_short = true;
    else if (word == "long")
      ++longs;
    else if (word != "int" && word != "signed")
      return {};
  }
  if (is_char) return is_unsigned ? DType::U8 : DType::I8;
  if (is_short) return is_unsigned ? DType::U16 : DType::I16;
  if (longs > 0) return is_unsigned ? DType::U64 : DType::I64;
  return is_unsigned ? DType::U32 : DType::I32;
}

NamedType resolve(std::string_view text, const Aliases& aliases, int depth) {
  std::vector<std::string_view> words;
  uint32_t stars = 0;
  bool strange = false;
  for (size_t at = 0; at < text.size();) {
    if (is_word(text[at])) {
      size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string_view word = text.substr(at, end - at);
      if (!is_qualifier(word)) words.push_back(word);
      at = end;
    } else if (text.substr(at, 2) == "::") {
      // Only the namespaces of the standard libraries contain types of the table.
      if (!words.empty() && words.back() != "std" && words.back() != "cuda") strange = true;
      if (!words.empty()) words.pop_back();
      at += 2;
    } else {
      if (text[at] == '*' || text[at] == '[') ++stars;  // an array as a parameter is a pointer
      // Template arguments, function parameters and references: the table has no such type.
      if (text[at] == '<' || text[at] == '(' || text[at] == '&') strange = true;
      if (text[at] == '[') break;
      ++at;
    }
  }
  NamedType type;
  type.pointer = stars > 0 && text.find('(') == std::string_view::npos;  // void (*)(int) is not a buffer
  if (strange || words.empty() || stars > 1) return type;
  NamedType named;
  if (words.size() == 1) {
    if (const auto alias = aliases.find(words[0]); alias != aliases.end() && depth < kAliasDepth)
      named = resolve(alias->second, aliases, depth + 1);
    else if (const auto known = single_name(words[0]))
      named = *known;
    else
      named.element = builtin_integer(words);
  } else {
    named.element = builtin_integer(words);
  }
  if (named.pointer) return {true, stars == 0 ? named.element : std::nullopt, 1};
  type.element = named.element;
  type.count = type.pointer ? 1 : named.count;
  return type;
}

}  // namespace

bool is_qualifier(std::string_view word) {
  constexpr std::array<std::string_view, 12> kQualifiers{"const",      "volatile",          "restrict",  "__restrict__",
                                                         "__restrict", "__grid_constant__", "constexpr", "struct",
                                                         "enum",       "typename",          "class",     "__const__"};
  return std::find(kQualifiers.begin(), kQualifiers.end(), word) != kQualifiers.end();
}

NamedType type_named(std::string_view text, const Aliases& aliases) { return resolve(text, aliases, 0); }

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

namespace {

constexpr uint32_t kPointerBytes = 8;

// NVRTC writes .u32 for int and for unsigned. So without a declaration an integer is treated as signed, like C's int.
// In hand-written PTX the letter is correct.
std::optional<DType> ptx_type(std::string_view type, bool by_hand) {
  const bool is_unsigned = by_hand && (type[0] == 'u' || type[0] == 'b');
  if (type == "f16") return DType::F16;
  if (type == "bf16") return DType::BF16;
  if (type == "f32") return DType::F32;
  if (type == "f64") return DType::F64;
  const std::string_view bits = type.substr(1);
  if (bits == "8") return is_unsigned ? DType::U8 : DType::I8;
  if (bits == "16") return is_unsigned ? DType::U16 : DType::I16;
  if (bits == "32") return is_unsigned ? DType::U32 : DType::I32;
  if (bits == "64") return is_unsigned ? DType::U64 : DType::I64;
  return {};
}

// From the PTX alone.
Parameter from_ptx(const PtxParameter& ptx, bool marks_pointers, bool by_hand) {
  Parameter parameter;
  parameter.bytes = ptx.bytes;
  parameter.kind = ParameterKind::Unknown;
  if (ptx.array || ptx.type.size() < 2) return parameter;
  if (ptx.pointer) {
    parameter.kind = ParameterKind::Buffer;
    return parameter;
  }
  // If no pointer is marked, an integer with the size of an address may be a pointer.
  if (!marks_pointers && ptx.bytes == kPointerBytes && ptx.type != "f64") {
    parameter.kind = ParameterKind::Word;
    parameter.type = DType::U64;
    return parameter;
  }
  parameter.type = ptx_type(ptx.type, by_hand);
  if (parameter.type) parameter.kind = ParameterKind::Value;
  return parameter;
}

Parameter from_declaration(const PtxParameter& ptx, const DeclaredParameter& declared, const Aliases& aliases,
                           bool marks_pointers) {
  Parameter parameter;
  parameter.name = declared.name;
  parameter.bytes = ptx.bytes;
  const NamedType type = type_named(declared.type, aliases);
  if (type.pointer && !ptx.array && ptx.bytes == kPointerBytes) {
    parameter.kind = ParameterKind::Buffer;
    parameter.type = type.element;
  } else if (!type.pointer && type.element && size_of(*type.element) * type.count == ptx.bytes) {
    parameter.kind = ParameterKind::Value;
    parameter.type = type.element;
    parameter.count = type.count;
  } else {
    // A structure, an enumeration, an alias from a header.
    parameter = from_ptx(ptx, marks_pointers, false);
    parameter.name = declared.name;
  }
  return parameter;
}

// The only declaration with this name and this number of parameters; none if there are several.
const Signature* declaration_of(const SourceScan& scan, std::string_view name, size_t parameters) {
  const Signature* found = nullptr;
  for (const Signature& kernel : scan.kernels) {
    if (kernel.name != name || kernel.parameters.size() != parameters) continue;
    bool named = true;  // an explicit instantiation has no names
    for (const DeclaredParameter& parameter : kernel.parameters) named &= !parameter.name.empty();
    if (!named && found != nullptr) continue;
    bool found_named = found != nullptr;
    if (found != nullptr)
      for (const DeclaredParameter& parameter : found->parameters) found_named &= !parameter.name.empty();
    if (found != nullptr && found_named) return nullptr;
    found = &kernel;
  }
  return found;
}

KernelInfo reflect_entry(const PtxProgram& program, const PtxEntry& entry, const SourceScan& scan, bool by_hand) {
  KernelInfo info;
  info.name = entry.name;
  std::optional<Signature> mangled = demangle_signature(entry.name);
  if (mangled) info.name = mangled->name;
  if (mangled && mangled->parameters.size() != entry.parameters.size()) mangled.reset();
  const Signature* declared = declaration_of(scan, unqualified(info.name), entry.parameters.size());
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    const PtxParameter& ptx = entry.parameters[i];
    if (mangled) {  // its types have no aliases: a type that is not a pointer here is never one
      if (declared != nullptr) mangled->parameters[i].name = declared->parameters[i].name;
      info.parameters.push_back(from_declaration(ptx, mangled->parameters[i], {}, true));
    } else if (declared != nullptr) {
      info.parameters.push_back(from_declaration(ptx, declared->parameters[i], scan.aliases, program.marks_pointers));
    } else {
      info.parameters.push_back(from_ptx(ptx, program.marks_pointers, by_hand));
    }
  }
  if (entry.dynamic_shared) {
    Parameter shared;
    shared.name = "shared memory";
    shared.kind = ParameterKind::Local;
    info.parameters.push_back(std::move(shared));
  }
  info.required_group = {entry.required_group[0], entry.required_group[1], entry.required_group[2]};
  return info;
}

}  // namespace

std::vector<KernelInfo> reflect(const PtxProgram& program, std::string_view source) {
  const SourceScan scan = scan_source(source);
  std::vector<KernelInfo> kernels;
  std::map<std::string, size_t> uses;
  for (const PtxEntry& entry : program.entries) {
    kernels.push_back(reflect_entry(program, entry, scan, source.empty()));
    ++uses[kernels.back().name];
  }
  // Overloads are distinguished by their types.
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (uses[kernels[i].name] < 2) continue;
    const std::optional<Signature> mangled = demangle_signature(program.entries[i].name);
    if (!mangled) continue;
    std::string types;
    for (const DeclaredParameter& parameter : mangled->parameters) {
      if (!types.empty()) types += ", ";
      types += parameter.type;
    }
    kernels[i].name += "(" + types + ")";
  }
  return kernels;
}

void check_translated(const PtxProgram& program, std::span<const KernelInfo> kernels) {
  for (const KernelInfo& kernel : kernels) {
    const auto entry = std::ranges::find(program.entries, kernel.symbol, &PtxEntry::name);
    const size_t wanted = kernel.parameters.size() + (kernel.takes_grid ? 1 : 0);
    if (entry != program.entries.end() && entry->parameters.size() == wanted) continue;
    const std::string text = base::format("kernel {} with {} parameters not found", kernel.symbol, wanted);
    throw CompileError(text, kernel.symbol, 0, 0, text);
  }
}

}  // namespace kymo::device::cuda
