// Where a file that Kymo writes really goes: one rule for traces, exports, dumps and profiles.
//
// A symbolic link is followed where it belongs to this user or to root, and stays a link. Somebody else's link is
// refused: it could lead into a file that this user may write and they may not. What is there already must be a regular
// file: a device, a pipe or a directory is never written to or replaced.
#pragma once

#include <string>

namespace kymo::base {

// The file itself, which is there or can be made; open it with O_NOFOLLOW. Throws kymo::Error with `path`, what is
// wrong and what to do.
std::string output_path(const std::string& path);

}  // namespace kymo::base
