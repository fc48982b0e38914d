// Files by descriptor: ownership, reading at an offset, complete writes. Errors have the path and the system's reason.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "kymo/error.h"

namespace kymo::base {

// Owns a file descriptor and closes it; -1: none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }  // the caller closes it
  void reset();

 private:
  int fd_ = -1;
};

// "cannot read run.kymo: No such file or directory", for an errno.
Error file_error(std::string_view doing, const std::string& path, int error_number);

// Reads up to `into.size()` bytes at `offset`; fewer only at the end of the file. Several threads may call it at the
// same time, and the file may be truncated during the call. Throws file_error().
size_t read_at(const FileDescriptor&, const std::string& path, uint64_t offset, std::span<std::byte> into);

// Writes all bytes, also after interruptions and partial writes. A limit on the file size is an error, not a signal.
// Returns 0, or the errno of the failure. `written` is the number of bytes written in both cases.
int write_all(int fd, Bytes bytes, size_t& written);

uint64_t size_of(const FileDescriptor&, const std::string& path);

// Tells whether a file is still what it was: the same file, to which nobody has written.
struct FileVersion {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // also set when somebody sets the other time back
  bool operator==(const FileVersion&) const = default;
};

FileVersion version_of(const struct stat& status);

// Opens the file, so that a network file system asks its server. Throws file_error().
FileVersion version_of_file(const std::string& path);

}  // namespace kymo::base
