#include <pthread.h>

#include <csignal>

#include "cli/commands.h"

// KYMO_TRACE in the environment is for the programs that users record, not for this one.
extern "C" const char kymo_is_kymo_itself = 1;

int main(int argc, char** argv) {
  // If the reader has closed the pipe, print() gets EPIPE and handles it quietly. SIGPIPE is blocked, not ignored,
  // because the programs that `kymo record` starts would inherit that it is ignored.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);

  return kymo::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
