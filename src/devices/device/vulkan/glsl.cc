#include "device/vulkan/glsl.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "base/text.h"
#include "device/backend.h"
#include "device/vulkan/spirv_exact.h"

namespace kymo::device::vulkan {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Removes `word` and the blanks after it from the front. False: the text begins with something else.
bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

template <class Each>
void for_each_line(std::string_view text, Each&& each) {
  for (uint32_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool is_identifier(std::string_view name) {
  const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, letter) && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
}

[[noreturn]] void refuse_pragma(std::string_view file, uint32_t line, const std::string& text) {
  throw CompileError(base::format("{}:{}: error: {}", file, line, text), std::string(file), line, 0, text);
}

}  // namespace

std::vector<std::string> kernel_pragmas(std::string_view text, std::string_view file) {
  std::vector<std::string> names;
  for_each_line(text, [&](std::string_view line, uint32_t number) {
    line = trimmed(line);
    if (!skip(line, "#") || !skip(line, "pragma")) return;
    if (!line.starts_with("kernel") || (line.size() > 6 && kBlank.find(line[6]) == std::string_view::npos)) return;
    skip(line, "kernel");
    const std::string_view name = line.substr(0, std::min(line.find_first_of(" \t/"), line.size()));
    if (!is_identifier(name))
      refuse_pragma(file, number, base::format("`#pragma kernel {}` needs the name of a function", name));
    if (std::ranges::find(names, name) != names.end())
      refuse_pragma(file, number, base::format("the kernel {} is named twice", name));
    names.emplace_back(name);
  });
  return names;
}

GlslOptions parse_glsl_options(const std::vector<std::string>& options) {
  GlslOptions parsed;
  for (size_t i = 0; i < options.size(); ++i) {
    std::string_view option = options[i];
    if (option == "-g") {
      parsed.debug = true;
    } else if (option.starts_with("-D")) {
      option.remove_prefix(2);
      if (option.empty() && i + 1 < options.size()) option = options[++i];
      const size_t equals = std::min(option.find('='), option.size());
      const std::string_view name = option.substr(0, equals);
      if (!is_identifier(name))
        throw InvalidArgument(base::format(
            "the option -D{} of a GLSL kernel has no valid macro name: use -DNAME or -DNAME=VALUE", option));
      parsed.macros.emplace_back(name, option.substr(std::min(equals + 1, option.size())));
    } else {
      throw InvalidArgument(
          base::format("unknown option {} for a GLSL kernel: use -DNAME, -DNAME=VALUE or -g", option));
    }
  }
  return parsed;
}

std::string tidy_glslang_log(std::string_view log, std::string_view path, std::string_view file) {
  std::string tidy;
  for_each_line(log, [&](std::string_view line, uint32_t) {
    std::string_view rest = trimmed(line);
    if (rest.empty() || rest == path || rest.starts_with("SPIR-V is not generated") ||
        rest.ends_with("No code generated.") || rest.ends_with("'' : compilation terminated"))
      return;
    const bool error = skip(rest, "ERROR:");
    if (error && !tidy.empty() && rest.starts_with("Linking")) return;  // only repeats an earlier error
    if (!error && !skip(rest, "WARNING:")) {
      tidy += base::format("{}\n", rest);
      return;
    }
    const std::string_view kind = error ? "error" : "warning";
    if (rest.starts_with(path) && rest.substr(path.size()).starts_with(":")) {
      const std::string_view place = rest.substr(path.size() + 1);
      const size_t colon = std::min(place.find(':'), place.size());
      tidy += base::format("{}:{}: {}: {}\n", file, place.substr(0, colon), kind,
                           trimmed(place.substr(std::min(colon + 1, place.size()))));
    } else {
      tidy += base::format("{}: {}: {}\n", file, kind, rest);
    }
  });
  return tidy;
}

CompileError glsl_error(std::string_view log, std::string_view file) {
  constexpr std::string_view kError = " error: ";
  std::string whole(log.substr(0, log.find_last_not_of(" \t\r\n") + 1));
  if (whole.empty()) whole = base::format("{}: error: the compiler does not say why", file);
  std::string text = whole;
  uint32_t line_number = 0;
  bool found = false;
  for_each_line(whole, [&](std::string_view line, uint32_t) {
    const size_t at = line.find(kError);
    if (found || at == std::string_view::npos) return;
    found = true;
    text = trimmed(line.substr(at + kError.size()));
    // "FILE:3:" or "FILE:"
    std::string_view place = line.substr(0, at);
    if (!place.ends_with(':')) return;
    place.remove_suffix(1);
    const std::string_view digits = place.substr(place.rfind(':') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), line_number);
  });
  return {whole, std::string(file), line_number, 0, text};
}

