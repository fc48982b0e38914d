#include "trace/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/output_path.h"
#include "base/text.h"
#include "trace/format.h"

namespace kymo::trace {

namespace {

// A byte beyond the end of every file. Each process that has the file open holds a shared lock on it.
constexpr off_t kInUse = off_t{1} << 62;

int set_lock(int fd, short type, int command, off_t start, off_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  int result;
  do {
    result = ::fcntl(fd, command, &lock);
  } while (result != 0 && errno == EINTR);
  return result;
}

// The mark lasts until the file is closed. Where such locks are not supported, there is no mark.
void mark_in_use(int fd) { set_lock(fd, F_RDLCK, F_OFD_SETLKW, kInUse, 1); }

// Locks the whole file against other writers. The lock belongs to the open file, not to the process, so that two
// Writers in one process exclude each other too. If the lock fails, the data is still written.
class WriteLock {
 public:
  explicit WriteLock(int fd) : fd_(fd), locked_(set_lock(fd, F_WRLCK, F_OFD_SETLKW, 0, kInUse) == 0) {}
  ~WriteLock() {
    if (locked_) set_lock(fd_, F_UNLCK, F_OFD_SETLK, 0, kInUse);
  }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  int fd_;
  bool locked_;
};

// Never returns descriptor 0, 1 or 2: a program that was started without them would print into its trace.
base::FileDescriptor open_to_append(const std::string& path, int flags) {
  constexpr mode_t kOwnerOnly = 0600;
  const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, kOwnerOnly);
  if (fd < 0 || fd > STDERR_FILENO) return base::FileDescriptor(fd);
  const base::FileDescriptor low(fd);
  return base::FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

// A program may close all its descriptors, including this one, and open its own files under the same numbers.
void AppendFile::reopen_if_lost() {
  struct stat status {};
  const auto is_ours = [&] {
    return ::fstat(file_.get(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  };
  if (is_ours()) return;
  (void)file_.release();  // another file has that number now and must not be closed
  file_ = open_to_append(target_, 0);
  if (!file_) throw base::file_error("write", path_, errno);
  if (is_ours()) return mark_in_use(file_.get());
  file_ = {};
  throw Error(base::format("cannot write {}: the path leads to another file than the one that was opened", path_));
}

AppendFile::AppendFile(const std::string& path, Existing existing, const std::string& name)
    : path_(name.empty() ? path : name), target_(base::output_path(path)), file_(open_to_append(target_, O_CREAT)) {
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0) throw base::file_error("write", path_, errno);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  refuse_unless_trace();
  if (existing == Existing::Replace) empty_unless_in_use();
  mark_in_use(file_.get());
}

void AppendFile::refuse_unless_trace() const {
  std::array<std::byte, kMagic.size()> beginning;
  const size_t length = base::read_at(file_, path_, 0, beginning);
  if (std::memcmp(beginning.data(), kMagic.data(), length) != 0)
    throw Error(base::format("cannot write {}: it is there and is not a Kymo trace; name another file", path_));
}

void AppendFile::empty_unless_in_use() {
  if (set_lock(file_.get(), F_WRLCK, F_OFD_SETLK, kInUse, 1) != 0 && (errno == EAGAIN || errno == EACCES))
    throw Error(base::format("cannot replace {}: another recording is writing it; name another file", path_));
  if (::ftruncate(file_.get(), 0) != 0) throw base::file_error("empty", path_, errno);
}

bool is_being_written(const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kInUse;
  lock.l_len = 1;
  return file && ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
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
    // If this fails too, the file has a torn chunk. Readers can skip it.
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
