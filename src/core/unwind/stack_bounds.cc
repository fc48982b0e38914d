#include "unwind/stack_bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

extern "C" void* __libc_stack_end;  // end of the main thread's stack, set by the dynamic linker

namespace kymo::unwind {
namespace {

// Reads /proc/self/maps without allocating, line by line. Only the addresses at the beginning of a line matter.
class Maps {
 public:
  Maps() noexcept : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~Maps() {
    if (file_ >= 0) close(file_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;

  // The mapping that contains `address`; empty if there is none.
  StackBounds find(uintptr_t address) noexcept {
    while (true) {
      StackBounds bounds;
      int byte = number(bounds.low);
      if (byte != '-') return {};
      byte = number(bounds.high);
      if (bounds.hold(address)) return bounds;
      while (byte != '\n' && byte >= 0) byte = next();
    }
  }

 private:
  int next() noexcept {
    if (at_ == used_) {
      ssize_t got;
      do {
        got = file_ < 0 ? 0 : read(file_, buffer_, sizeof buffer_);
      } while (got < 0 && errno == EINTR);
      if (got <= 0) return -1;
      used_ = static_cast<size_t>(got);
      at_ = 0;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  // Reads a hexadecimal number. Returns the byte after it.
  int number(uintptr_t& value) noexcept {
    value = 0;
    int byte = next();
    for (;; byte = next()) {
      if (byte >= '0' && byte <= '9')
        value = value << 4 | static_cast<uintptr_t>(byte - '0');
      else if (byte >= 'a' && byte <= 'f')
        value = value << 4 | static_cast<uintptr_t>(byte - 'a' + 10);
      else
        return byte;
    }
  }

  int file_;
  char buffer_[1024];
  size_t at_ = 0, used_ = 0;
};

}  // namespace

StackBounds find_own_stack() noexcept {
  const int error = errno;
  const bool is_main = getpid() == static_cast<pid_t>(syscall(SYS_gettid));
  // The C library stores its data about a thread at the top of the thread's stack, even if the program provided the
  // stack.
  const auto top = is_main ? reinterpret_cast<uintptr_t>(__libc_stack_end) : static_cast<uintptr_t>(pthread_self());
  StackBounds bounds = Maps().find(top);
  if (is_main && bounds.high != 0) {
    // The main thread's stack grows while it is used.
    constexpr uintptr_t kUnlimited = uintptr_t{1} << 30;
    rlimit limit{};
    const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    const uintptr_t bytes = known ? limit.rlim_cur : kUnlimited;
    const uintptr_t low = bounds.high - (bytes < bounds.high ? bytes : bounds.high);
    if (low < bounds.low) bounds.low = low;
  }
  errno = error;
  return bounds;
}

}  // namespace kymo::unwind
