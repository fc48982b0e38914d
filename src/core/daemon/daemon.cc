#include "daemon/daemon.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/call_server.h"
#include "daemon/dynolog.h"
#include "daemon/server.h"
#include "metrics/endpoint.h"
#include "sensors/gpu_sensors.h"
#include "wire/message.h"

namespace kymo::daemon {

const char* const kDaemonDescription =
    "Connects the commands that request traces with the programs that record them.\n"
    "As root it serves all users, at /run/kymo. Otherwise it serves one user, at $XDG_RUNTIME_DIR/kymo.";

void add_options(options::CommandLine& line, DaemonOptions& options) {
  line.value("--socket", "PATH", options.socket, "listen at this path instead");
  line.flag("--user", options.is_for_user, "as root: serve only root, not all users");
  line.values("--output-folder", "FOLDER", options.output_folders,
              "allow traces only below this folder; can be repeated");
  line.flag("-q,--quiet", options.quiet, "print only problems");
  line.flag("--dynolog", options.dynolog, "also serve programs with libkineto (PyTorch) and the dyno command");
  line.value("--dynolog-dir", "FOLDER", options.dynolog_folder,
             "folder of the sockets; default: $KINETO_IPC_SOCKET_DIR");
  line.value("--dynolog-address", "ADDRESS[:PORT],…", options.dynolog_addresses,
             "where dyno connects; default: 127.0.0.1:1778 and\n[::1]:1778. An address that other hosts can reach\n"
             "needs --token");
  line.value("--token", "FILE", options.token_file, "file with the token that requests from the network must carry");
  line.value("--metrics", "PLACE", options.metrics,
             "serve metrics for Prometheus: 127.0.0.1:9463 or\nunix:/run/kymo/metrics");
}

namespace {

// SIGTERM and SIGINT as a descriptor, so that they do not interrupt other work.
base::FileDescriptor stop_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  base::FileDescriptor descriptor(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor) throw Error(base::format("cannot wait for signals: {}", std::strerror(errno)));
  return descriptor;
}

// Raises the limit of descriptors to the max for this user.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// systemd waits for this where the unit says Type=notify.
void tell_systemd(std::string_view state) {
  const char* path = base::environment("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return;
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, std::strlen(path));
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&address),
         length);
}

EndpointOptions endpoint_options(const DaemonOptions& options) {
  EndpointOptions endpoint;
  endpoint.path = socket_path(options);
  endpoint.is_for_all = geteuid() == 0 && !options.is_for_user;
  endpoint.makes_folder = options.socket.empty();
  return endpoint;
}

// "SM clock [MHz]" is kymod_gpu_sm_clock_mhz.
std::string gpu_metric(const std::string& sensor) {
  std::string name = "kymod_gpu";
  bool is_new_word = true;
  for (const char c : sensor) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_letter && c != '%') {
      is_new_word = true;
      continue;
    }
    if (std::exchange(is_new_word, false)) name += '_';
    if (c == '%') name += "percent";
    if (is_letter) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

// The sensors of the GPUs of this host, which take some milliseconds.
void add_gpu_metrics(metrics::Text& text) {
  static const auto gpus = sensors::GpuSensors::all();
  const std::vector<std::string> names = sensors::GpuSensors::names();
  std::vector<std::vector<std::pair<std::string, double>>> values(names.size());  // of a sensor: labels, value
  for (size_t number = 0; number < gpus.size(); ++number) {
    std::string device = gpus[number]->device_name();
    std::erase_if(device, [](char c) { return c == '"' || c == '\\' || c < ' '; });
    const std::string labels = base::format("gpu=\"{}\",name=\"{}\"", number, device);
    gpus[number]->read(true, [&](size_t index, double value) { values[index].emplace_back(labels, value); });
  }
  for (size_t i = 0; i < names.size(); ++i)
    for (const auto& [labels, value] : values[i])
      text.gauge(gpu_metric(names[i]), "Of NVML: " + names[i] + ".", labels, value);
}

