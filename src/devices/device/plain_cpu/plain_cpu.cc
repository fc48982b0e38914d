#include "device/plain_cpu/plain_cpu.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace kymo::device {

std::string plain_cpuinfo(std::string cpuinfo) {
  const std::string part = "CPU part\t: ";
  for (size_t at = 0; (at = cpuinfo.find(part, at)) != std::string::npos; at += part.size())
    cpuinfo.replace(at, cpuinfo.find('\n', at) - at, part + "0xd0c");
  return cpuinfo;
}

}  // namespace kymo::device

// open() for programs that must see another CPU. Linked into test programs and libkymo_plain_cpu.so.

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

int open_plain_cpuinfo() {
  const int file = open_really("/proc/cpuinfo", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return file;
  const std::string text = kymo::device::plain_cpuinfo(read_all(file));
  close(file);
  const int plain = memfd_create("cpuinfo", MFD_CLOEXEC);
  if (plain < 0) return -1;
  if (write(plain, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || lseek(plain, 0, SEEK_SET) < 0) {
    close(plain);
    return -1;
  }
  return plain;
}

bool hides_sve() {
#if defined(__aarch64__)
  constexpr unsigned long kSve = 1ul << 22;  // HWCAP_SVE
  return (getauxval(AT_HWCAP) & kSve) == 0;
#else
  return false;
#endif
}

// Code that another program compiled for another CPU model must not come from Mesa's cache either.
[[maybe_unused]] const int kNoCache = hides_sve() ? setenv("MESA_SHADER_CACHE_DISABLE", "1", 0) : 0;

int open_any(const char* path, int flags, unsigned mode) {
  if (hides_sve() && std::strcmp(path, "/proc/cpuinfo") == 0) return open_plain_cpuinfo();
  return open_really(path, flags, mode);
}

unsigned mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, unsigned) : 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int open(const char* file, int oflag, ...) {
  va_list arguments;
  va_start(arguments, oflag);
  const unsigned mode = mode_of(oflag, arguments);
  va_end(arguments);
  return open_any(file, oflag, mode);
}

extern "C" __attribute__((visibility("default"))) int open64(const char* file, int oflag, ...) {
  va_list arguments;
  va_start(arguments, oflag);
  const unsigned mode = mode_of(oflag, arguments);
  va_end(arguments);
  return open_any(file, oflag | O_LARGEFILE, mode);
}
