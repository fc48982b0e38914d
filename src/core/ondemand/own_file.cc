#include "ondemand/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <utility>

namespace kymo::ondemand {
namespace {

constexpr int kOutOfTheWay = 100;

// The descriptor and the inode of the end that is written to.
constinit std::atomic<int> wake_file{-1};
constinit std::atomic<ino_t> wake_inode{0};

base::FileDescriptor moved_up(base::FileDescriptor file) noexcept {
  const int higher = file ? fcntl(file.get(), F_DUPFD_CLOEXEC, kOutOfTheWay) : -1;
  return higher < 0 ? std::move(file) : base::FileDescriptor(higher);
}

}  // namespace

ino_t socket_inode(int fd) noexcept {
  struct stat status {};
  return fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

OwnFile::OwnFile(base::FileDescriptor socket) noexcept
    : file_(moved_up(std::move(socket))), inode_(socket_inode(file_.get())) {}

OwnFile::OwnFile(OwnFile&& other) noexcept
    : file_(std::move(other.file_)), inode_(std::exchange(other.inode_, ino_t{0})) {}

OwnFile& OwnFile::operator=(OwnFile&& other) noexcept {
  if (this == &other) return *this;
  reset();
  file_ = std::move(other.file_);
  inode_ = std::exchange(other.inode_, ino_t{0});
  return *this;
}

bool OwnFile::is_mine() const noexcept { return inode_ != 0 && socket_inode(file_.get()) == inode_; }

void OwnFile::reset() noexcept {
  if (!is_mine()) file_.release();
  file_.reset();
}

void wake_agent() noexcept {
  const int fd = wake_file.load(std::memory_order_acquire);
  if (fd < 0) return;
  const int before = errno;
  // The program may have closed it and got the number for a socket of its own.
  if (socket_inode(fd) == wake_inode.load(std::memory_order_relaxed)) send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  errno = before;
}

void wake_nobody() noexcept { wake_file.store(-1, std::memory_order_release); }

bool WakePair::open() noexcept {
  wake_nobody();
  int files[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, files) != 0) return false;
  agents_ = OwnFile(base::FileDescriptor(files[0]));
  programs_ = OwnFile(base::FileDescriptor(files[1]));
  wake_inode.store(socket_inode(programs_.get()), std::memory_order_relaxed);
  wake_file.store(programs_.get(), std::memory_order_release);
  return true;
}

void WakePair::drain() noexcept {
  char bytes[256];
  while (agents_.is_mine() && recv(agents_.get(), bytes, sizeof bytes, MSG_DONTWAIT) == sizeof bytes) {
  }
}

void WakePair::abandon() noexcept {
  agents_.reset();
  programs_.reset();
}

}  // namespace kymo::ondemand
