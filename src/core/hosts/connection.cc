#include "hosts/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"

namespace kymo::hosts {
namespace {

using std::chrono::milliseconds;

constexpr int kClockExchanges = 20;
constexpr size_t kMaxOutput = size_t{64} << 20;
constexpr size_t kMaxErrors = size_t{1} << 16;
constexpr int kNotFound = 127, kSshFailed = 255;
constexpr milliseconds kLookForStop{100};

std::vector<std::string> ssh_words(const SshOptions& options, const std::string& host) {
  std::vector<std::string> words = options.command;
  const auto seconds = std::max<int64_t>(1, (options.timeout.count() + 999) / 1000);
  words.insert(words.end(), {"-T", "-o", "BatchMode=yes", "-o", base::format("ConnectTimeout={}", seconds), "-o",
                             "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"});
  if (const std::string folder = control_folder(); !folder.empty())
    words.insert(words.end(), {"-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o",
                               base::format("ControlPath={}/%C", folder)});
  words.insert(words.end(), {"--", host, options.remote_kymo, "remote"});
  return words;
}

}  // namespace

std::string control_folder() {
  const char* const runtime = base::environment("XDG_RUNTIME_DIR");
  const std::string folder = runtime != nullptr && *runtime == '/' ? base::format("{}/kymo-ssh", runtime)
                                                                   : base::format("/tmp/kymo-ssh-{}", ::geteuid());
  if (folder.size() > 50) return {};  // ssh adds 40 characters and more, and a socket's path has at most 108
  ::mkdir(folder.c_str(), 0700);
  struct stat found {};
  const bool is_ours = ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() &&
                       (found.st_mode & 077) == 0;
  return is_ours ? folder : std::string();
}

Connection::Connection(const SshOptions& options, const std::string& host, const std::atomic<int>& stop)
    : stop_(stop), timeout_(options.timeout), ssh_(std::make_unique<Process>(ssh_words(options, host))) {
  if (ssh_->ended() == kNotFound) throw Error(base::format("{} was not found here", options.command[0]));
  // ssh's own timeout is in whole seconds, and does not cover a host that accepts and then says nothing.
  const Frame hello = receive(Clock::now() + timeout_ + milliseconds(1000));
  if (hello.type != FrameType::Hello) fail("it does not greet");
  base::ByteReader fields(base::as_bytes(hello.body));
  version_ = fields.string();
  boot_id_ = fields.string();
}

void Connection::fail(std::string_view why) {
  const std::string_view said = last_line(errors_);
  if (ssh_->ended() == kNotFound && said.find("shared libraries") != said.npos)
    throw Error(base::format("kymo does not start there: {}; install it with its libraries", base::printable(said)));
  if (ssh_->ended() == kNotFound)
    throw Error("kymo was not found there; install it, or say where it is with --remote-kymo");
  if (ssh_->ended() == kSshFailed && !said.empty()) throw Error(base::printable(said));
  throw Error(said.empty() ? std::string(why) : base::format("{}: {}", why, base::printable(said)));
}

template <class Body>
void Connection::send(FrameType type, const Body& body) {
  const std::string bytes = encoded(type, body);
  size_t written = 0;
  if (base::write_all(ssh_->input.get(), base::as_bytes(bytes), written) != 0) fail("the connection ended");
}

// Waits until one of the streams has something, and reads it.
void Connection::read_streams(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
  if (left.count() <= 0)
    fail(base::format("no answer within {}",
                      base::duration_text(static_cast<uint64_t>(std::chrono::nanoseconds(timeout_).count()))));
  pollfd ready[2] = {{ssh_->output.get(), POLLIN, 0}, {ssh_->errors.get(), POLLIN, 0}};
  ::poll(ready, 2, static_cast<int>(std::min(left, kLookForStop).count()));
  char buffer[1 << 16];
  if (ssh_->errors) {
    const ssize_t count = ::read(ssh_->errors.get(), buffer, sizeof buffer);
    if (count == 0) ssh_->errors.reset();
    if (count > 0 && errors_.size() < kMaxErrors) errors_.append(buffer, static_cast<size_t>(count));
  }
  const ssize_t count = ::read(ssh_->output.get(), buffer, sizeof buffer);
  if (count > 0) frames_.add({buffer, static_cast<size_t>(count)});
  if (count == 0) {
    for (int i = 0; i < 200 && ssh_->ended() < 0; ++i) ::usleep(10'000);  // its exit code says why
    fail("the connection ended");
  }
}

Frame Connection::receive(Clock::time_point until) {
  while (true) {
    if (auto frame = frames_.next()) return std::move(*frame);
    if (const int stops = stop_.load(); stops > stops_sent_ && !version_.empty()) {
      stops_sent_ = stops;
      send(FrameType::Stop, "");
    }
    read_streams(until);
  }
}

ClockOffset Connection::measure_clock() {
  ClockOffset best{0, UINT64_MAX};
  for (int i = 0; i <= kClockExchanges; ++i) {
    const uint64_t began = base::realtime_ns();
    send(FrameType::Clock, "");
    const Frame answer = receive(Clock::now() + timeout_);
    const uint64_t ended = base::realtime_ns();
    if (answer.type != FrameType::Time) fail("it does not say what time it is");
    const auto there = base::ByteReader(base::as_bytes(answer.body)).fixed<uint64_t>();
    const uint64_t error = (ended - std::min(began, ended)) / 2 + 1;
    // The first exchange is slow: its code is not in the caches.
    if (i != 0 && error < best.error_ns) best = {static_cast<int64_t>(there - (began + error)), error};
  }
  return best;
}

Connection::Result Connection::run(const std::vector<std::string>& words, milliseconds limit) {
  base::ByteWriter body;
  body.varint(words.size());
  for (const std::string& word : words) body.string(word);
  send(FrameType::Run, body);
  Result result;
  const auto until = Clock::now() + limit;
  while (true) {
    Frame frame = receive(until);
    if (frame.type == FrameType::Output && result.output.size() < kMaxOutput) result.output += frame.body;
    if (frame.type == FrameType::Errors && result.errors.size() < kMaxErrors) result.errors += frame.body;
    if (frame.type != FrameType::Ended) continue;
    result.exit_code = static_cast<int>(base::ByteReader(base::as_bytes(frame.body)).fixed<uint32_t>());
    return result;
  }
}

uint64_t Connection::fetch(const std::string& path, const std::string& to) {
  const std::string part = to + ".part";
  base::FileDescriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) throw base::file_error("write", part, errno);
  FileHash hash;
  uint64_t have = 0;
  base::ByteWriter body;
  body.string(path);
  body.fixed(have);
  send(FrameType::Read, body);
  while (true) {
    const Frame frame = receive(Clock::now() + timeout_);
    if (frame.type == FrameType::Failed) throw Error(base::printable(frame.body));
    if (frame.type == FrameType::Part) {
      size_t written = 0;
      if (const int error = base::write_all(file.get(), base::as_bytes(frame.body), written); error != 0)
        throw base::file_error("write", part, error);
      hash.add_part(base::as_bytes(frame.body));
      have += frame.body.size();
    }
    if (frame.type != FrameType::Whole) continue;
    base::ByteReader fields(base::as_bytes(frame.body));
    const auto size = fields.fixed<uint64_t>(), expected = fields.fixed<uint64_t>();
    if (size != have || expected != hash.value()) {
      ::unlink(part.c_str());
      throw Error(base::format("what arrived of {} is not what is there", base::printable(path)));
    }
    if (::fsync(file.get()) != 0 || ::rename(part.c_str(), to.c_str()) != 0) throw base::file_error("write", to, errno);
    return size;
  }
}

}  // namespace kymo::hosts
