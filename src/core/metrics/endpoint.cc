#include "metrics/endpoint.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/printable.h"
#include "base/text.h"

namespace kymo::metrics {
namespace {

std::string response(std::string_view status, std::string_view body) {
  return base::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, body.size(), body);
}

constexpr int kWaiting = 16;        // connections
constexpr timeval kPatience{2, 0};  // for a request, and for its answer

[[noreturn]] void refuse(const std::string& text, std::string_view why) {
  throw InvalidArgument(base::format("'{}' is not a place for metrics: {}; write 127.0.0.1:9464 or unix:/path",
                                     base::printable(text), why));
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw InvalidArgument(base::format("'{}' is too long for a socket: at most {} bytes", base::printable(path),
                                       sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Removes a socket that nobody listens on.
void remove_dead(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) throw Error(base::format("'{}' exists and is not a socket", base::printable(path)));
  const base::FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    throw Error(base::format("another program serves '{}'", base::printable(path)));
  if (errno == ECONNREFUSED) ::unlink(path.c_str());
}

}  // namespace

void Text::add(std::string_view name, std::string_view help, std::string_view type, uint64_t value) {
  base::format_to(text_, "# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

void Text::gauge(std::string_view name, std::string_view help, std::string_view labels, double value) {
  if (last_ != name) base::format_to(text_, "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
  last_ = name;
  base::format_to(text_, "{}{{{}}} {}\n", name, labels, value);
}

std::string answer(std::string_view request, const std::string& body) {
  if (request.find("\r\n\r\n") == request.npos)
    return request.size() >= kLongestRequest ? response("431 Request Header Fields Too Large", "") : std::string();
  std::string_view line = request.substr(0, request.find("\r\n"));
  const size_t method_end = std::min(line.find(' '), line.size());
  const std::string_view method = line.substr(0, method_end);
  line.remove_prefix(std::min(method_end + 1, line.size()));
  const std::string_view path = line.substr(0, line.find_first_of(" ?"));
  if (path != "/metrics") return response("404 Not Found", "the metrics are at /metrics\n");
  if (method != "GET") return response("405 Method Not Allowed", "");
  return response("200 OK", body);
}

Place parse_place(const std::string& text) {
  constexpr std::string_view kUnix = "unix:";
  Place place;
  if (text.starts_with(kUnix)) {
    place.path = text.substr(kUnix.size());
    if (!place.path.starts_with('/')) refuse(text, "the path of a socket is absolute");
    unix_address(place.path);
    return place;
  }
  const size_t colon = text.rfind(':');
  if (colon == text.npos) refuse(text, "it has no port");
  std::string host = text.substr(0, colon);
  if (host == "[::1]") host = "::1";
  if (host == "localhost") host = "127.0.0.1";
  if (host != "::1" && !(host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos))
    refuse(text, "only this machine may read them");
  const char* const begin = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, place.port);
  if (begin == end || error != std::errc() || stop != end) refuse(text, "the port is not a number up to 65535");
  place.host = host;
  return place;
}

Listening listen_at(const Place& place) {
  Listening made;
  const auto fail = [&](const std::string& where) {
    throw Error(base::format("cannot serve metrics on {}: {}", where, std::strerror(errno)));
  };
  if (place.host.empty()) {
    const sockaddr_un address = unix_address(place.path);
    remove_dead(place.path, address);
    made.socket = base::FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const mode_t before = ::umask(0117);
    const int bound = ::bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::umask(before);
    if (bound != 0) fail(base::printable(place.path));
    made.path = place.path;
  } else {
    sockaddr_storage address{};
    socklen_t size = 0;
    auto* const four = reinterpret_cast<sockaddr_in*>(&address);
    auto* const six = reinterpret_cast<sockaddr_in6*>(&address);
    if (::inet_pton(AF_INET, place.host.c_str(), &four->sin_addr) == 1) {
      four->sin_family = AF_INET;
      four->sin_port = htons(place.port);
      size = sizeof *four;
    } else if (::inet_pton(AF_INET6, place.host.c_str(), &six->sin6_addr) == 1) {
      six->sin6_family = AF_INET6;
      six->sin6_port = htons(place.port);
      size = sizeof *six;
    } else {
      throw InvalidArgument(base::format("'{}' is not an address", base::printable(place.host)));
    }
    made.socket = base::FileDescriptor(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ::setsockopt(made.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
      fail(base::format("{}:{}", place.host, place.port));
    ::getsockname(made.socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    made.port = ntohs(address.ss_family == AF_INET ? four->sin_port : six->sin6_port);
  }
  if (::listen(made.socket.get(), kWaiting) != 0) fail("this socket");
  return made;
}

Endpoint::Endpoint(const Place& place, std::function<std::string()> text)
    : text_(std::move(text)), listening_(listen_at(place)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw Error(base::format("cannot serve metrics: {}", std::strerror(errno)));
  thread_ = std::thread([this] { serve(); });
}

Endpoint::~Endpoint() {
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
  if (!listening_.path.empty()) ::unlink(listening_.path.c_str());
}

void Endpoint::serve() {
  for (;;) {
    pollfd watched[] = {{listening_.socket.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents != 0) return;
    if (watched[0].revents == 0) continue;
    const base::FileDescriptor connection(::accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection) serve_one(connection.get());
  }
}

// One at a time: whoever is slow is cut off after two seconds.
void Endpoint::serve_one(int connection) const {
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  std::string request, reply;
  char bytes[1'024];
  while (reply.empty()) {
    const ssize_t got = ::recv(connection, bytes, sizeof bytes, 0);
    if (got <= 0) return;
    request.append(bytes, static_cast<size_t>(got));
    reply = answer(request, text_());
  }
  for (size_t sent = 0; sent < reply.size();) {
    const ssize_t more = ::send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return;
    sent += static_cast<size_t>(more);
  }
}

}  // namespace kymo::metrics
