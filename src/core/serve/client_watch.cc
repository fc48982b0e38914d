#include "serve/client_watch.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

namespace kymo::serve {

namespace {

// The HTTP library does not tell the socket of a request, but the port at its other end.
int socket_of(int remote_port) {
  DIR* const open = ::opendir("/proc/self/fd");
  if (open == nullptr) return -1;
  int found = -1;
  while (const dirent* const entry = ::readdir(open)) {
    char* end = nullptr;
    const long descriptor = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != 0) continue;
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(static_cast<int>(descriptor), reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != remote_port) continue;
    found = static_cast<int>(descriptor);
    break;
  }
  ::closedir(open);
  return found;
}

}  // namespace

IsGone watch_client(int remote_port) {
  const int socket = socket_of(remote_port);
  if (socket < 0) return [] { return false; };
  return [socket] {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  };
}

}  // namespace kymo::serve
