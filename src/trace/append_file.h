// A file that several processes append to, a whole piece at a time.
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
  // Creates the file 0600 where there is none. Throws kymo::Error: not writable, or not a regular file.
  AppendFile(std::string path, bool truncate);

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

 private:
  void reopen_if_lost();
  std::optional<uint64_t> append_if(std::optional<uint64_t> expected_end, base::Bytes piece);

  std::string path_;
  base::FileDescriptor file_;
  uint64_t device_ = 0, inode_ = 0;
};

}  // namespace kymo::trace
