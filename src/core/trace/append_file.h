// A file to which several processes append, one complete piece at a time.
//
// While a process has the file open, it is in use and cannot be replaced.
//
// Each piece is one write under an advisory lock of the open file. So every process knows the offset of its piece, and
// a failed write can be removed again. On file systems without such locks it works without a lock: pieces still do not
// mix, because the file is opened for appending.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/file.h"

namespace kymo::trace {

class AppendFile {
 public:
  enum class Existing { Replace, Append };  // what to do with an existing trace

  // Creates the file with mode 0600 if it does not exist. Throws kymo::Error: not writable, not a regular file, a link
  // of another user, an existing file that is not a trace, or a file to be replaced that another process writes.
  // Messages use `name`; empty: the path.
  AppendFile(const std::string& path, Existing existing, const std::string& name = {});

  // Appends and returns the offset. Throws kymo::Error if not all of it was written; the file is then unchanged.
  uint64_t append(base::Bytes piece);
  // The same, but only if the file ends at `expected_end`. Otherwise appends nothing and returns false.
  bool append_at(uint64_t expected_end, base::Bytes piece);

  // Truncates the file to `size` bytes if its size is `expected_end`. Otherwise someone has appended, and it is
  // unchanged.
  void cut(uint64_t size, uint64_t expected_end);

  // Throws kymo::Error if closing shows that something was not written.
  void close();
  // In a forked child, where the file belongs to the parent: closes it here.
  void abandon() noexcept { file_ = {}; }
  const std::string& path() const { return path_; }
  uint64_t device() const { return device_; }
  uint64_t inode() const { return inode_; }

 private:
  void refuse_unless_trace() const;
  void empty_unless_in_use();
  void reopen_if_lost();
  std::optional<uint64_t> append_if(std::optional<uint64_t> expected_end, base::Bytes piece);

  std::string path_;    // for messages
  std::string target_;  // with links resolved
  base::FileDescriptor file_;
  uint64_t device_ = 0, inode_ = 0;
};

// True if someone has the file open for appending. False if this is not known.
bool is_being_written(const std::string& path);

}  // namespace kymo::trace
