// Finding kymod: where it may listen, whether it does, and whether whoever listens there may be trusted.
//
// What a daemon says is shown to the user and names files, so only one of the same user or of root is spoken to. The
// kernel tells whose it is; a socket that somebody else put in the place is refused, and the reason says so.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::cli {

// Absolute, in the order in which they are tried: `given` alone; or else what KYMO_DAEMON names in the environment; or
// else this user's own, then the host's.
std::vector<std::string> daemon_sockets(const std::string& given);

struct SocketProbe {
  enum class Outcome {
    Connected,
    Absent,         // there is no such file
    NobodyListens,  // left behind by a daemon that is gone
    NotAllowed,     // this user may not connect
    OtherUser,      // somebody listens, but neither this user nor root
    Unusable,       // something else
  };
  std::string path;
  Outcome outcome = Outcome::Unusable;
  std::string reason;           // one line, where it is not connected
  std::string remedy;           // what to do about it
  base::FileDescriptor socket;  // where it is
  uid_t daemon_uid = 0;         // whose it is
};

// Tries to connect; says nothing yet.
SocketProbe probe_daemon(const std::string& path);

}  // namespace kymo::cli
