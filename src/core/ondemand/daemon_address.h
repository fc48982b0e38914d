// The address of this user's or this host's daemon.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kymo::ondemand {

// The sockets to try, in this order, for a value of KYMO_DAEMON. A path means only that socket, "" and "0" mean none,
// any other value ("1") means this user's socket and then the host's. Empty if check_address() refuses it.
std::vector<std::string> daemon_sockets(const std::string& value);
base::Check check_address(const std::string& value);

// Creates the folder of the user's own daemon (0700) if it is missing, so that it can be watched. Does not create the
// host's folder.
void make_user_folder(const std::string& socket);

}  // namespace kymo::ondemand
