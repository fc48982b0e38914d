// A file that several processes append to, a whole piece at a time.
//
// As long as one has it open the file is in use, and nobody replaces it.
//
// Each piece is one write under an advisory lock of the open file, so every process knows where its piece landed, and
// one that fails half-way can be cut off again. On file systems without such locks it goes on without: pieces then
// still do not mix, as the file is open for appending.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/file.h"

namespace kymo::trace {

class AppendFile {
 public:
  enum class Existing { Replace, Append };  // what becomes of a trace that is there

  // Creates the file 0600 where there is none. Throws kymo::Error: not writable, not a regular file, somebody else's
  // link, a file that is there and no trace, one to be replaced that somebody is writing.
  AppendFile(std::string path, Existing existing);

  // Appends and returns where it landed. Throws kymo::Error when not all of it was taken; the file is then as before.
  uint64_t append(base::Bytes piece);
  // The same, but only where the file ends at `expected_end`: otherwise appends nothing and returns false.
  bool append_at(uint64_t expected_end, base::Bytes piece);

  // Cuts the file to `size` bytes if it has `expected_end`; otherwise someone has appended, and it stays.
  void cut(uint64_t size, uint64_t expected_end);

  // Throws kymo::Error where closing shows that something was not written.
  void close();
  // In a forked child, where the file is the parent's: lets go of it.
  void abandon() noexcept { file_ = {}; }
  const std::string& path() const { return path_; }
  uint64_t device() const { return device_; }
  uint64_t inode() const { return inode_; }

 private:
  void refuse_unless_trace() const;
  void empty_unless_in_use();
  void reopen_if_lost();
  std::optional<uint64_t> append_if(std::optional<uint64_t> expected_end, base::Bytes piece);

  std::string path_;    // as it was given, for messages
  std::string target_;  // where links lead
  base::FileDescriptor file_;
  uint64_t device_ = 0, inode_ = 0;
};

// Has somebody the file open who appends to it? No, where that cannot be found out.
bool is_being_written(const std::string& path);

}  // namespace kymo::trace
