#include "commands/record/program.h"

#include <elf.h>
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

namespace {

constexpr size_t kScriptHead = 256;  // as much as the kernel reads

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string interpreter_of_script(std::string_view head) {
  head.remove_prefix(2);  // #!
  head = head.substr(0, head.find('\n'));
  const size_t begin = std::min(head.find_first_not_of(" \t"), head.size());
  head.remove_prefix(begin);
  return std::string(head.substr(0, head.find_first_of(" \t\r")));
}

// Empty: it has none. False: a part of the program that says so is missing.
bool read_interpreter(std::ifstream& file, const Elf64_Ehdr& header, std::string& interpreter) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + uint64_t{i} * sizeof part));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return false;
    if (part.p_type != PT_INTERP) continue;
    constexpr uint64_t kLongest = 4096;
    if (part.p_filesz < 2 || part.p_filesz > kLongest) return false;
    interpreter.resize(part.p_filesz);
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    if (!file.read(interpreter.data(), static_cast<std::streamsize>(interpreter.size()))) return false;
    interpreter.resize(std::strlen(interpreter.c_str()));
  }
  return true;
}

}  // namespace

void refuse_unrunnable(const std::string& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kScriptHead> bytes{};
  file.read(bytes.data(), bytes.size());
  const std::string_view head(bytes.data(), static_cast<size_t>(file.gcount()));
  file.clear();

  std::string interpreter;
  if (head.starts_with("#!")) {
    interpreter = interpreter_of_script(head);
  } else if (head.starts_with(std::string_view(ELFMAG, SELFMAG)) && head.size() > EI_CLASS &&
             head[EI_CLASS] == ELFCLASS64) {
    Elf64_Ehdr header{};
    std::memcpy(&header, head.data(), std::min(head.size(), sizeof header));
    if (head.size() < sizeof header || header.e_phentsize != sizeof(Elf64_Phdr) ||
        !read_interpreter(file, header, interpreter))
      throw CannotRun(name, "it is a program for another processor or system, or it is damaged", kCannotRun);
  }
  if (!interpreter.empty() && !is_there(interpreter)) throw CannotRun(name, "its interpreter is not found", kNotFound);
}

}  // namespace kymo::cli
