// The address of this user's or this host's daemon, and whether it can be trusted.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::ondemand {

// The sockets to try, in this order, for a value of KYMO_DAEMON. A path means only that socket, "" and "0" mean none,
// any other value ("1") means this user's socket and then the host's. Empty if address_problem() returns a problem.
std::vector<std::string> daemon_sockets(const std::string& value);
// The problem with a value; empty: none.
std::string address_problem(const std::string& value);

// Creates the folder of the user's own daemon (0700) if it is missing, so that it can be watched. Does not create the
// host's folder.
void make_user_folder(const std::string& socket);

enum class Connecting : uint8_t {
  Connected,
  NotThere,
  Refused,  // its socket exists, but nothing listens: the daemon is about to listen, or dead
  Full,     // it listens, but too many clients are waiting
  Denied,   // this user may not access its folder or its socket
};

struct ConnectResult {
  Connecting state = Connecting::NotThere;
  base::FileDescriptor socket = {};
  std::string problem = {};  // why the socket is not trusted; empty: it is, or there is none
};

// Connects without waiting. The socket and its folder must belong to this user or root, and nobody else may be able to
// change them. The socket must not be a link, and the process that listens must run as this user or root.
ConnectResult connect_to_daemon(const std::string& socket);

}  // namespace kymo::ondemand
