// Connects to kymod, for commands and for agents inside programs, with one rule of trust.
//
// The messages of a daemon name files and are shown to users. So the socket, its folder and the process that listens
// must belong to this user or to root, nobody else may be able to replace the socket, and it must not be a link.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::client {

// Where a daemon listens by default: this user's socket, then the host's.
std::vector<std::string> default_sockets();

struct Connection {
  enum class State : uint8_t {
    Connected,
    NotThere,
    NotASocket,
    Refused,    // the socket exists, but nothing listens: the daemon is about to listen, or dead
    Full,       // it listens, but too many clients are waiting
    Denied,     // this user may not access the folder or the socket
    Untrusted,  // see above
    Failed,     // see `error`
  };
  State state = State::Failed;
  base::FileDescriptor socket = {};  // if connected; it does not block
  uid_t owner = 0;                   // the user of the process that listens, if connected or untrusted because of it
  int error = 0;                     // errno, if the system failed
  std::string problem = {};          // one line, if untrusted
};

// Does not wait. Sends nothing.
Connection connect_to_daemon(const std::string& path);

}  // namespace kymo::client
