#include "trace/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace kymo::trace {

namespace {

void refuse_unless_regular(const std::string& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  const char* what = S_ISDIR(status.st_mode)    ? "a directory"
                     : S_ISFIFO(status.st_mode) ? "a pipe"
                     : S_ISSOCK(status.st_mode) ? "a socket"
                                                : "a device";
  throw Error(base::format("cannot write a trace to {}: it is {}; name a regular file", path, what));
}

// Holds the whole file against other writers. Belongs to the open file, not to the process, so that two Writers in one
// process exclude each other too. Failing to lock is no reason not to write.
class WriteLock {
 public:
  explicit WriteLock(int fd) : fd_(fd) {
    int result;
    do {
      result = set(F_WRLCK, F_OFD_SETLKW);
    } while (result != 0 && errno == EINTR);
    locked_ = result == 0;
  }
  ~WriteLock() {
    if (locked_) set(F_UNLCK, F_OFD_SETLK);
  }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  int set(short type, int command) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;  // from 0, length 0: all of it
    return ::fcntl(fd_, command, &lock);
  }

  int fd_;
  bool locked_;
};

// Never as 0, 1 or 2: a program that was started without them would print into its trace.
base::FileDescriptor open_to_append(const std::string& path, int flags) {
  constexpr mode_t kOwnerOnly = 0600;
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | flags, kOwnerOnly);
  if (fd < 0 || fd > STDERR_FILENO) return base::FileDescriptor(fd);
  const base::FileDescriptor low(fd);
  return base::FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

// A program may close every descriptor it has, ours too, and open its own files under their numbers.
void AppendFile::reopen_if_lost() {
  struct stat status {};
  const auto is_ours = [&] {
    return ::fstat(file_.get(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  };
  if (is_ours()) return;
  (void)file_.release();  // whatever has that number now is not ours to close
  file_ = open_to_append(path_, 0);
  if (!file_) throw base::file_error("write", path_, errno);
  if (is_ours()) return;
  file_ = {};
  throw Error(base::format("cannot write {}: it is another file now than the one that was begun", path_));
}

AppendFile::AppendFile(std::string path, bool truncate) : path_(std::move(path)) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0) refuse_unless_regular(path_, status);  // opening a pipe would wait
  file_ = open_to_append(path_, O_CREAT);
  if (!file_) throw base::file_error("write", path_, errno);
  if (::fstat(file_.get(), &status) != 0) throw base::file_error("write", path_, errno);
  refuse_unless_regular(path_, status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (truncate && ::ftruncate(file_.get(), 0) != 0) throw base::file_error("empty", path_, errno);
}

uint64_t AppendFile::append(base::Bytes piece) { return *append_if(std::nullopt, piece); }

bool AppendFile::append_at(uint64_t expected_end, base::Bytes piece) {
  return append_if(expected_end, piece).has_value();
}

std::optional<uint64_t> AppendFile::append_if(std::optional<uint64_t> expected_end, base::Bytes piece) {
  if (!file_) throw Error(base::format("cannot write {}: it has been closed", path_));
  reopen_if_lost();
  const WriteLock lock(file_.get());
  const uint64_t end = base::size_of(file_, path_);
  if (expected_end && *expected_end != end) return std::nullopt;

  size_t written = 0;
  const int error = base::write_all(file_.get(), piece, written);
  if (error == 0) return end;
  if (written > 0 && base::size_of(file_, path_) == end + written) {
    // Should this fail as well, the file has a torn chunk, which readers get past.
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(end));
  }
  throw base::file_error("write", path_, error);
}

void AppendFile::cut(uint64_t size, uint64_t expected_end) {
  reopen_if_lost();
  const WriteLock lock(file_.get());
  if (base::size_of(file_, path_) != expected_end) return;
  if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) throw base::file_error("write", path_, errno);
}

void AppendFile::close() {
  if (!file_) return;
  const int fd = file_.release();
  if (::close(fd) != 0 && errno != EINTR) throw base::file_error("write", path_, errno);
}

}  // namespace kymo::trace
