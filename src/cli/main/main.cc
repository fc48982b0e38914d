#include <pthread.h>

#include <csignal>

#include "cli/commands.h"

// KYMO_TRACE in the environment is for the programs that users record, not for this one.
extern "C" const char kymo_is_kymo_itself = 1;

int main(int argc, char** argv) {
  // If the reader has closed the pipe, print() gets EPIPE and handles it quietly. If a file would exceed its size limit
  // (ulimit -f), whoever writes it gets EFBIG. The signals are blocked, not ignored, because the programs that `kymo
  // record` starts would inherit that they are ignored.
  sigset_t of_writes;
  sigemptyset(&of_writes);
  sigaddset(&of_writes, SIGPIPE);
  sigaddset(&of_writes, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &of_writes, nullptr);

  return kymo::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
