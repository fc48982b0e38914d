// The real path of an output file: one rule for traces, exports, dumps and profiles.
//
// A symbolic link is followed if it belongs to this user or to root, and stays a link. A link of another user is
// refused, also among the folders of the path: it could lead to a file that this user may write and the other may not.
// An existing file must be a regular file: a device, a pipe or a directory is never written or replaced.
#pragma once

#include <string>

namespace kymo::base {

// The path of the file itself, which exists or can be created. Open it with O_NOFOLLOW. Throws kymo::Error with `path`,
// what is wrong and what to do.
std::string output_path(const std::string& path);

}  // namespace kymo::base
