// In the place of a PyTorch program: what its libkineto says on the fabric, byte by byte, and nothing of Kymo's.
//
//   kineto_peer MILLISECONDS      how often it asks; until SIGTERM
//
// What it is asked to write holds the text that asked for it.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace {

struct Header {
  uint64_t bytes;
  char type[32];
};
struct Context {
  int32_t accelerator, pid;
  int64_t job;
};
struct Question {
  int32_t ready_for, pids;  // 1: events, 2: activities
  int64_t job;
  int32_t pid, parent;
};
constexpr int32_t kIdle = 3, kBusy = 1;

struct Address {
  sockaddr_un address{};
  socklen_t length = 0;
};

Address address_of(const std::string& name) {
  Address made;
  made.address.sun_family = AF_UNIX;
  const char* folder = getenv("KINETO_IPC_SOCKET_DIR");
  if (folder != nullptr) {
    const std::string path = std::string(folder) + "/" + name;
    path.copy(made.address.sun_path, sizeof made.address.sun_path - 1);
    made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  } else {
    name.copy(made.address.sun_path + 1, sizeof made.address.sun_path - 2);
    made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 2);  // a NUL on both sides
  }
  return made;
}

template <class Payload>
void send_to_daemon(int socket, const char* type, const Payload& payload) {
  Header header{sizeof payload, {}};
  strncpy(header.type, type, sizeof header.type - 1);
  iovec parts[2] = {{&header, sizeof header}, {const_cast<Payload*>(&payload), sizeof payload}};
  Address daemon = address_of("dynolog");
  msghdr message{};
  message.msg_name = &daemon.address;
  message.msg_namelen = daemon.length;
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// The payload of what comes, if anything does.
std::optional<std::string> received(int socket) {
  pollfd file{socket, POLLIN, 0};
  if (poll(&file, 1, 90) != 1) return std::nullopt;
  char datagram[65536];
  const ssize_t size = recv(socket, datagram, sizeof datagram, 0);
  Header header;
  if (size < static_cast<ssize_t>(sizeof header)) return std::nullopt;
  memcpy(&header, datagram, sizeof header);
  if (header.bytes != static_cast<uint64_t>(size) - sizeof header) abort();
  return std::string(datagram + sizeof header, header.bytes);
}

std::string value_of(const std::string& config, const std::string& key) {
  size_t at = ("\n" + config).find("\n" + key + "=");
  if (at == config.npos) at = config.find(" " + key + "=") + 1;
  if (at == 0 && !config.starts_with(key + "=")) return {};
  at += key.size() + 1;
  return config.substr(at, config.find('\n', at) - at);
}

// As libkineto names its files.
std::string output_of(const std::string& config) {
  std::string path = value_of(config, "ACTIVITIES_LOG_FILE");
  const std::string pid = std::to_string(getpid());
  const size_t path_at = config.rfind("ACTIVITIES_LOG_FILE="), memory_at = config.find("PROFILE_MEMORY=true");
  if (memory_at != config.npos)
    return path_at != config.npos && path_at > memory_at ? path : "/tmp/memory_snapshot_" + pid + ".pickle";
  for (const char* ending : {".pt.trace.json", ".json"})
    if (const size_t at = path.find(ending); at != path.npos) return path.insert(at, "_" + pid);
  return path;
}

// Under its name when it is whole.
void write_whole(const std::string& path, const std::string& text) {
  std::ofstream(path + ".tmp") << text;
  rename((path + ".tmp").c_str(), path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  alarm(1500);  // should the test die
  const int pause = atoi(argv[1]);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  char name[64];
  snprintf(name, sizeof name, "dynoconfigclient%08x-84d5-4bbb-adcd-f557a88ead73", static_cast<unsigned>(getpid()));
  const Address own = address_of(name);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&own.address), own.length) != 0) return 1;
  if (getenv("KINETO_IPC_SOCKET_DIR") != nullptr) chmod(own.address.sun_path, 0666);
  const char* job_text = getenv("SLURM_JOB_ID");
  const int64_t job = job_text != nullptr ? atoll(job_text) : 0;
  send_to_daemon(socket, "ctxt", Context{0, getpid(), job});
  const auto count = received(socket);
  printf("%zu bytes\n", count ? count->size() : 0);
  fflush(stdout);
  int busy = 0;  // that many rounds more
  std::string config;
  while (true) {
    if (busy > 0 && --busy == 0) write_whole(output_of(config), config);
    send_to_daemon(socket, "req", Question{busy > 0 ? kBusy : kIdle, 2, job, getpid(), getppid()});
    if (const auto answer = received(socket); answer && !answer->empty()) {
      config = *answer;
      busy = 3;
    }
    usleep(static_cast<useconds_t>(pause) * 1000);
  }
}
