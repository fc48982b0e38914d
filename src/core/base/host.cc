#include "base/host.h"

#include <sys/utsname.h>

#include <fstream>

#include "base/hash.h"
#include "base/text.h"

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

std::string opencl_device_uuid(std::string_view platform, std::string_view vendor, std::string_view name,
                               int index_in_platform) {
  const std::string identity = format("opencl {} {} {} {}", platform, vendor, name, index_in_platform);
  return format("{:016x}{:016x}", hash(as_bytes(identity)), hash(as_bytes(identity + " again")));
}

}  // namespace kymo::base
