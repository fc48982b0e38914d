#include "device/language.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/environment.h"
#include "base/text.h"
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

}  // namespace

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !base::is_word(text[at - 1]);
    const size_t end = at + word.size();
    if (begins && (end == text.size() || !base::is_word(text[end]))) return true;
  }
  return false;
}

std::string_view language_name(Language language) {
  constexpr std::string_view kNames[] = {"OpenCL C", "GLSL", "SPIR-V", "CUDA C++", "Metal"};
  return kNames[static_cast<size_t>(language)];
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

// ---- The translation of Metal --------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kMetalSimdWidth = 32;

shader::Target metal_target(Language language) {
  switch (language) {
    case Language::CudaCpp:
      return shader::Target::Cuda;
    case Language::Glsl:
      return shader::Target::Glsl;
    default:
      return shader::Target::OpenCl;
  }
}

// -DNAME and -DNAME=VALUE, also as two words or with a blank after -D.
std::vector<std::string> metal_defines(const std::vector<std::string>& options) {
  std::vector<std::string> defines;
  for (size_t i = 0; i < options.size(); ++i) {
    std::string_view option = options[i];
    if (option.empty()) continue;
    if (!option.starts_with("-D")) {
      throw InvalidArgument(base::format("unknown option {} for a Metal source: use -DNAME or -DNAME=VALUE", option));
    }
    option.remove_prefix(2);
    if (option.empty() && i + 1 < options.size()) option = options[++i];
    option.remove_prefix(std::min(option.find_first_not_of(' '), option.size()));
    if (option.empty())
      throw InvalidArgument("the option -D of a Metal source has no name: use -DNAME or -DNAME=VALUE");
    defines.emplace_back(option);
  }
  return defines;
}

std::optional<DType> dtype_of_metal(shader::Scalar scalar) {
  // By the order of the enumeration; None has no type.
  constexpr std::optional<DType> kTypes[] = {std::nullopt, DType::Bool, DType::I8,  DType::U8,  DType::I16,
                                             DType::U16,   DType::I32,  DType::U32, DType::I64, DType::U64,
                                             DType::F16,   DType::BF16, DType::F32};
  static_assert(std::size(kTypes) == static_cast<size_t>(shader::Scalar::Float) + 1);
  return kTypes[static_cast<size_t>(scalar)];
}

Parameter parameter_of_metal(const shader::KernelParameter& from) {
  Parameter parameter;
  parameter.name = from.name;
  switch (from.passing) {
    case shader::Passing::Address:
      parameter.kind = ParameterKind::Buffer;
      break;
    case shader::Passing::Inline:
      parameter.kind = ParameterKind::Inline;
      break;
    case shader::Passing::Group:
      parameter.kind = ParameterKind::Local;
      break;
  }
  parameter.type = dtype_of_metal(from.scalar);
  // c10 implements atomics of small types with atomic<uint>. The tensor has the small type, so its type is not checked.
  if (parameter.kind == ParameterKind::Buffer && from.type.find("atomic") != from.type.npos) parameter.type.reset();
  parameter.count = from.count;
  parameter.bytes = from.bytes;
  using Kind = shader::KernelParameter::Kind;
  parameter.is_value = from.kind == Kind::Value || from.kind == Kind::Texture || from.kind == Kind::Sampler;
  parameter.texture = from.texture;
  parameter.is_written = from.is_written;
  parameter.is_addresses = from.is_addresses;
  parameter.reports_errors = from.reports_errors;
  parameter.value_offset = from.value_offset;
  parameter.inline_bytes = from.inline_bytes;
  return parameter;
}

KernelInfo kernel_of_metal(const shader::Kernel& from) {
  KernelInfo kernel;
  kernel.is_translated = true;
  kernel.name = from.name;
  kernel.symbol = from.symbol;
  for (const shader::KernelParameter& parameter : from.parameters)
    kernel.parameters.push_back(parameter_of_metal(parameter));
  kernel.order = shader::argument_order(from);
  if (std::ranges::is_sorted(kernel.order)) kernel.order.clear();
  kernel.max_threads_per_group =
      from.max_threads != 0 ? std::min<uint64_t>(from.max_threads, kMaxMetalThreads) : kMaxMetalThreads;
  kernel.execution_width = kMetalSimdWidth;
  kernel.group_memory = from.group_memory;
  kernel.uses_simdgroups = from.uses_simdgroups;
  kernel.uses_simdgroup_matrices = from.uses_simdgroup_matrices;
  kernel.takes_grid = from.takes_grid;
  return kernel;
}

MetalTranslation made_of(Language language, std::string text, const std::vector<shader::Kernel>& kernels) {
  MetalTranslation result;
  result.language = language;
  result.text = std::move(text);
  if (language == Language::OpenClC) result.options = {"-cl-std=CL1.2"};  // every device supports it
  for (const shader::Kernel& kernel : kernels) result.kernels.push_back(kernel_of_metal(kernel));
  return result;
}

MetalTranslation read_translation(std::string_view bytes, const CompileOptions& options, Language language) {
  if (!options.options.empty() || !options.constants.empty() || !options.headers.empty())
    throw InvalidArgument(
        "a library of translated kernels takes no options: pass them to kymo shader, which writes it");
  const shader::KernelLibrary library = shader::decode_library(bytes);
  const shader::Target target = metal_target(language);
  const shader::KernelLibrary::Part* part = library.find(target);
  if (part == nullptr) {
    std::vector<std::string> has;
    for (const auto& each : library.parts) has.emplace_back(shader::target_name(each.target));
    throw InvalidArgument(
        base::format("this library of kernels was written for {} only, and this device needs {}: write it for all "
                     "backends with kymo shader SOURCE -o NAME.kymolib, without --to",
                     has.empty() ? "nothing" : base::join(has, ", "), shader::target_name(target)));
  }
  return made_of(language, part->text, part->kernels);
}

}  // namespace

MetalTranslation translate_metal(std::string_view source, const CompileOptions& options, const DeviceInfo& device,
                                 std::string_view only) {
  const auto language = native_language(device);
  if (!language) {
    throw NotAvailable(base::format(
        "{} has no compiler here for translated Metal source: `kymo devices` says what is missing", device.name));
  }
  if (shader::is_library(source)) return read_translation(source, options, *language);
  shader::Options given;
  given.target = metal_target(*language);
  given.file = options.file;
  given.defines = metal_defines(options.options);
  given.headers.insert(options.headers.begin(), options.headers.end());
  given.constants.insert(options.constants.begin(), options.constants.end());
  given.tensor_cores = options.tensor_cores;
  given.lines = base::environment("KYMO_GPU_STALLS") != nullptr;
  if (!only.empty()) given.kernels.emplace_back(only);
  shader::Translation translated = shader::translate(source, given);
  if (const shader::Diagnostic* error = translated.first_error()) {
    throw CompileError(translated.log, error->file, error->line, error->column, error->text);
  }
  MetalTranslation result = made_of(*language, std::move(translated.text), translated.kernels);
  result.warnings = std::move(translated.log);
  return result;
}

CompileError translation_fault(Language language, const CompileError& error) {
  return {base::format("the translation to {} does not compile; this is a bug in Kymo: {}", language_name(language),
                       error.what()),
          error.file(), 0, 0, error.text()};
}

}  // namespace kymo::device
