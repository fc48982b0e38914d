// The descriptors of the agent, in a program that may close them.
//
// Some programs close every descriptor that they have not opened, as daemons do, and then get the same numbers for
// their own files. So the number is checked before it is used or closed: does it still refer to the same file? The
// check costs one system call, and is made only after something has happened.
#pragma once

#include <sys/types.h>

#include "base/file.h"

namespace kymo::ondemand {

// For a socket, which has a unique inode; other kernel descriptors cannot be distinguished.
class OwnFile {
 public:
  OwnFile() = default;
  // Moved to a high number, away from the numbers that the program gets, if possible.
  explicit OwnFile(base::FileDescriptor socket) noexcept;
  ~OwnFile() { reset(); }
  OwnFile(OwnFile&& other) noexcept;
  OwnFile& operator=(OwnFile&& other) noexcept;

  int get() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }
  bool is_mine() const noexcept;
  // Closes it, unless the program has already.
  void reset() noexcept;

 private:
  base::FileDescriptor file_;
  ino_t inode_ = 0;
};

// The inode of the number; 0: it is not open, or not a socket.
ino_t socket_inode(int fd) noexcept;

// For any thread, also from a signal handler; does nothing if there is no agent.
void wake_agent() noexcept;

// How the program's threads wake the agent: they write to a pair of sockets. The pair also shows when the program
// closes all descriptors: then the agent's end reports a hang-up.
class WakePair {
 public:
  // False: the system has no free descriptors, and the agent cannot be woken.
  bool open() noexcept;
  int file() const { return agents_.get(); }  // readable when the agent is woken
  // Both ends are still there.
  bool is_whole() const noexcept { return agents_.is_mine() && programs_.is_mine(); }
  void drain() noexcept;
  // In a forked child: these belong to the parent.
  void abandon() noexcept;

 private:
  OwnFile agents_, programs_;
};

// Call it first in a forked child: the parent's agent must not be woken from here.
void wake_nobody() noexcept;

}  // namespace kymo::ondemand
