#include "base/host.h"

#include <sys/utsname.h>

#include <fstream>

namespace kymo::base {

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

std::string host_name() {
  utsname system;
  return uname(&system) == 0 ? system.nodename : "";
}

}  // namespace kymo::base
