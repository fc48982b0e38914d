#include "daemon/credentials.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace kymo::daemon {
namespace {

#ifdef SO_PEERPIDFD
constexpr int kPeerPidfd = SO_PEERPIDFD;
#else
constexpr int kPeerPidfd = 77;  // newer than the headers of the C library
#endif

// The user id that the kernel shows for users of another user namespace who have no id in this one.
constexpr uint32_t kNobody = 65534;

bool has_ended(int pidfd) {
  pollfd ended{pidfd, POLLIN, 0};
  return poll(&ended, 1, 0) == 1;
}

}  // namespace

base::Result<ucred> peer_of(int connection) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return base::Refusal{base::format("cannot get the credentials of the peer: {}", std::strerror(errno))};
  return credentials;
}

base::FileDescriptor peer_process(int connection) {
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  if (getsockopt(connection, SOL_SOCKET, kPeerPidfd, &pidfd, &size) != 0) return {};
  return base::FileDescriptor(pidfd);
}

base::Check check_user(const ucred& credentials) {
  if (credentials.uid != kNobody) return {};
  if (credentials.pid > 0 && namespace_of(credentials.pid, "user") == namespace_of(getpid(), "user")) return {};
  return base::Refusal{
      base::format("process {} belongs to a user of another user namespace who has no user id here", credentials.pid)};
}

base::Result<ProcessFacts> verified_process(const ucred& credentials, int32_t claimed_pid, int pidfd) {
  if (credentials.pid <= 0) {
    return base::Refusal{
        "the process is in a pid namespace that is not visible here; run kymod on the host, or share the namespace"};
  }
  auto facts = read_process(credentials.pid);
  if (!facts || (pidfd >= 0 && has_ended(pidfd))) {
    return base::Refusal{base::format("process {} has ended", credentials.pid)};
  }
  if (claimed_pid != facts->inner_pid) {
    return base::Refusal{base::format("process {} claims to have pid {}, but it has pid {} in its own namespace",
                                      credentials.pid, claimed_pid, facts->inner_pid)};
  }
  if (const base::Check user = check_user(credentials); !user) return base::Refusal{user.reason()};
  if (!facts->is_of_one_user || facts->uid != credentials.uid) {
    return base::Refusal{base::format("process {} runs with the rights of several users; such programs are not traced",
                                      credentials.pid)};
  }
  return std::move(*facts);
}

}  // namespace kymo::daemon
