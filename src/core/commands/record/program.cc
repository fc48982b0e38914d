#include "commands/record/program.h"

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "cli/command.h"

namespace kymo::cli {
namespace {

constexpr const char* kDefaultPath = "/bin:/usr/bin";  // what execvp searches where PATH is unset

// 0, or why this file cannot be run.
int why_not(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

std::vector<std::string> environment_with(const Program::Environment& additions) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced =
        std::any_of(additions.begin(), additions.end(), [&](const auto& a) { return a.first == name; });
    if (!replaced) variables.emplace_back(text);
  }
  for (const auto& [name, value] : additions) variables.push_back(base::format("{}={}", name, value));
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Not a script: scripts have no zero bytes.
bool is_binary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 64> head{};
  file.read(head.data(), head.size());
  return std::memchr(head.data(), '\0', static_cast<size_t>(file.gcount())) != nullptr;
}

struct SpawnAttributes {
  posix_spawnattr_t attributes;
  explicit SpawnAttributes(const sigset_t& signal_mask) {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    ::posix_spawnattr_setsigmask(&attributes, &signal_mask);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

}  // namespace

CannotRun::CannotRun(const std::string& name, int error_number)
    : CannotRun(name, std::strerror(error_number), error_number == ENOENT ? kNotFound : ExitCode::kCannotRun) {}

CannotRun::CannotRun(const std::string& name, const std::string& reason, int exit_code)
    : Error(base::format("cannot run '{}': {}", name, reason)), exit_code_(exit_code) {}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (const int error_number = why_not(name)) throw CannotRun(name, error_number);
    return name;
  }
  const char* path = base::environment("PATH");
  int found_but = ENOENT;
  for (const std::string& folder : base::split(path != nullptr ? path : kDefaultPath, ':')) {
    if (name.empty()) break;
    std::string candidate = base::format("{}/{}", folder.empty() ? "." : folder, name);
    const int error_number = why_not(candidate);
    if (error_number == 0) return candidate;
    if (error_number == EACCES) found_but = EACCES;
  }
  throw CannotRun(name, found_but);
}

int Ending::exit_code() const { return signal != 0 ? kDiedOfSignal + signal : status; }

Program::Program(const std::string& path, const std::vector<std::string>& words, const Environment& additions,
                 const sigset_t& signal_mask) {
  std::vector<std::string> arguments = words;
  std::vector<std::string> variables = environment_with(additions);
  const SpawnAttributes spawn(signal_mask);
  std::signal(SIGCHLD, SIG_DFL);  // if it were ignored (inherited), waitpid would find nothing
  // posix_spawn, not fork: the recording thread may hold a lock now, and posix_spawn returns the error of exec.
  int failure = ::posix_spawn(&pid_, path.c_str(), nullptr, &spawn.attributes, pointers(arguments).data(),
                              pointers(variables).data());
  if (failure == ENOEXEC && is_binary(path))
    throw CannotRun(words[0], "it is a program for another processor or system, or it is damaged",
                    ExitCode::kCannotRun);
  if (failure == ENOEXEC) {  // a script without a #! line: run it with the shell, as execvp does
    arguments = {"sh", path};
    arguments.insert(arguments.end(), words.begin() + 1, words.end());
    failure = ::posix_spawn(&pid_, "/bin/sh", nullptr, &spawn.attributes, pointers(arguments).data(),
                            pointers(variables).data());
  }
  if (failure == ENOENT) throw CannotRun(words[0], "its interpreter is not found", kNotFound);
  if (failure != 0) throw CannotRun(words[0], failure);
}

void Program::signal(int number) const {
  if (!ending_) ::kill(pid_, number);
}

std::optional<Ending> Program::ended() {
  if (ending_) return ending_;
  int status = 0;
  pid_t reaped = 0;
  do reaped = ::waitpid(pid_, &status, WNOHANG);
  while (reaped < 0 && errno == EINTR);
  if (reaped == pid_) {
    ending_.emplace();
    if (WIFSIGNALED(status)) ending_->signal = WTERMSIG(status);
    if (WIFEXITED(status)) ending_->status = WEXITSTATUS(status);
  }
  return ending_;
}

}  // namespace kymo::cli
