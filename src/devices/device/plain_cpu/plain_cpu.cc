#include "device/plain_cpu/plain_cpu.h"

namespace kymo::device {

std::string plain_cpuinfo(std::string cpuinfo) {
  const std::string part = "CPU part\t: ";
  for (size_t at = 0; (at = cpuinfo.find(part, at)) != std::string::npos; at += part.size())
    cpuinfo.replace(at, cpuinfo.find('\n', at) - at, part + "0xd0c");
  return cpuinfo;
}

}  // namespace kymo::device
