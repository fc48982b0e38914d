#include "device/vulkan/driver_faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/environment.h"

namespace kymo::device::vulkan {
namespace {

// Implementer and part: Neoverse V1, N2, V2, V3, N3; Cortex A510 to X925; A64FX; Cobalt 100.
constexpr std::array<uint32_t, 19> kWithSve = {0x41d40, 0x41d49, 0x41d4f, 0x41d84, 0x41d8e, 0x41d46, 0x41d47,
                                               0x41d48, 0x41d4d, 0x41d4e, 0x41d80, 0x41d81, 0x41d82, 0x41d85,
                                               0x41d87, 0x41d88, 0x41d8b, 0x46001, 0x6dd49};

// The number after the first "NAME : 0x"; 0: there is none.
uint32_t field(std::string_view text, std::string_view name) {
  const size_t line = text.find(name);
  if (line == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(line, std::min(text.find('\n', line), text.size()) - line);
  const size_t digits = rest.find("0x");
  uint32_t value = 0;
  if (digits != std::string_view::npos) std::from_chars(rest.data() + digits + 2, rest.data() + rest.size(), value, 16);
  return value;
}

// With open(), as LLVM does: a library that replaces this function to show LLVM another CPU also shows it here.
std::string read_cpuinfo() {
  std::string text;
  const int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  char buffer[4096];
  for (ssize_t got = 0; file >= 0 && (got = read(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  if (file >= 0) close(file);
  return text;
}

bool cpu_has_sve() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kSve = 1ul << 22;  // HWCAP_SVE
  return (getauxval(AT_HWCAP) & kSve) != 0;
#else
  return true;  // this platform has no such query
#endif
}

}  // namespace

bool model_has_sve(std::string_view cpuinfo) {
  const uint32_t model = field(cpuinfo, "CPU implementer") << 12 | field(cpuinfo, "CPU part");
  return std::ranges::find(kWithSve, model) != kWithSve.end();
}

std::string llvmpipe_fault() {
  const char* trust = base::environment("KYMO_VULKAN_TRUST");
  if (cpu_has_sve() || (trust != nullptr && std::strcmp(trust, "1") == 0)) return "";
  if (!model_has_sve(read_cpuinfo())) return "";
  return "its compiler would use SVE instructions, which this CPU model has but this machine hides: kernels would "
         "crash; start the program with LD_PRELOAD=libkymo_plain_cpu.so, which shows the compiler another CPU model, "
         "or "
         "with KYMO_VULKAN_TRUST=1 to use the device anyway";
}

}  // namespace kymo::device::vulkan
