// Files by descriptor: owned, read at a place, written whole. Errors carry the path and the system's reason.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "kymo/error.h"

namespace kymo::base {

// Closes what it holds; -1 holds nothing.
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

// Reads up to `into.size()` bytes at `offset`, less only at the end of the file. Safe from several threads at once and
// on a file that is cut meanwhile. Throws what file_error says.
size_t read_at(const FileDescriptor&, const std::string& path, uint64_t offset, std::span<std::byte> into);

// Writes all of it, through interruptions and partial writes; a limit on the size of files is an error, and no signal.
// Returns 0, or the errno of what stopped it; `written`
// says how much was taken in either case.
int write_all(int fd, Bytes bytes, size_t& written);

uint64_t size_of(const FileDescriptor&, const std::string& path);

}  // namespace kymo::base
