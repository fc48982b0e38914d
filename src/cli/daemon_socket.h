// Finds kymod: the paths where it may listen, whether it does, and whether the listener can be trusted.
//
// client/connect.h connects and decides; this file has the messages for the user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::cli {

// Absolute paths, in the order in which they are tried: only `given` if it is set; else the path in KYMO_DAEMON; else
// this user's own, then the host's.
std::vector<std::string> daemon_sockets(const std::string& given);

struct SocketProbe {
  enum class Outcome {
    Connected,
    Absent,         // there is no such file
    NobodyListens,  // a leftover of a daemon that has ended
    NotAllowed,     // this user may not connect
    OtherUser,      // the listener is neither this user nor root
    Unusable,       // something else
  };
  std::string path;
  Outcome outcome = Outcome::Unusable;
  std::string reason;           // one line, if not connected
  std::string remedy;           // what to do about it
  base::FileDescriptor socket;  // if connected
  uid_t daemon_uid = 0;         // the user of the daemon
};

// Tries to connect; sends nothing yet. If too many clients are waiting for the daemon, waits for up to five seconds.
SocketProbe probe_daemon(const std::string& path);

}  // namespace kymo::cli
