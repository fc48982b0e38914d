// Where the daemon of this user or this host is, and whether what is there can be believed.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::ondemand {

// The sockets to try, in this order, for a value of KYMO_DAEMON: a path is that socket alone, "" and "0" are none, and
// anything else ("1") is this user's and then the host's. None where address_problem() has something to say.
std::vector<std::string> daemon_sockets(const std::string& value);
// What is wrong with a value; empty: nothing.
std::string address_problem(const std::string& value);

// Makes the folder of the user's own daemon where it is missing, so that it can be watched: 0700. The host's is not
// ours to make.
void make_user_folder(const std::string& socket);

enum class Connecting : uint8_t {
  Connected,
  NotThere,
  Refused,  // its socket is there, and nobody listens: it is about to, or dead
  Full,     // it listens, and too many are waiting
  Denied,   // its folder, or its socket, is closed to this user
};

struct ConnectResult {
  Connecting state = Connecting::NotThere;
  base::FileDescriptor socket = {};
  std::string problem = {};  // why what is there is not believed; empty: nothing is there
};

// Connects without waiting. The socket and its folder must be this user's or root's and such that nobody else can
// change them, the socket no link, and the process that listens this user's or root's.
ConnectResult connect_to_daemon(const std::string& socket);

}  // namespace kymo::ondemand
