#include <pthread.h>

#include <csignal>

#include "cli/commands.h"

// KYMO_TRACE in the environment is for the programs that users record, not for this one.
extern "C" const char kymo_is_kymo_itself = 1;

int main(int argc, char** argv) {
  // A reader that left shows as EPIPE, which print() takes quietly. Blocked rather than ignored, because what is
  // ignored is inherited by the programs `kymo record` starts.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);

  return kymo::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
