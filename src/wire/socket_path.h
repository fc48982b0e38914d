// Where a daemon listens, so that programs, commands and the daemon itself look in the same place.
//
// A user's own daemon is in the folder that the system keeps for that user; a host's is in /run. Programs and commands
// try the user's first. Each lies in a folder of its own, which others cannot write.
#pragma once

#include <string>
#include <string_view>

namespace kymo::wire {

inline constexpr std::string_view kHostSocket = "/run/kymo/kymod.sock";
inline constexpr std::string_view kUserSocketBelow = "/kymo/kymod.sock";

// `runtime_folder` is $XDG_RUNTIME_DIR; where that is not set or no absolute path, the place where systemd makes it.
inline std::string user_socket(const char* runtime_folder, unsigned uid) {
  const bool is_set = runtime_folder != nullptr && runtime_folder[0] == '/';
  std::string path = is_set ? runtime_folder : "/run/user/" + std::to_string(uid);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.append(kUserSocketBelow);
}

}  // namespace kymo::wire
