#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/test_tree.h"

namespace kymo::e2e {
namespace {

namespace fs = std::filesystem;

std::string make_folder(const std::string& base) {
  std::string name = base + "/kymo-e2e-XXXXXX";
  return mkdtemp(name.data()) != nullptr ? name : std::string();
}

// Shared memory if there is enough of it (a container may have little), otherwise a folder.
std::string make_memory_folder(const std::string& otherwise) {
  constexpr uint64_t kEnough = 1 << 30;
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) == 0 && uint64_t{status.f_bavail} * status.f_frsize >= kEnough)
    if (std::string made = make_folder("/dev/shm"); !made.empty()) return made;
  return make_folder(otherwise);
}

void redirect(int target, const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags, 0600);
  if (fd >= 0 && fd != target) {
    dup2(fd, target);
    close(fd);
  }
}

[[noreturn]] void become(const Words& words, const StartOptions& options, const std::string& prefix) {
  setpgid(0, 0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  redirect(0, "/dev/null", O_RDONLY);
  redirect(1, prefix + ".out", O_WRONLY | O_CREAT | O_TRUNC);
  redirect(2, prefix + ".err", O_WRONLY | O_CREAT | O_TRUNC);
  if (options.closed_streams)
    for (int fd = 0; fd < 3; ++fd) close(fd);
  if (options.user != 0 && (setgid(options.user) != 0 || setuid(options.user) != 0)) _exit(125);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

std::string program(const std::string& name) { return kymo::base::built("bin/" + name); }

bool have_kymo() { return access(program("kymo").c_str(), X_OK) == 0; }

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

// ---- Processes -----------------------------------------------------------------------------------------------------

Process::Process(const Words& words, const StartOptions& options, std::string prefix) : prefix_(std::move(prefix)) {
  pid_ = fork();
  if (pid_ == 0) become(words, options, prefix_);
  if (pid_ < 0) ADD_FAILURE() << "cannot fork: " << std::strerror(errno);
  setpgid(pid_, pid_);  // the parent or the child, depending on which runs first
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  if (!ended_) waitpid(pid_, nullptr, 0);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      ended_(other.ended_),
      prefix_(std::move(other.prefix_)) {}

void Process::signal(int number) const { kill(pid_, number); }

bool Process::ended() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

Ending Process::wait() {
  if (!wait_until("the end of process " + std::to_string(pid_), [this] { return ended(); })) {
    kill(-pid_, SIGKILL);
    ended_ = waitpid(pid_, &status_, 0) == pid_;
  }
  Ending ending;
  if (WIFEXITED(status_)) ending.code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) ending.signal = WTERMSIG(status_);
  ending.out = contents_of(prefix_ + ".out");
  ending.err = contents_of(prefix_ + ".err");
  return ending;
}

// ---- Tests ---------------------------------------------------------------------------------------------------------

std::string to_string(Collector collector) { return collector == Collector::InProgram ? "InProgram" : "KymoRecord"; }
void PrintTo(Collector collector, std::ostream* out) { *out << to_string(collector); }
std::string collector_name(const ::testing::TestParamInfo<Collector>& info) { return to_string(info.param); }

EndToEnd::EndToEnd() : folder_(make_folder(fs::temp_directory_path())), memory_(make_memory_folder(folder_)) {
  for (const char* name : {"KYMO_TRACE", "KYMO_TRACE_SESSION", "KYMO_SESSION", "KYMO_SESSION_FILE", "KYMO_SESSION_HOME",
                           "KYMO_POLICY", "KYMO_RING_BYTES", "KYMO_FLIGHT", "KYMO_SINKS"})
    unsetenv(name);
  setenv("KYMO_SHM_DIR", memory_.c_str(), 1);
  setenv("KYMO_SAMPLE", "off", 1);  // these tests count events; sampling_test.py is about samples
}

EndToEnd::~EndToEnd() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  fs::remove_all(memory_, ignored);
}

std::vector<std::string> EndToEnd::left_in_memory() const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(memory_, ignored))
    if (!entry.is_directory()) names.push_back(entry.path().filename());
  return names;
}

Process EndToEnd::start(const Words& words, const StartOptions& options) {
  return Process(words, options, file("process-" + std::to_string(started_++)));
}

Ending EndToEnd::run(const Words& words, const StartOptions& options) { return start(words, options).wait(); }

Process EndToEnd::start_recorded(Collector collector, const std::string& trace, const Words& words,
                                 const RecordOptions& options) {
  StartOptions how;
  Words line;
  if (collector == Collector::InProgram) {
    line = words;
    how.environment.emplace_back("KYMO_TRACE", trace);
    if (!options.policy.empty()) how.environment.emplace_back("KYMO_POLICY", options.policy);
    if (options.ring_bytes != 0) how.environment.emplace_back("KYMO_RING_BYTES", std::to_string(options.ring_bytes));
  } else {
    line = {program("kymo"), "record", "--quiet", "-o", trace};
    if (!options.policy.empty()) line.insert(line.end(), {"--policy", options.policy});
    if (options.ring_bytes != 0) line.insert(line.end(), {"--ring-size", std::to_string(options.ring_bytes)});
    line.push_back("--");
    line.insert(line.end(), words.begin(), words.end());
  }
  return start(line, how);
}

Ending EndToEnd::run_recorded(Collector collector, const std::string& trace, const Words& words,
                              const RecordOptions& options) {
  return start_recorded(collector, trace, words, options).wait();
}

Ending EndToEnd::run_traced(const std::string& trace, const Words& words, Environment environment) {
  environment.emplace_back("KYMO_TRACE", trace);
  return run(words, {.environment = std::move(environment)});
}

}  // namespace kymo::e2e
