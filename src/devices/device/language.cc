#include "device/language.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/characters.h"
#include "base/text.h"
#include "kymo/error.h"
#include "kymo/translate.h"

namespace kymo::device {
namespace {

constexpr uint32_t kSpirVMagic = 0x07230203;

std::string without_comments(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size();) {
    if (source.substr(i, 2) == "//") {
      i = std::min(source.find('\n', i), source.size());
    } else if (source.substr(i, 2) == "/*") {
      const size_t end = source.find("*/", i + 2);
      i = end == std::string_view::npos ? source.size() : end + 2;
      text += ' ';
    } else {
      text += source[i++];
    }
  }
  return text;
}

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !base::is_word(text[at - 1]);
    const size_t end = at + word.size();
    if (begins && (end == text.size() || !base::is_word(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::string_view language_name(Language language) {
  switch (language) {
    case Language::OpenClC:
      return "OpenCL C";
    case Language::Glsl:
      return "GLSL";
    case Language::SpirV:
      return "SPIR-V";
    case Language::CudaCpp:
      return "CUDA C++";
    case Language::Metal:
      return "Metal";
  }
  return "";
}

std::optional<Language> detect_language(std::string_view source) {
  uint32_t first = 0;
  if (source.size() >= sizeof first) std::memcpy(&first, source.data(), sizeof first);
  if (first == kSpirVMagic || first == __builtin_bswap32(kSpirVMagic)) return Language::SpirV;
  if (shader::is_library(source)) return Language::Metal;  // already translated

  const std::string text = without_comments(source);
  if (const size_t at = text.find_first_not_of(" \t\r\n");
      at != std::string::npos && std::string_view(text).substr(at).starts_with(".version")) {
    return Language::CudaCpp;  // PTX, which the same backend accepts
  }
  const auto has = [&](std::string_view word) { return has_word(text, word); };
  if (has("__global__")) return Language::CudaCpp;
  if (text.find("#version") != std::string::npos || has("gl_GlobalInvocationID") || has("local_size_x") ||
      has("local_size_x_id")) {
    return Language::Glsl;
  }
  // Metal's kernels take their position as an attributed parameter and have `device` pointers.
  if (text.find("[[") != std::string::npos || has("metal_stdlib") || has("threadgroup")) return Language::Metal;
  if (has("__kernel") || has("__global") || has("get_global_id") || has("global")) return Language::OpenClC;
  if (has("kernel") && (has("device") || has("constant"))) return Language::Metal;
  return std::nullopt;
}

std::optional<Language> native_language(const DeviceInfo& device) {
  for (const Language language : device.languages)
    if (language != Language::Metal && language != Language::SpirV) return language;
  return std::nullopt;
}

void add_metal(DeviceInfo& info) {
  const bool has_it = !info.languages.empty() && info.languages.front() == Language::Metal;
  if (!has_it && native_language(info)) info.languages.insert(info.languages.begin(), Language::Metal);
}

Language choose_language(std::string_view source, const DeviceInfo& device) {
  const auto& taken = device.languages;
  const auto found = detect_language(source);
  if (found && std::find(taken.begin(), taken.end(), *found) != taken.end()) return *found;
  if (taken.empty()) {
    throw NotAvailable(base::format("{} has no compiler here: `kymo devices` says what is missing", device.name));
  }
  // Text of an unknown language is treated as Metal, whose translator reports the errors.
  if (!found) return taken.front() == Language::SpirV ? throw InvalidArgument("this is not SPIR-V") : taken.front();
  std::string names;
  for (const Language language : taken)
    names += base::format("{}{}", names.empty() ? "" : ", ", language_name(language));
  throw InvalidArgument(
      base::format("this source is {}, but {} accepts only: {}", language_name(*found), device.name, names));
}

}  // namespace kymo::device
