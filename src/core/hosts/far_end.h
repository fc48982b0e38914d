// The other end of a Connection: `kymo remote`, which ssh starts on a host.
//
// It tells the time, runs commands of Kymo and sends files, with the permissions of the user who logged in. It ends
// when its input ends; a command that still runs then gets SIGINT, as by Ctrl-C.
#pragma once

#include <string>

namespace kymo::hosts {

// `kymo` is the path of the command. Returns its exit code.
int serve_far_end(int input, int output, const std::string& kymo);

}  // namespace kymo::hosts
