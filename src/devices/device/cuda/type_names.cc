#include "device/cuda/type_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/characters.h"

namespace kymo::device::cuda {
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

using base::is_word;

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

}  // namespace kymo::device::cuda
