#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "base/version.h"
#include "hosts/connection.h"
#include "hosts/frame.h"
#include "hosts/process.h"
#include "kymo/error.h"

namespace kymo::hosts {
namespace {

constexpr uint64_t kMaxWords = 10'000;
constexpr int kPatience = 5000;  // ms, for a command whose caller is gone

class FarEnd {
 public:
  FarEnd(int input, int output, const std::string& kymo) : input_(input), output_(output), kymo_(kymo) {}

  int serve() {
    write(std::string(kGreeting));
    base::ByteWriter hello;
    hello.string(base::kVersion);
    hello.string(base::boot_id());
    send(FrameType::Hello, hello);
    while (!is_over_) step();
    if (command_) finish_command();
    return 0;
  }

 private:
  void write(std::string_view bytes) {
    size_t written = 0;
    if (base::write_all(output_, base::as_bytes(bytes), written) != 0) is_over_ = true;
  }
  template <class Body = std::string_view>
  void send(FrameType type, const Body& body) {
    write(encoded(type, body));
  }

  void step() {
    std::vector<pollfd> ready = {{input_, POLLIN, 0}};
    for (const base::FileDescriptor* fd :
         {command_ ? &command_->output : nullptr, command_ ? &command_->errors : nullptr})
      if (fd != nullptr && *fd) ready.push_back({fd->get(), POLLIN, 0});
    if (::poll(ready.data(), ready.size(), command_ ? 100 : -1) < 0 && errno != EINTR) is_over_ = true;
    if ((ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) take_input();
    if (command_) take_output();
  }

  void take_input() {
    char buffer[1 << 16];
    const ssize_t count = ::read(input_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      is_over_ = true;
      return;
    }
    frames_.add({buffer, static_cast<size_t>(count)});
    while (const auto frame = frames_.next()) take(*frame);
  }

  void take(const Frame& frame) {
    base::ByteReader fields(base::as_bytes(frame.body));
    if (frame.type == FrameType::Clock) {
      base::ByteWriter now;
      now.fixed(base::realtime_ns());
      send(FrameType::Time, now);
    } else if (frame.type == FrameType::Run) {
      const uint64_t count = fields.varint();
      if (command_ || count > kMaxWords) throw Error("a command runs already, or has too many words");
      std::vector<std::string> words = {kymo_};
      for (uint64_t i = 0; i < count; ++i) words.emplace_back(fields.string());
      command_ = std::make_unique<Process>(words);
      command_->input.reset();
    } else if (frame.type == FrameType::Stop && command_) {
      command_->signal(SIGINT);
    } else if (frame.type == FrameType::Read) {
      const std::string path(fields.string());
      send_file(path, fields.fixed<uint64_t>());
    }
  }

  bool forward(base::FileDescriptor& fd, FrameType type) {
    char buffer[1 << 16];
    const ssize_t count = fd ? ::read(fd.get(), buffer, sizeof buffer) : 0;
    if (count > 0) send(type, {buffer, static_cast<size_t>(count)});
    if (count == 0) fd.reset();
    return count > 0;
  }

  void take_output() {
    const bool has_ended = command_->ended() >= 0;  // before what it printed last is read
    while (forward(command_->output, FrameType::Output)) {
    }
    while (forward(command_->errors, FrameType::Errors)) {
    }
    if (!has_ended) return;
    base::ByteWriter code;
    code.fixed(static_cast<uint32_t>(command_->ended()));
    send(FrameType::Ended, code);
    command_.reset();
  }

  void send_file(const std::string& path, uint64_t from) {
    try {
      base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      if (!file) throw base::file_error("read", path, errno);
      struct stat found {};
      if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode))
        throw Error(base::format("{} is not a file", path));
      FileHash hash;
      std::vector<std::byte> buffer(kPartBytes);
      uint64_t at = 0;
      while (!is_over_) {
        const size_t count = base::read_at(file, path, at, buffer);
        if (count == 0) break;
        const base::Bytes part(buffer.data(), count);
        hash.add_part(part);
        if (at >= from) send(FrameType::Part, {reinterpret_cast<const char*>(part.data()), part.size()});
        at += count;
        if (count < kPartBytes) break;
      }
      base::ByteWriter whole;
      whole.fixed(at);
      whole.fixed(hash.value());
      send(FrameType::Whole, whole);
    } catch (const Error& error) {
      send(FrameType::Failed, error.what());
    }
  }

  // Nobody listens any more. The command is stopped as by Ctrl-C, so that it leaves nothing behind.
  void finish_command() {
    command_->signal(SIGINT);
    for (int waited = 0; command_->ended() < 0 && waited < kPatience; waited += 10) {
      char buffer[1 << 12];
      while (::read(command_->output.get(), buffer, sizeof buffer) > 0) {
      }
      while (::read(command_->errors.get(), buffer, sizeof buffer) > 0) {
      }
      ::usleep(10'000);
    }
  }

  const int input_, output_;
  const std::string kymo_;
  FrameReader frames_{FrameReader::Expect::Frames};
  std::unique_ptr<Process> command_;
  bool is_over_ = false;
};

}  // namespace

int serve_far_end(int input, int output, const std::string& kymo) {
  ::signal(SIGPIPE, SIG_IGN);
  return FarEnd(input, output, kymo).serve();
}

}  // namespace kymo::hosts
