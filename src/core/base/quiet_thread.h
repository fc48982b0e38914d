// Kymo's own threads inside other programs.
//
// All signals are blocked from the thread's first instruction, so that the program's handlers run on the program's
// threads. SIGBUS is not blocked: it reports a fault of the thread itself.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace kymo::base {

// `name` has at most 15 characters. Throws std::system_error if the system has no thread left.
template <class Body>
std::thread quiet_thread(const char* name, Body body) {
  struct Blocked {
    Blocked() {
      sigset_t all;
      sigfillset(&all);
      sigdelset(&all, SIGBUS);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const Blocked blocked;
  return std::thread([name, body = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), name);
    body();
  });
}

}  // namespace kymo::base
