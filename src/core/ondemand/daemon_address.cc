#include "ondemand/daemon_address.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/text.h"
#include "client/connect.h"

namespace kymo::ondemand {

std::vector<std::string> daemon_sockets(const std::string& value) {
  if (value.empty() || value == "0" || !check_address(value)) return {};
  if (value[0] == '/') return {value};
  return client::default_sockets();
}

base::Check check_address(const std::string& value) {
  if (value.find('/') == value.npos) return {};
  if (value[0] != '/')
    return base::Refusal{base::format("\"{}\" is not an absolute path; use 1, or a path that begins with /", value)};
  const size_t max = sizeof sockaddr_un{}.sun_path - 1;
  if (value.size() > max)
    return base::Refusal{base::format("\"{}\" is too long: a socket's path has at most {} bytes", value, max)};
  return {};
}

void make_user_folder(const std::string& socket) {
  const char* runtime = base::environment("XDG_RUNTIME_DIR");
  struct stat status {};
  if (runtime == nullptr || !socket.starts_with(std::string(runtime) + "/kymo/")) return;
  if (stat(runtime, &status) != 0 || status.st_uid != geteuid()) return;  // for example root with a user's environment
  mkdir(socket.substr(0, socket.rfind('/')).c_str(), 0700);
}

}  // namespace kymo::ondemand
