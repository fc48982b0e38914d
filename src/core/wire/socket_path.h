// The path of the daemon's socket, for programs, commands and the daemon itself.
//
// The socket of a user's own daemon is in the system's folder for that user; the socket of a host's daemon is in /run.
// Programs and commands try the user's first. Each is in its own folder, which other users cannot write.
#pragma once

#include <string>
#include <string_view>

namespace kymo::wire {

inline constexpr std::string_view kHostSocket = "/run/kymo/kymod.sock";
inline constexpr std::string_view kUserSocketBelow = "/kymo/kymod.sock";

// `runtime_folder` is $XDG_RUNTIME_DIR. If it is not set or not an absolute path, uses the folder that systemd makes
// for it.
inline std::string user_socket(const char* runtime_folder, unsigned uid) {
  const bool is_set = runtime_folder != nullptr && runtime_folder[0] == '/';
  std::string path = is_set ? runtime_folder : "/run/user/" + std::to_string(uid);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.append(kUserSocketBelow);
}

}  // namespace kymo::wire
