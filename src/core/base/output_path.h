// The real path of an output file: one rule for traces, exports, dumps and profiles.
//
// A symbolic link is followed if it belongs to this user or to root, and stays a link. A link of another user is
// refused, also among the folders of the path: it could lead to a file that this user may write and the other may not.
// An existing file must be a regular file: a device, a pipe or a directory is never written or replaced.
#pragma once

#include <string>
#include <string_view>

namespace kymo::base {

// The path of the file itself, which exists or can be created. Open it with O_NOFOLLOW. Throws kymo::Error with `path`,
// what is wrong and what to do.
std::string output_path(const std::string& path);

// Whether an absolute path is this folder, or in it. Looks only at the text.
inline bool is_below(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace kymo::base
