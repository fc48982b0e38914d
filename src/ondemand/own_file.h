// A descriptor of the agent's, in a program that may close it.
//
// Some programs close every descriptor that they have not opened, as daemons do, and get the numbers again for files of
// their own. So a number is looked at before it is used or closed: is what it stands for still what it was? Asking
// costs one system call, and nobody asks unless something has happened.
#pragma once

#include <sys/types.h>

#include "base/file.h"

namespace kymo::ondemand {

// Of a socket, which no two files share; other descriptors of the kernel's own look all alike.
class OwnFile {
 public:
  OwnFile() = default;
  // Moved up, out of the way of the numbers that the program gets, where there is room.
  explicit OwnFile(base::FileDescriptor socket) noexcept;
  ~OwnFile() { reset(); }
  OwnFile(OwnFile&& other) noexcept;
  OwnFile& operator=(OwnFile&& other) noexcept;

  int get() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }
  bool is_mine() const noexcept;
  // Closes it, unless the program has.
  void reset() noexcept;

 private:
  base::FileDescriptor file_;
  ino_t inode_ = 0;
};

// The number's inode; 0: it stands for nothing, or for something else than a socket.
ino_t socket_inode(int fd) noexcept;

}  // namespace kymo::ondemand
