#include "ondemand/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

namespace kymo::ondemand {
namespace {

constexpr int kOutOfTheWay = 100;

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

}  // namespace kymo::ondemand