std::vector<ModuleCode> compile_glsl(const GlslCompiler& compiler, const Source& source) {
  const GlslOptions options = parse_glsl_options(source.options);
  const std::vector<std::string> names = kernel_pragmas(source.text, source.file);
  std::vector<ModuleCode> modules;
  const auto compiled = [&](const GlslOptions& own) {
    return spirv::without_contraction(spirv::Module(compiler.compile(source.text, own, source.file)));
  };
  if (names.empty()) modules.push_back({"", compiled(options)});
  for (const std::string& name : names) {
    GlslOptions own = options;
    own.macros.emplace_back(name, "main");
    try {
      modules.push_back({name, compiled(own)});
    } catch (const CompileError& error) {
      if (error.text().find("Missing entry point") == std::string::npos) throw;
      throw glsl_error(
          base::format("{}: error: `#pragma kernel {}`: function not found: void {}()", source.file, name, name),
          source.file);
    }
  }
  return modules;
}

// ---- The compiler: the program glslang, in a process of its own -----------------------------------------------------

namespace {

namespace fs = std::filesystem;

// A temporary folder, deleted with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code ignored;
    fs::path base = fs::temp_directory_path(ignored);
    if (base.empty()) base = "/tmp";
    std::string pattern = base / "kymo-glsl-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error(
          base::format("cannot create a folder for the GLSL compiler in {}: {}", base.string(), std::strerror(errno)));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Runs a program to its end and returns its output. The output file shows whether it succeeded: the process may wait
// for all its children elsewhere and so take the exit status.
std::string run(const std::string& program, std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(base::format("{} cannot be run: {}", program, std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> pointers{const_cast<char*>(program.c_str())};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t got = 0; failed == 0 && (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) output.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (failed != 0) throw Error(base::format("{} cannot be run: {}", program, std::strerror(failed)));
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return output;
}

// Searches PATH like a shell; empty: not found.
std::string in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* variable = base::environment("PATH");
  for (const std::string& folder : base::split(variable != nullptr ? variable : "/usr/local/bin:/usr/bin", ':')) {
    std::string candidate = folder + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace

GlslCompiler::GlslCompiler() {
  const char* chosen = base::environment("KYMO_GLSLANG");
  std::vector<std::string> names{"glslangValidator", "glslang"};
  if (chosen != nullptr && *chosen != '\0') names = {chosen};
  for (const std::string& name : names)
    if (program_ = in_path(name); !program_.empty()) return;
  throw NotAvailable(base::format("vulkan: the GLSL compiler {} was not found (Debian: glslang-tools)", names.front()));
}

std::vector<uint32_t> GlslCompiler::compile(std::string_view text, const GlslOptions& options,
                                            std::string_view file) const {
  const TemporaryFolder folder;
  const std::string input = folder / "kernel.comp", output = folder / "kernel.spv";
  if (!(std::ofstream(input, std::ios::binary) << text).flush())
    throw Error(base::format("{} cannot be written: is the disk full?", input));
  std::vector<std::string> arguments{"-V", "--target-env", "vulkan1.2", "-S", "comp", "-o", output};
  if (options.debug) arguments.emplace_back("-g");
  for (const auto& [name, value] : options.macros)
    arguments.push_back(value.empty() ? "-D" + name : base::format("-D{}={}", name, value));
  arguments.push_back(input);
  const std::string log = run(program_, std::move(arguments));
  std::ifstream compiled(output, std::ios::binary);
  if (!compiled) throw glsl_error(tidy_glslang_log(log, input, file), file);
  return spirv::Module::words_of(std::string(std::istreambuf_iterator<char>(compiled), {}));
}

}  // namespace kymo::device::vulkan
