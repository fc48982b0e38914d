// Compiles GLSL with the glslang program, in a separate process: if libshaderc is missing, or cannot be loaded, as in
// Debian 12.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "base/text.h"
#include "device/vulkan/glsl.h"

namespace kymo::device::vulkan {
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

class GlslangProgram final : public GlslCompiler {
 public:
  explicit GlslangProgram(std::string program) : program_(std::move(program)) {}

  std::vector<uint32_t> compile(std::string_view text, const GlslOptions& options, std::string_view file) override {
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

 private:
  const std::string program_;
};

// Searches PATH like a shell; empty: not found.
std::string in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* variable = base::environment("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin";
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    std::string candidate = base::format("{}/{}", rest.substr(0, colon), name);
    if (colon != 0 && access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return "";
}

}  // namespace

std::unique_ptr<GlslCompiler> find_glslang_program() {
  const char* chosen = base::environment("KYMO_GLSLANG");
  std::vector<std::string> names{"glslangValidator", "glslang"};
  if (chosen != nullptr && *chosen != '\0') names = {chosen};
  for (const std::string& name : names)
    if (std::string found = in_path(name); !found.empty()) return std::make_unique<GlslangProgram>(std::move(found));
  throw NotAvailable(base::format("program {} not found (Debian: glslang-tools)", names.front()));
}

}  // namespace kymo::device::vulkan
