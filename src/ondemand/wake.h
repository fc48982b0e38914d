// How the program's threads wake the agent: a pair of sockets, written to when something happened that it waits for.
//
// The pair tells it too when the program closes all descriptors: the agent's end is hung up on then.
#pragma once

#include "ondemand/own_file.h"

namespace kymo::ondemand {

// Any thread, also from a signal handler; does nothing where there is no agent.
void wake_agent() noexcept;

class WakePair {
 public:
  // False: the system has no descriptors to give, and nobody can wake the agent.
  bool open() noexcept;
  int file() const { return agents_.get(); }  // readable when the agent is woken
  // Both ends are still there.
  bool is_whole() const noexcept { return agents_.is_mine() && programs_.is_mine(); }
  void drain() noexcept;
  // In a forked child: these are the parent's.
  void abandon() noexcept;

 private:
  OwnFile agents_, programs_;
};

// In a forked child, before anything else: the parent's agent is not woken from here.
void wake_nobody() noexcept;

}  // namespace kymo::ondemand
