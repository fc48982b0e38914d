#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>

#include "base/text.h"

namespace kymo::base {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Error file_error(std::string_view doing, const std::string& path, int error_number) {
  return Error(base::format("cannot {} {}: {}", doing, path, std::generic_category().message(error_number)));
}

size_t read_at(const FileDescriptor& file, const std::string& path, uint64_t offset, std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(file.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      throw file_error("read", path, errno);
    }
  }
  return done;
}

namespace {

// If a file would exceed its size limit (ulimit -f), the kernel also sends a signal that ends the program. The error
// code is enough, so the signal is blocked.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigemptyset(&size_);
    sigaddset(&size_, SIGXFSZ);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &size_, &before_);
  }
  ~WithoutSizeSignal() {
    constexpr timespec kNow{0, 0};
    while (!was_pending_ && sigtimedwait(&size_, nullptr, &kNow) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  sigset_t size_, before_;
  bool was_pending_ = false;
};

}  // namespace

int write_all(int fd, Bytes bytes, size_t& written) {
  const WithoutSizeSignal quiet;
  written = 0;
  while (written < bytes.size()) {
    const ssize_t taken = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (taken > 0) {
      written += static_cast<size_t>(taken);
    } else if (taken == 0) {
      return EIO;  // no progress and no error: never seen, but the loop must not spin
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

uint64_t size_of(const FileDescriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw file_error("read", path, errno);
  return static_cast<uint64_t>(status.st_size);
}

namespace {

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileVersion version_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

FileVersion version_of_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) throw file_error("read", path, errno);
  return version_of(status);
}

}  // namespace kymo::base
