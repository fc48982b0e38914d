// Who is at the other end of a socket: what the kernel vouches for, not what the peer says.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/file.h"
#include "daemon/proc.h"
#include "wire/result.h"

namespace kymo::daemon {

// Someone who asks, as far as it matters for what they may see: root sees all, others what is theirs.
struct Asker {
  uint32_t uid = 0;
  bool may_see(uint32_t owner) const { return uid == 0 || uid == owner; }
};

// Of a connection: the process that connected. Refused: one that cannot be told.
wire::Result<ucred> peer_of(int connection);

// Why this user cannot be told apart from another here: one of a user namespace that has no number in this one. Empty:
// it can.
std::string user_problem(const ucred& credentials);

// Facts about the process with these credentials, which says of itself that it is `claimed_pid` in its own namespace.
// Refused: one that has ended, that cannot be seen from here, or that is another one; a user that has no number here; a
// program with the rights of several (set-user-ID), which one of them could make write as the other.
// `pidfd` is the peer's where the kernel gives one out, or -1: with it, no other process can have taken over the pid.
wire::Result<ProcessFacts> verified_process(const ucred& credentials, int32_t claimed_pid, int pidfd = -1);

// A descriptor of the process that connected; empty where the kernel is older than 6.5.
base::FileDescriptor peer_process(int connection);

}  // namespace kymo::daemon