std::string metrics_text(const Programs& programs, const Server& server) {
  const Triggers::Counts counts = server.triggers().counts();
  metrics::Text text;
  text.gauge("kymod_connections", "Agents and commands that are connected.", server.connections());
  text.gauge("kymod_programs", "Programs that can be traced.", programs.size());
  text.gauge("kymod_triggers_active", "Triggers that have not ended.", server.triggers().count());
  text.counter("kymod_triggers_total", "Triggers that were started.", counts.started);
  text.counter("kymod_requests_done_total", "Requests that programs have ended, in any way.", counts.done);
  text.counter("kymod_trace_bytes_total", "Bytes of the traces that programs have written.", counts.bytes);
  text.counter("kymod_trace_losses_total", "Events that programs lost in traces.", counts.losses);
  add_gpu_metrics(text);
  return text.text();
}

}  // namespace

std::string socket_path(const DaemonOptions& options) {
  if (!options.socket.empty()) return std::filesystem::absolute(options.socket).lexically_normal();
  if (geteuid() == 0 && !options.is_for_user) return std::string(wire::kHostSocket);
  return wire::user_socket(base::environment("XDG_RUNTIME_DIR"), geteuid());
}

void serve(const DaemonOptions& options) {
  const DynologOptions dynolog_options =
      read_dynolog_options(options);  // first: if it throws, nothing has been created yet
  std::optional<metrics::Place> metrics_place;
  if (!options.metrics.empty()) metrics_place = metrics::parse_place(options.metrics);
  const base::FileDescriptor signals = stop_signals();
  raise_descriptor_limit();
  umask(0077);

  Log log(options.quiet);
  Loop loop(log);
  Endpoint endpoint(endpoint_options(options));
  Programs programs;
  TriggerLimits trigger_limits;
  for (const std::string& folder : options.output_folders)
    trigger_limits.output_folders.push_back(std::filesystem::absolute(folder).lexically_normal());
  Server server(loop, log, endpoint, programs, {}, trigger_limits, describe(dynolog_options));
  // Any user may have taken its names first. Kymo's own protocol works without them.
  constexpr std::chrono::seconds kTryAgain{5};
  std::unique_ptr<Dynolog> dynolog;
  Loop::Timer again;
  std::string problem;
  const std::function<void()> begin_dynolog = [&] {
    try {
      dynolog = std::make_unique<Dynolog>(loop, log, programs, server.triggers(), dynolog_options);
      problem.clear();
    } catch (const Taken& error) {
      if (problem.empty()) log.warn(base::format("{}; kymod tries again until this is solved", error.what()));
      problem = error.what();
      again = loop.in(kTryAgain, begin_dynolog);
    }
    server.set_dynolog_problem(problem);
  };
  if (dynolog_options.is_on) begin_dynolog();
  // Only counts: any user of this host may read them on loopback.
  CallServer metrics_server(loop, false, [&](std::string_view request, std::optional<uint32_t>) {
    return metrics::answer(request, metrics_text(programs, server));
  });
  if (metrics_place) {
    metrics::Listening listening = metrics::listen_at(*metrics_place);
    log.say(metrics_place->path.empty() ? base::format("metrics are on port {}", listening.port)
                                        : base::format("metrics are at {}", base::printable(metrics_place->path)));
    metrics_server.serve(std::move(listening.socket));
  }
  const Loop::Watch stop = loop.watch(signals.get(), EPOLLIN, [&](uint32_t) { loop.stop(); });

  log.say(base::format("{}, for {}, at {}", base::kVersion, endpoint.options().is_for_all ? "all users" : "this user",
                       endpoint.options().path));
  tell_systemd("READY=1");
  loop.run();
  tell_systemd("STOPPING=1");
  if (metrics_place && !metrics_place->path.empty()) unlink(metrics_place->path.c_str());
  log.say("stopped");
}

}  // namespace kymo::daemon
