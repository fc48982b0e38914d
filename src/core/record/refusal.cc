#include "record/refusal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hex.h"

namespace kymo::record {

uint32_t refusal_address(const uint8_t (&session)[16], sockaddr_un& address) noexcept {
  address = {};
  address.sun_family = AF_UNIX;
  char* name = address.sun_path + 1;  // the first byte is 0: no file
  const char* const end = base::put_hex(stpcpy(name, "kymo-refused-"), session, sizeof session);
  return static_cast<uint32_t>(offsetof(sockaddr_un, sun_path)) + 1 + static_cast<uint32_t>(end - name);
}

bool send_refusal(const uint8_t (&session)[16], const char* why) noexcept {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  constexpr timeval kTimeout{0, 200'000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
  sockaddr_un address;
  const uint32_t length = refusal_address(session, address);
  const size_t bytes = strnlen(why, kMaxRefusalBytes);
  const bool is_sent = sendto(fd, why, bytes, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length) >= 0;
  close(fd);
  return is_sent;
}

bool recorder_listens(const uint8_t (&session)[16]) noexcept {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  sockaddr_un address;
  const uint32_t length = refusal_address(session, address);
  const bool is_gone = connect(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno == ECONNREFUSED;
  close(fd);
  return !is_gone;
}

}  // namespace kymo::record
