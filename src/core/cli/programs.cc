#include "cli/programs.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/format.h"

extern char** environ;

namespace kymo::cli {
namespace {

constexpr const char* kImporter = "kymo-import";
Importer own_importer = nullptr;

std::vector<char*> argument_list(std::string& path, Arguments& arguments) {
  std::vector<char*> list{path.data()};
  for (std::string& argument : arguments) list.push_back(argument.data());
  list.push_back(nullptr);
  return list;
}

// The signals that main() blocks for itself are not blocked for others.
sigset_t no_signals() {
  sigset_t none;
  sigemptyset(&none);
  return none;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got > 0)
      text.append(piece.data(), static_cast<size_t>(got));
    else if (got == 0 || errno != EINTR)
      return text;
  }
}

// Most files are Kymo's own. What is not a file, such as a pipe, is for the reader to refuse.
bool needs_no_import(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::character) return true;
  std::ifstream file(path, std::ios::binary);
  std::array<char, trace::kMagic.size()> head{};
  file.read(head.data(), head.size());
  return std::memcmp(head.data(), trace::kMagic.data(), head.size()) == 0;
}

}  // namespace

// Of an installed tree, of a build folder, or beside this program, which may be one of them itself.
std::string program_path(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& folder : {here.parent_path() / KYMO_PROGRAM_SUBFOLDER, here}) {
    const fs::path path = folder / file;
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  }
  throw NotAvailable(base::format(
      "this needs the program {}, which is not installed beside kymo: install all of Kymo, or build it (make)", file));
}

void become_program(const std::string& file, const Arguments& arguments) {
  std::string path = program_path(file);
  Arguments words = arguments;
  const sigset_t none = no_signals();
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::execv(path.c_str(), argument_list(path, words).data());
  throw Error(base::format("cannot start {}: {}", base::printable(path), std::strerror(errno)));
}

ProgramOutput run_beside(const std::string& file, const Arguments& arguments) {
  std::string path = program_path(file);
  Arguments words = arguments;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(base::format("cannot make a pipe: {}", std::strerror(errno)));
  const base::FileDescriptor output(ends[0]);
  base::FileDescriptor input(ends[1]);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const sigset_t none = no_signals();
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  pid_t process = 0;
  const int failed =
      ::posix_spawn(&process, path.c_str(), &actions, &attributes, argument_list(path, words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) throw Error(base::format("cannot start {}: {}", base::printable(path), std::strerror(failed)));
  input = base::FileDescriptor();

  ProgramOutput result;
  result.output = read_all(output.get());
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  result.exit_code = WIFSIGNALED(status) ? kDiedOfSignal + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

bool is_foreign_trace(const std::string& path) {
  return !needs_no_import(path) && run_beside(kImporter, {"probe", path}).exit_code == kDone;
}

void set_importer(Importer importer) { own_importer = importer; }

// kymo-import prints "ok EVENTS LOST", "unknown", or "error " and the message.
std::optional<Imported> import_file(const ImportRequest& request) {
  if (needs_no_import(request.path)) return std::nullopt;
  if (own_importer != nullptr) return own_importer(request);
  const ProgramOutput result = run_beside(kImporter, {"read", request.path, request.output, request.output_name,
                                                      request.range_values ? "values" : "no-values"});
  if (result.output == "unknown") return std::nullopt;
  Imported imported;
  if (std::sscanf(result.output.c_str(), "ok %" SCNu64 " %" SCNu64, &imported.events, &imported.lost) == 2)
    return imported;
  if (result.output.starts_with("error ")) throw Error(result.output.substr(6));
  throw Error(base::format("cannot import {}: {} ended with exit code {}", base::printable(request.path), kImporter,
                           result.exit_code));
}

}  // namespace kymo::cli
