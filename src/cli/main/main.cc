#include <pthread.h>

#include <csignal>

#include "base/unfinished_file.h"
#include "cli/commands.h"

// KYMO_TRACE in the environment is for the programs that users record, not for this one.
extern "C" const char kymo_is_kymo_itself = 1;

namespace {

// Ends the process as the signal does, but leaves no temporary files behind: that of a large trace is large.
void remove_files_and_end(int signal) {
  kymo::base::remove_unfinished_files();
  std::signal(signal, SIG_DFL);  // only now: timeout(1) sends a signal twice, and the second one must not be first
  raise(signal);                 // takes effect when the handler returns
}

// A signal that is ignored (nohup) stays so. The programs that `kymo record` starts have the default action.
void remove_files_at_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_files_and_end;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // If the reader has closed the pipe, print() gets EPIPE and handles it quietly. If a file would exceed its size limit
  // (ulimit -f), whoever writes it gets EFBIG. The signals are blocked, not ignored, because the programs that `kymo
  // record` starts would inherit that they are ignored.
  sigset_t of_writes;
  sigemptyset(&of_writes);
  sigaddset(&of_writes, SIGPIPE);
  sigaddset(&of_writes, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &of_writes, nullptr);
  remove_files_at_signals();

  return kymo::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
