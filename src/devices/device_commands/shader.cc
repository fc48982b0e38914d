#include "device_commands/shader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/output_path.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "device_commands/program.h"
#include "kymo/error.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

// A folder or a pipe with the name of a header is not read.
bool is_regular_file(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

std::string read_source(const std::string& path) {
  constexpr size_t kLongest = size_t{64} << 20, kStep = size_t{64} << 10;
  const bool standard = path == "-";
  const base::FileDescriptor file(standard ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = standard ? "standard input" : path;
  if (!file) throw base::file_error("read", name, errno);
  std::string text;
  while (true) {
    const size_t had = text.size();
    text.resize(had + kStep);
    const ssize_t got = ::read(file.get(), text.data() + had, kStep);
    text.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) throw base::file_error("read", name, errno);
    if (text.size() > kLongest)
      throw Error(base::format("{} is not a shader: it is larger than {}", name, bytes_text(kLongest)));
  }
}

decltype(shader::Options::include) headers_in(std::vector<std::string> folders) {
  return [folders = std::move(folders)](std::string_view name,
                                        std::string_view from) -> std::optional<shader::IncludedFile> {
    namespace fs = std::filesystem;
    const auto read = [&](const fs::path& folder) -> std::optional<shader::IncludedFile> {
      const std::string path = (folder / name).lexically_normal().string();
      if (!is_regular_file(path)) return std::nullopt;
      return shader::IncludedFile{path, read_source(path)};
    };
    if (auto found = read(fs::path(from).parent_path())) return found;
    for (const std::string& folder : folders)
      if (auto found = read(folder)) return found;
    return std::nullopt;
  };
}

namespace {

// `kymo shader`: shows the kernels of a Metal source and its translation for each backend, and writes libraries of
// translated kernels.

using shader::KernelParameter;

enum class ShaderOutput { List, OpenCl, Cuda, Glsl };

struct ShaderOptions {
  std::string path, output, kernel;
  std::vector<std::string> defines, folders;
  std::map<std::string, double, std::less<>> constants;
  ShaderOutput to = ShaderOutput::List;
  bool list = false, json = false, tensor_cores = false;
};

std::string takes(const KernelParameter& parameter) {
  if (parameter.reports_errors) return "nothing: the runtime uses it for error reports";
  switch (parameter.kind) {
    case KernelParameter::Kind::Threadgroup:
      return "a size in bytes";
    case KernelParameter::Kind::Buffer:
      return "a tensor";
    case KernelParameter::Kind::Texture:
      return "a tensor: an image";
    case KernelParameter::Kind::Sampler:
      return "a sampler";
    case KernelParameter::Kind::Value:
      break;
  }
  if (parameter.is_addresses) return count_of(parameter.count, "tensor");
  if (parameter.scalar == shader::Scalar::None) return count_of(parameter.bytes, "byte");
  return parameter.count == 1 ? "a number" : count_of(parameter.count, "number");
}

std::string as_table(const std::vector<shader::Kernel>& kernels) {
  base::TextTable table({{"kernel"}, {"argument"}, {"type"}, {"takes"}});
  for (const shader::Kernel& kernel : kernels) {
    std::string name = base::printable(kernel.name);
    for (const uint32_t place : shader::argument_order(kernel)) {
      const KernelParameter& parameter = kernel.parameters[place];
      table.add({std::exchange(name, ""), base::printable(parameter.name), base::printable(parameter.type),
                 takes(parameter)});
    }
    if (kernel.parameters.empty()) table.add({name, "-", "-", "no arguments"});
  }
  return shown(table);
}

std::string as_json(const std::vector<shader::Kernel>& kernels) {
  base::JsonWriter json;
  json.begin_array();
  for (const shader::Kernel& kernel : kernels) {
    json.begin_object();
    json.field("name", kernel.name);
    json.field("group_memory", kernel.group_memory);
    json.field("max_threads", kernel.max_threads);
    json.field("uses_simdgroups", kernel.uses_simdgroups);
    json.begin_array("arguments");
    for (const uint32_t place : shader::argument_order(kernel)) {
      const KernelParameter& parameter = kernel.parameters[place];
      json.begin_object();
      json.field("name", parameter.name);
      json.field("type", parameter.type);
      json.field("takes", takes(parameter));
      json.field("index", parameter.index);
      json.field("bytes", parameter.bytes);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  return json.text();
}

void write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "/dev/stdout") return print(text);
  if (path == "/dev/null") return;  // only the messages are wanted
  const base::FileDescriptor file(
      ::open(base::output_path(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  size_t written = 0;
  const int failed = file ? base::write_all(file.get(), base::as_bytes(text), written) : errno;
  if (failed != 0) throw base::file_error("write", path, failed);
}

shader::Target target_of(ShaderOutput output) {
  switch (output) {
    case ShaderOutput::Cuda:
      return shader::Target::Cuda;
    case ShaderOutput::Glsl:
      return shader::Target::Glsl;
    default:
      return shader::Target::OpenCl;
  }
}

// 12, -1.5, 0x1F, true or false.
std::optional<double> number_in(std::string_view text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  const bool is_negative = text.starts_with('-');
  const std::string_view digits = text.substr(is_negative ? 1 : 0);
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    uint64_t value = 0;
    const auto [end, failed] = std::from_chars(digits.data() + 2, digits.data() + digits.size(), value, 16);
    if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return is_negative ? -static_cast<double>(value) : static_cast<double>(value);
  }
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// NAME=VALUE, or NAME=X,Y,Z for a vector: its components are constants of their own, NAME.x, NAME.y and NAME.z.
void add_constant(const std::string& given, ShaderOptions& options) {
  constexpr size_t kMaxComponents = 4;
  const size_t equals = std::min(given.find('='), given.size());
  const std::string name = given.substr(0, equals);
  std::vector<std::optional<double>> values;
  for (size_t begin = equals, end = equals; end < given.size() && values.size() <= kMaxComponents; begin = end) {
    end = std::min(given.find(',', begin + 1), given.size());
    values.push_back(number_in(std::string_view(given).substr(begin + 1, end - begin - 1)));
  }
  if (name.empty() || values.empty() || values.size() > kMaxComponents ||
      std::ranges::find(values, std::optional<double>()) != values.end()) {
    throw options::UsageError("shader",
                              base::format("-C {} is not NAME=VALUE; VALUE is a number, true or false, or 2 to 4 of "
                                           "them for a vector, as in -C use_mask=true or -C tint=1,0.5,0",
                                           given));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string key = values.size() == 1 ? name : base::format("{}.{}", name, "xyzw"[i]);
    if (!options.constants.emplace(key, *values[i]).second)
      throw options::UsageError("shader", base::format("-C gives the constant {} two values: give one", key));
  }
}

constexpr std::string_view kLibrarySuffix = ".kymolib";

// Translates for one target, or for all, and writes a library.
int write_library(const std::string& source, shader::Options asked, const ShaderOptions& options) {
  shader::KernelLibrary library;
  std::string shown;
  for (const shader::Target target : {shader::Target::OpenCl, shader::Target::Cuda, shader::Target::Glsl}) {
    if (options.to != ShaderOutput::List && target != target_of(options.to)) continue;
    asked.target = target;
    shader::Translation translation = shader::translate(source, asked);
    // Warnings are the same for all targets. Some errors are only those of one.
    if (translation.log != shown) print_error(translation.log);
    shown = translation.log;
    if (translation.first_error() != nullptr) {
      if (options.to == ShaderOutput::List && !library.parts.empty())
        print_error(base::format("This is an error only for {}. To write a library without it: --to {}\n",
                                 shader::target_name(target), shader::target_name(library.parts.back().target)));
      return kFailed;
    }
    library.parts.push_back({target, std::move(translation.text), std::move(translation.kernels)});
  }
  if (library.parts.front().kernels.empty())
    throw Error(base::format("{} has no kernels, so there is no library to write", base::printable(asked.file)));
  write_output(options.output, shader::encode_library(library));
  return kDone;
}

bool read_options(const Arguments& arguments, ShaderOptions& options) {
  options::CommandLine line(
      "shader", "kymo shader FILE [options]",
      "Translates a Metal source as the device runtime does, and prints the result. Without --to it lists\n"
      "the kernels, and the arguments of each in the order in which a caller passes them.\n"
      "-o NAME.kymolib writes a library of translated kernels for all backends, or for the one that --to\n"
      "chooses; load_metallib() loads it.",
      "kymo shader blur.metal -I include -DRADIUS=3 -C use_mask=true -o blur.kymolib");
  line.argument("FILE", options.path, "the source; - is standard input");
  line.choice("--to", options.to,
              options::CommandLine::Choices<ShaderOutput>{
                  {"opencl", ShaderOutput::OpenCl}, {"cuda", ShaderOutput::Cuda}, {"glsl", ShaderOutput::Glsl}},
              "print the source in this language");
  line.flag("--list", options.list, "list the kernels, even if --to is given");
  line.flag("--json", options.json, "the list as JSON");
  line.text(
      "-D", "NAME[=VALUE]", [&](const std::string& define) { options.defines.push_back(define); }, "define a macro");
  line.values("-I", "DIR", options.folders, "a folder with headers, for #include; several are searched in this order");
  line.text(
      "-C", "NAME=VALUE", [&](const std::string& constant) { add_constant(constant, options); },
      "the value of a function constant, by its name or its index; X,Y,Z for a vector");
  line.flag("--tensor-cores", options.tensor_cores,
            "CUDA multiplies simdgroup matrices of half and bfloat by its tensor cores");
  line.value("--kernel", "NAME", options.kernel, "translate only this kernel");
  line.value("-o,--output", "OUT", options.output,
             "the file to write: the translation with --to, otherwise the list; default: standard output");
  if (!line.read(arguments)) return false;
  if (options.list || options.json) options.to = ShaderOutput::List;
  return true;
}

}  // namespace

int shader_command(const Arguments& arguments) {
  ShaderOptions options;
  if (!read_options(arguments, options)) return kDone;

  shader::Options asked;
  asked.target = target_of(options.to);
  asked.file = options.path == "-" ? "stdin" : options.path;
  asked.defines = options.defines;
  asked.constants = options.constants;
  asked.tensor_cores = options.tensor_cores;
  for (const std::string& folder : options.folders)
    if (std::error_code failed; !std::filesystem::is_directory(folder, failed))
      say_warning(base::format("-I {}: there is no such folder", folder));
  asked.include = headers_in(options.folders);
  if (!options.kernel.empty()) asked.kernels = {options.kernel};
  const std::string source = read_source(options.path);
  if (options.output.ends_with(kLibrarySuffix)) return write_library(source, std::move(asked), options);
  const shader::Translation translation = shader::translate(source, asked);
  print_error(translation.log);
  if (translation.first_error() != nullptr) return kFailed;

  switch (options.to) {
    case ShaderOutput::List:
      if (options.json)
        write_output(options.output, as_json(translation.kernels));
      else if (translation.kernels.empty())
        say(base::format("{} has no kernels", base::printable(asked.file)));
      else
        write_output(options.output, as_table(translation.kernels));
      if (!options.output.empty() && !options.output.starts_with("/dev/") && !options.list && !options.json)
        say(base::format("{} has the list of kernels; to write a translation, choose its language with --to",
                         base::printable(options.output)));
      break;
    default:
      write_output(options.output, translation.text);
  }
  return kDone;
}

}  // namespace kymo::cli
