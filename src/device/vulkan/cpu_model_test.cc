// Lets the tests use Mesa's driver for the CPU where it would crash: driver_faults.h says why.
//
// LLVM asks /proc/cpuinfo, by open(), which model this CPU is. In a test program open() is this one, and where the
// machine hides the SVE instructions of its model it shows a model that has none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>

#include "device/vulkan/driver_faults.h"

#if defined(__aarch64__)
#include <sys/auxv.h>

namespace {

int open_really(const char* path, int flags, unsigned mode) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  return text;
}

// The same, of a Neoverse N1.
int open_plain_cpuinfo() {
  constexpr const char* kPart = "CPU part\t: ";
  const int file = open_really("/proc/cpuinfo", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return file;
  std::string text = read_all(file);
  close(file);
  for (size_t at = 0; (at = text.find(kPart, at)) != std::string::npos; ++at)
    text.replace(at, text.find('\n', at) - at, std::string(kPart) + "0xd0c");
  const int plain = memfd_create("cpuinfo", MFD_CLOEXEC);
  if (plain < 0 || write(plain, text.data(), text.size()) < 0 || lseek(plain, 0, SEEK_SET) < 0) return -1;
  return plain;
}

bool hides_sve() {
  constexpr unsigned long kSve = 1ul << 22;
  return (getauxval(AT_HWCAP) & kSve) == 0;
}

// What was compiled for another model, by another program, must not be taken from Mesa's cache either.
const int kNoCache = hides_sve() ? setenv("MESA_SHADER_CACHE_DISABLE", "1", 0) : 0;

}  // namespace

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  if (std::strcmp(path, "/proc/cpuinfo") == 0 && hides_sve()) return open_plain_cpuinfo();
  return open_really(path, flags, mode);
}

namespace kymo::device::vulkan {
namespace {

TEST(VulkanDriverFaultsTest, ATestProgramMayUseMesasDriverForTheCpu) {
  EXPECT_EQ(kNoCache, 0);
  EXPECT_EQ(llvmpipe_fault(), "");
}

}  // namespace
}  // namespace kymo::device::vulkan

#endif
