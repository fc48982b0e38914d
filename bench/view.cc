// kymo view of a large trace: the first tiles of a new process, and moving around, with its memory.
//
//   bench_view FOLDER KYMO      writes FOLDER/random.kymo if it is not there (random_trace.h)
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "random_trace.h"
#include "report.h"

namespace {

constexpr uint64_t kRanges = 100'000'000;
constexpr unsigned kViews = 200;
constexpr double kPixels = 1920;

double milliseconds_since(uint64_t began) { return static_cast<double>(bench::host_ns() - began) / 1e6; }

// A running `kymo view`, and one connection to it.
class Viewer {
 public:
  Viewer(const std::string& command, const std::string& trace) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string words[] = {command, "view", trace, "--no-browser"};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    if (posix_spawn(&process_, command.c_str(), &actions, nullptr, argv, environ) != 0) process_ = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char byte = 0;
    std::string address;
    while (process_ != 0 && read(ends[0], &byte, 1) == 1 && byte != '\n') address += byte;
    close(ends[0]);
    const size_t colon = address.rfind(':'), slash = address.find('/', colon);
    if (colon == address.npos || slash == address.npos) return;
    path_ = address.substr(slash);
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    works_ = connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  ~Viewer() {
    if (socket_ >= 0) close(socket_);
    if (process_ == 0) return;
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  bool works() const { return works_; }

  std::string get(const std::string& path) {
    const std::string request = "GET " + path_ + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return {};
    std::string all;
    size_t body = std::string::npos, length = 0;
    char buffer[65'536];
    while (body == std::string::npos || all.size() < body + length) {
      const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) return {};
      all.append(buffer, static_cast<size_t>(got));
      if (body != std::string::npos) continue;
      const size_t end = all.find("\r\n\r\n"), field = all.find("Content-Length: ");
      if (end == all.npos || field == all.npos) continue;
      body = end + 4;
      length = std::stoul(all.substr(field + 16));
    }
    return all.substr(body);
  }

  double peak_mb() const {
    std::string text(4096, '\0');
    const int file = open(("/proc/" + std::to_string(process_) + "/status").c_str(), O_RDONLY | O_CLOEXEC);
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, read(file, text.data(), text.size()))));
    close(file);
    const size_t at = text.find("VmHWM:");
    return at == text.npos ? 0 : std::stod(text.substr(at + 6)) * 1024 / 1e6;
  }

 private:
  pid_t process_ = 0;
  int socket_ = -1;
  bool works_ = false;
  std::string path_;
};

// Whether the tiles of a view on two tracks are complete.
bool get_tiles(Viewer& viewer, double from, double to) {
  unsigned level = 0;
  while ((to - from) / std::exp2(level) > kPixels) ++level;
  const double tile = 1024 * std::exp2(level);
  const std::string bytes = viewer.get("api/tiles?w=" + std::to_string(level) +
                                       "&from=" + std::to_string(static_cast<uint64_t>(from / tile)) +
                                       "&to=" + std::to_string(static_cast<uint64_t>(to / tile)) + "&tracks=0,1");
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    if (at + 4 <= bytes.size()) memcpy(&value, bytes.data() + at, 4);
    return size_t{value};
  };
  const auto padded = [](size_t size) { return (size + 7) / 8 * 8; };
  bool complete = bytes.size() > 16;
  for (size_t left = number(4), at = 16; left > 0 && at < bytes.size(); --left) {
    complete = complete && (number(at + 24) & 2) == 0;
    at += 32 + padded(40 * number(at + 4)) + padded(28 * number(at + 8)) + 32 * number(at + 12);
  }
  return complete;
}

// Until all tiles of a view are complete, as the page asks for them.
double view_ms(Viewer& viewer, double from, double to) {
  const uint64_t began = bench::host_ns();
  while (!get_tiles(viewer, from, to)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return milliseconds_since(began);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string trace = std::string(argv[1]) + "/random.kymo", command = argv[2];
  if (access(trace.c_str(), R_OK) != 0) bench::write_random_trace(trace, kRanges);

  std::vector<double> first;
  for (unsigned i = 0; i < 5; ++i) {
    const uint64_t began = bench::host_ns();
    Viewer viewer(command, trace);
    if (!viewer.works() || viewer.get("").empty() || viewer.get("api/trace").empty()) return 1;
    get_tiles(viewer, 0, 51e9);
    first.push_back(milliseconds_since(began));
  }
  std::sort(first.begin(), first.end());
  bench::row("view_first", "kymo view, 100 M ranges: from the start to the first tiles",
             bench::text("%.0f ms", first[first.size() / 2]), "< 1 s", first[first.size() / 2] < 1000, {5, 0});

  Viewer viewer(command, trace);
  if (!viewer.works()) return 1;
  const std::string info = viewer.get("api/trace");
  const size_t field = info.find("\"duration_ns\": ");
  const double duration = field == info.npos ? 50e9 : std::stod(info.substr(field + 15));
  const double whole = view_ms(viewer, 0, duration);
  std::mt19937_64 random(1);
  std::vector<double> times;
  for (unsigned i = 0; i < kViews; ++i) {
    const double length = duration * std::exp2(-20 * std::generate_canonical<double, 53>(random));
    const double from = (duration - length) * std::generate_canonical<double, 53>(random);
    times.push_back(view_ms(viewer, from, from + length));
  }
  std::sort(times.begin(), times.end());
  const double median = times[kViews / 2], p99 = times[kViews * 99 / 100];
  bench::row("view_pan", "kymo view, 100 M ranges: all tiles of a random view",
             bench::text("%.1f ms, p99 %.1f ms; the first view of everything %.1f s", median, p99, whole / 1000),
             "< 50 ms, p99 < 150 ms", median < 50 && p99 < 150, {kViews, 0});
  bench::row("view_memory", "kymo view, 100 M ranges: peak memory of the server",
             bench::text("%.0f MB", viewer.peak_mb()), "< 200 MB", viewer.peak_mb() < 200, {1, 0});
}
