#include "hosts/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

extern char** environ;

namespace kymo::hosts {
namespace {

constexpr size_t kMaxOutput = 1 << 20;
constexpr int kNotFound = 127, kSignalled = 128;

struct Pipe {
  base::FileDescriptor read, write;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(base::format("cannot start a program: {}", strerror(errno)));
    read = base::FileDescriptor(ends[0]);
    write = base::FileDescriptor(ends[1]);
  }
};

void set_not_blocking(const base::FileDescriptor& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

Process::Process(const std::vector<std::string>& words) {
  Pipe in, out, err;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, in.read.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  ::posix_spawnattr_setsigmask(&attributes, &none);  // the caller may have blocked signals for itself
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error = ::posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error == ENOENT || error == EACCES) {
    pid_ = -1;
    exit_code_ = kNotFound;
    return;
  }
  if (error != 0) throw Error(base::format("cannot start {}: {}", words[0], strerror(error)));
  input = std::move(in.write);
  output = std::move(out.read);
  errors = std::move(err.read);
  set_not_blocking(output);
  set_not_blocking(errors);
}

Process::~Process() {
  if (pid_ < 0 || exit_code_ >= 0) return;
  ::kill(-pid_, SIGKILL);
  wait();
}

void Process::signal(int number) const {
  if (pid_ > 0 && exit_code_ < 0) ::kill(pid_, number);
}

int Process::collect(int options) {
  int status = 0;
  pid_t done = -1;
  while (exit_code_ < 0 && (done = ::waitpid(pid_, &status, options)) < 0 && errno == EINTR) {
  }
  if (exit_code_ < 0 && done != 0)
    exit_code_ = done < 0 ? kNotFound : WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return exit_code_;
}

Outcome run_to_end(const std::vector<std::string>& words) {
  Process process(words);
  Outcome outcome;
  process.input.reset();
  std::string buffer(1 << 16, '\0');
  while (process.output || process.errors) {
    pollfd ready[2] = {{process.output.get(), POLLIN, 0}, {process.errors.get(), POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) break;
    for (auto [fd, text] : {std::pair(&process.output, &outcome.output), {&process.errors, &outcome.errors}}) {
      if (!*fd) continue;
      const ssize_t count = ::read(fd->get(), buffer.data(), buffer.size());
      if (count > 0)
        text->append(buffer, 0,
                     std::min<size_t>(static_cast<size_t>(count), kMaxOutput - std::min(kMaxOutput, text->size())));
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) fd->reset();
    }
  }
  outcome.exit_code = process.wait();
  return outcome;
}

std::string_view last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const size_t newline = text.rfind('\n');
  return newline == text.npos ? text : text.substr(newline + 1);
}

}  // namespace kymo::hosts
