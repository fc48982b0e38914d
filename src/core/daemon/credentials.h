// Who is at the other end of a socket: the credentials from the kernel, not what the peer claims.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "daemon/proc.h"

namespace kymo::daemon {

// The user who sends a request. Root may see everything; other users see only their own.
struct Asker {
  uint32_t uid = 0;
  bool may_see(uint32_t owner) const { return uid == 0 || uid == owner; }
};

// The process that connected. Refused if it cannot be determined.
base::Result<ucred> peer_of(int connection);

// Refused: a user who cannot be identified here, of another user namespace and without a user id in this one.
base::Check check_user(const ucred& credentials);

// Facts about the process with these credentials, which claims to have pid `claimed_pid` in its own namespace.
// Refused: a process that has ended, is not visible here, or is another one; a user without a user id here; a program
// with the rights of several users (set-user-ID), which one user could make write as the other. `pidfd` is the pidfd of
// the peer if the kernel provides one, or -1. It proves that the pid was not reused.
base::Result<ProcessFacts> verified_process(const ucred& credentials, int32_t claimed_pid, int pidfd = -1);

// A descriptor of the process that connected; empty if the kernel is older than 6.5.
base::FileDescriptor peer_process(int connection);

}  // namespace kymo::daemon
