// The memory of this process, as the kernel counts it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace bench {

// "VmHWM" is the peak resident size, "VmRSS" the current one; shared memory is included.
inline double resident_mb(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024 / 1e6;
  return 0;
}

}  // namespace bench
