// How the program's threads wake the agent: they write to a pair of sockets.
//
// The pair also shows when the program closes all descriptors: then the agent's end reports a hang-up.
#pragma once

#include "ondemand/own_file.h"

namespace kymo::ondemand {

// For any thread, also from a signal handler; does nothing if there is no agent.
void wake_agent() noexcept;

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
